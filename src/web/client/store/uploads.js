// The files that a person adds to what they write: they go to the server while it is being written, two at once, and outlive cuts,
// restarts and the tab. A file belongs to a draft until what is written is posted, and then to the post.
//
// Each is kept until its message is there (upload-records.js). Of the tabs of a user one uploads it, by a lease; another takes over where
// that one has ended.

import { batch, computed, signal } from '../base/signal.js'
import { fileOf, newId } from './ids.js'
import { createLease } from './lease.js'
import { createUploadRecords } from './upload-records.js'

/** The server keeps a file so long for its message. Milliseconds. */
const DAY_MS = 24 * 3600_000
/** Files of a message. */
export const MOST = 10

/**
 * @typedef {object} Upload
 * @property {string} id Its own; the file's is told by its path at the server.
 * @property {string} draft The channel or thread in which it is written; empty once it is posted.
 * @property {string} organisation
 * @property {string} name
 * @property {string} type
 * @property {number} size
 * @property {number | null} width Of a picture.
 * @property {number | null} height
 * @property {string} description
 * @property {number} at
 * @property {string | null} path At the server.
 * @property {'waiting' | 'sending' | 'done' | 'refused'} state
 * @property {any} error
 */

/** @typedef {Pick<Upload, 'draft' | 'organisation'> & { file: File }} Added */

/**
 * @param {object} options
 * @param {Parameters<typeof import('../net/uploading.js').createUploading>[0]} options.server
 * @param {import('../net/request.js').Api} options.api
 * @param {Promise<import('./storage.js').Records>} options.records
 * @param {import('../base/clock.js').Clock} options.clock
 * @param {LockManager} [options.locks]
 * @param {() => void} options.arrived A file is there, so that its post may go.
 */
