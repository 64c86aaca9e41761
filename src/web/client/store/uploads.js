// The files that a person adds to what they write: they go to the server while it is being written, two at once, and outlive cuts,
// restarts and the tab. A file belongs to a draft until what is written is posted, and then to the post.
//
// Each is kept until its message is there (upload-records.js). Of the tabs of a user one uploads it, by a lease; another takes over where
// that one has ended.

import { backoff } from '../base/clock.js'
import { batch, computed, signal } from '../base/signal.js'
import { fileOf } from '../net/uploading.js'
import { isTransient, Refusal } from '../net/request.js'
import { newId } from './ids.js'
import { createLease } from './lease.js'
import { createUploadRecords } from './upload-records.js'

/** Bytes of a request. */
const PIECE = 8 << 20
const AT_ONCE = 2
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
 * @param {ReturnType<typeof import('../net/uploading.js').createUploading>} options.uploading
 * @param {import('../net/request.js').Api} options.api
 * @param {Promise<import('./storage.js').Records>} options.records
 * @param {import('../base/clock.js').Clock} options.clock
 * @param {LockManager} [options.locks]
 * @param {() => void} options.arrived A file is there, so that its post may go.
 */
export function createUploads({ uploading, api, records, clock, locks, arrived }) {
  const storage = createUploadRecords(records)
  const all = signal(/** @type {Upload[]} */ ([]))
  /** The bytes of those that this tab has, by id. @type {Map<string, Blob>} */
  const bytes = new Map()
  /** How much of each has arrived. @type {Map<string, import('../base/signal.js').Signal<number>>} */
  const sent = new Map()
  /** What ends a transfer. @type {Map<string, AbortController>} */
  const running = new Map()
  /** Transfers that wait for the network, and for their turn. @type {Set<() => void>} */
  const asleep = new Set()
  /** @type {(() => void)[]} */
  const queue = []
  /** Whether all that is kept was read. */
  let isRead = false
  let free = AT_ONCE
  let isEnded = false

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
    all.value = all.peek().map(each => (each.id === id ? { ...each, ...change } : each))
    const now = find(id)
    if (now) await storage.set(now)
  }
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

  /** Runs something when no more than AT_ONCE others are. @param {() => Promise<void>} run */
  const inTurn = async run => {
    if (free === 0) await new Promise(resolve => void queue.push(() => resolve(undefined)))
    else free -= 1
    try {
      await run()
    } finally {
      const next = queue.shift()
      if (next) next()
      else free += 1
    }
  }
  /** @param {number} ms */
  const sleep = ms => new Promise(resolve => {
    const wake = () => {
      cancel()
      asleep.delete(wake)
      resolve(undefined)
    }
    const cancel = clock.after(ms, wake)
    asleep.add(wake)
  })

  /** Sends what the server has not yet. @param {Upload} upload @param {Blob} file @param {AbortSignal} ended */
  const send = async ({ id, name, size, organisation, path: known }, file, ended) => {
    const path = known ?? await uploading.begin({ name, size, organisation })
    if (!find(id)) return void uploading.end(path).catch(() => {})
    if (!known) await update(id, { path })
    const told = progress(id)
    let offset = known ? await uploading.offset(path) : 0
    while (offset < size && !ended.aborted) {
      const from = offset
      told.value = from
      offset = await uploading.append(path, from, file.slice(from, from + PIECE), {
        signal: ended, progress: loaded => { told.value = Math.min(size, from + loaded) },
      })
    }
    if (!ended.aborted) await update(id, { state: 'done', error: null })
  }

  /** @param {string} id @param {AbortSignal} ended */
  const transfer = async (id, ended) => {
    for (let failures = 0; !isEnded && !ended.aborted; failures += 1) {
      const upload = find(id)
      if (!upload || upload.state === 'done' || upload.state === 'refused') return
      const file = bytes.get(id)
      if (!file) return update(id, { state: 'refused', error: { code: 'lost' } })
      try {
        all.value = all.peek().map(each => (each.id === id ? { ...each, state: 'sending' } : each))
        await inTurn(() => send(/** @type {Upload} */ (find(id)), file, ended))
      } catch (error) {
        if (!find(id) || ended.aborted) return
        if (error instanceof Refusal && error.status === 404 && upload.path) await update(id, { path: null, state: 'waiting' })
        else if (isPassing(error)) {
          all.value = all.peek().map(each => (each.id === id ? { ...each, state: 'waiting' } : each))
          const least = error instanceof Refusal ? (error.retryAfter ?? 0) * 1000 : 0
          await sleep(least + backoff(failures, { first: 500, most: 15_000 }))
        } else await update(id, { state: 'refused', error })
      }
    }
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
      if (find(id)) await transfer(id, ending.signal)
    })
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
    readKept,

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
      if (path) await (state === 'done' || own?.state === 'done' ? api.deleteFile(fileOf(path)) : uploading.end(path)).catch(() => {})
    },

    /** Their message is there. @param {readonly string[]} ids */
    posted: ids => ids.forEach(id => void forget(id)),

    resume: () => {
      isEnded = false
      return readKept()
    },
    /** The network is back. */
    wake: () => [...asleep].forEach(wake => wake()),
    end() {
      isEnded = true
      for (const each of running.values()) each.abort()
      for (const wake of [...asleep]) wake()
    },
  }
}

/** Whether it may go on later: also where another request goes on with it, and where a session is taken up again. @param {unknown} error */
const isPassing = error => isTransient(error) || (error instanceof Refusal && [401, 409].includes(error.status))