export function createUploads({ server, api, records, clock, locks, arrived }) {
  const storage = createUploadRecords(records)
  const all = signal(/** @type {Upload[]} */ ([]))
  /** The bytes of those that this tab has, by id. @type {Map<string, Blob>} */
  const bytes = new Map()
  /** How much of each has arrived. @type {Map<string, import('../base/signal.js').Signal<number>>} */
  const sent = new Map()
  /** What ends a transfer. @type {Map<string, AbortController>} */
  const running = new Map()
  /** Whether all that is kept was read. */
  let isRead = false

  /** @param {string} id */
  const find = id => all.peek().find(each => each.id === id)
  /** @param {string} id */
  const progress = id => {
    const known = sent.get(id) ?? signal(0)
    sent.set(id, known)
    return known
  }

  /** @param {string} id @param {Partial<Upload>} change */
  const update = async (id, change) => {
    show(id, change)
    const now = find(id)
    if (now) await storage.set(now)
  }
  /** Shows what is not kept. @param {string} id @param {Partial<Upload>} change */
  const show = (id, change) => { all.value = all.peek().map(each => (each.id === id ? { ...each, ...change } : each)) }
  /** Takes over what another tab has made of one, unless something newer is on its way to storage. @param {Upload} kept */
  const takeOver = kept => {
    if (storage.isWriting(kept.id) || find(kept.id)?.state === 'sending') return
    all.value = all.peek().map(each => (each.id === kept.id ? kept : each))
  }
  /** Forgets an upload here. @param {string} id */
  const drop = id => {
    running.get(id)?.abort()
    all.value = all.peek().filter(each => each.id !== id)
    bytes.delete(id)
    sent.delete(id)
  }
  /** @param {string} id */
  const forget = async id => {
    drop(id)
    await storage.delete(id)
  }

  /** What sends them: it is loaded with the first. @type {ReturnType<typeof import('./transfers.js').createTransfers> | undefined} */
  let transfers
  const loaded = async () => {
    const { createTransfers } = await import('./transfers.js')
    transfers ??= createTransfers({ server, clock, find, update, show, bytesOf: id => bytes.get(id), progress })
    return transfers
  }

  /** Uploads it, or waits until the tab that does has ended. @param {string} id */
  const begin = async id => {
    if (running.has(id)) return
    const ending = new AbortController()
    running.set(id, ending)
    const lease = createLease({ name: () => `upload/${id}`, records, clock, locks })
    await lease(async () => {
      const kept = await storage.get(id)
      // Another tab has uploaded it, or is done with it.
      if (kept) takeOver(kept)
      else if (storage.isStored(id)) drop(id)
      const file = bytes.get(id) ?? await storage.bytes(id)
      if (file) bytes.set(id, file)
      if (find(id)) await (await loaded()).run(id, ending.signal)
    }).catch(() => {}) // what sends could not be loaded
    if (running.get(id) === ending) running.delete(id)
    if (find(id)?.state === 'done') arrived()
  }

  /** Takes in what other tabs, or an earlier one, have kept. */
  const readKept = async () => {
    isRead = false
    const { kept, gone } = await storage.read()
    gone.forEach(drop)
    for (const upload of kept) {
      if (find(upload.id)) takeOver(upload)
      else await takeIn(upload)
    }
    isRead = true
  }
  /** @param {Upload} upload */
  const takeIn = async upload => {
    const file = await storage.bytes(upload.id)
    if (find(upload.id)) return
    const isOld = upload.at < clock.now() - DAY_MS
    if (isOld && !file) return void forget(upload.id)
    if (file) bytes.set(upload.id, file)
    // The server has forgotten what it had of an old one.
    const now = isOld ? /** @type {Upload} */ ({ ...upload, path: null, state: 'waiting', error: null, at: clock.now() }) : upload
    all.value = [...all.peek(), now].sort((one, other) => one.at - other.at)
    if (now.state === 'waiting') void begin(now.id)
  }

  return {
    /** Those of a draft. @param {string} draft @returns {import('../base/signal.js').Computed<Upload[]>} */
    of: draft => computed(() => all.value.filter(each => each.draft === draft)),

    /** Those of a post. @param {readonly string[]} ids */
    named: ids => all.value.filter(each => ids.includes(each.id)),

    /** How much of one has arrived, in bytes. Reactive. @param {Upload} upload */
    sent: ({ id, state, size }) => (state === 'done' ? size : progress(id).value),

    isKept: storage.isKept,
    /** Whether a reload would lose one. */
    areAllKept: () => all.peek().every(({ id, state }) => state === 'done' || storage.isKept(id)),

    /** Its bytes, where this tab has them. @param {string} id */
    bytes: id => bytes.get(id),

    /** The drafts that have files. */
    drafts: () => [...new Set(all.peek().map(each => each.draft).filter(Boolean))],

    /** @param {Added} added @returns {string} Its id. */
    add({ file, ...rest }) {
      /** @type {Upload} */
      const upload = { ...rest, id: newId(), name: file.name, type: file.type, size: file.size, width: null, height: null, description: '',
        at: clock.now(), path: null, state: 'waiting', error: null }
      bytes.set(upload.id, file)
      all.value = [...all.peek(), upload]
      void storage.setBytes(upload.id, file, all.peek().filter(({ state }) => state !== 'done'))
      void storage.set(upload).then(() => begin(upload.id))
      return upload.id
    },

    /** @param {string} id @param {{ width: number, height: number }} size Of a picture. */
    measured: (id, { width, height }) => void update(id, { width, height }),

    /** @param {string} id @param {string} description */
    describe: (id, description) => void update(id, { description }),

    /** They are posted, or taken back into a draft. @param {readonly string[]} ids @param {string} draft */
    move: (ids, draft = '') => batch(() => ids.forEach(id => void update(id, { draft }))),

    /**
     * What a post says of its files once all are there; null before. One that is lost is named as well: the server refuses the post.
     *
     * @param {readonly string[]} ids
     */
    media(ids) {
      const found = ids.map(id => find(id) ?? { path: id, description: '', state: isRead ? 'done' : 'waiting' })
      return found.every(({ state }) => state === 'done')
        ? found.map(({ path, description }) => ({ id: fileOf(path ?? ''), description })) : null
    },
    /** Tries again what was refused. @param {string} id */
    retry(id) {
      void update(id, { state: 'waiting', error: null })
      void begin(id)
    },

    /**
     * The person does not want it any more: the server ends it, too, unless another tab has posted it or is done with it.
     *
     * @param {string} id
     * @param {boolean} [isPosts] Whether it is a post's, and not a draft's.
     */
    async remove(id, isPosts = false) {
      const own = find(id)
      drop(id)
      const kept = await storage.get(id)
      if (storage.isStored(id) && (!kept || (kept.draft === '') !== isPosts)) return
      const { path = null, state = '' } = kept ?? own ?? {}
      await forget(id)
      if (path) await (state === 'done' || own?.state === 'done' ? api.deleteFile(fileOf(path)) : (await loaded()).cancel(path)).catch(() => {})
    },

    /** Their message is there. @param {readonly string[]} ids */
    posted: ids => ids.forEach(id => void forget(id)),

    readKept,
    /** The network is back. */
    wake() {
      transfers?.wake()
      for (const { id, state } of all.peek()) if (state === 'waiting') void begin(id)
    },
    end() {
      for (const each of running.values()) each.abort()
      transfers?.wake()
    },
  }
}
