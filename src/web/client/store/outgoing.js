// What a person has posted and the server has not answered yet: never lost, never doubled, in order.
//
// Each post has an id that the client made, and is kept before it is sent. It is sent again with the same id until it is answered.
// If its text was changed meanwhile and an earlier one has arrived, the message is edited before the post is forgotten.
// What is transient holds the line of its channel; a refusal steps aside with its reason, and a post whose files are not there yet lets
// later ones pass. The tabs of a user share what is kept, and one of them at a time sends.

import { batch, computed, signal } from '../base/signal.js'
import { backoff } from '../base/clock.js'
import { isTransient, Refusal } from '../net/request.js'
import { newId } from './ids.js'
import { createLease } from './lease.js'
import { soon } from './storage.js'

/** @typedef {Pick<ReturnType<typeof import('./uploads.js').createUploads>, 'media' | 'posted' | 'readKept'>} Files */

/**
 * @typedef {object} Pending
 * @property {string} id
 * @property {string} channel
 * @property {string | null} thread
 * @property {string} text
 * @property {boolean} [isChanged] Whether it had another text before, which may have arrived.
 * @property {string[]} mentions
 * @property {readonly string[]} files The uploads that it shows.
 * @property {number} at
 * @property {'waiting' | 'sending' | 'refused'} state
 * @property {any} error
 */

/** Refusals that are about the session, not the post. @param {unknown} error */
const isSession = error => error instanceof Refusal && (error.status === 401 || error.code === 'other_user')

/**
 * @param {object} options
 * @param {import('../net/request.js').Api} options.api
 * @param {() => string} options.user
 * @param {Promise<import('./storage.js').Records>} options.records
 * @param {import('../base/clock.js').Clock} options.clock
 * @param {LockManager} [options.locks]
 * @param {Files} options.files
 * @param {(message: any, pending: Pending) => void} options.confirmed Takes the message in where it is shown.
 */
export function createOutgoing({ api, user, records, clock, locks, files, confirmed }) {
  const posts = signal(/** @type {Pending[]} */ ([]))
  const lease = createLease({ name: () => `outgoing/${user()}`, records, clock, locks })
  /** The keys under which posts are kept, by id. @type {Map<string, string>} */
  const keys = new Map()
  /** Channels that wait, and how often they have. @type {Map<string, number>} */
  const held = new Map()
  /** Writes that are under way, by post. @type {Map<string, Promise<void>>} */
  const writes = new Map()
  /** Posts that were made while the kept ones were being read. @type {Set<string>} */
  const fresh = new Set()
  /** Posts that storage refused: they are sent all the same. @type {Set<string>} */
  const unkept = new Set()
  /** Posts that were answered or taken back. @type {Set<string>} */
  const done = new Set()
  /** Channels whose line waits after a failure. @type {Set<string>} */
  const waiting = new Set()
  let isDraining = false
  let isSending = false
  let isEnded = false
  let last = 0

  /** @param {string} id */
  const find = id => posts.peek().find(post => post.id === id)
  /** @param {string} id @param {Partial<Pending>} change */
  const update = (id, change) => void (posts.value = posts.peek().map(post => (post.id === id ? { ...post, ...change } : post)))
  /** @param {string} id */
  const forget = id => void (posts.value = posts.peek().filter(post => post.id !== id))

  /** @param {Pending} post */
  const keep = post => {
    const key = keys.get(post.id) ?? ''
    const before = writes.get(post.id) ?? Promise.resolve()
    const kept = { ...post, state: post.state === 'refused' ? 'refused' : 'waiting', error: plain(post.error) }
    const written = before.then(async () => {
      await (await records).set(key, kept)
      unkept.delete(post.id)
    }).catch(() => void unkept.add(post.id))
    writes.set(post.id, written)
    return written
  }
  /** @param {string} id */
  const unkeep = async id => {
    done.add(id)
    await writes.get(id)
    writes.delete(id)
    await (await records).delete(keys.get(id) ?? '').catch(() => {})
    keys.delete(id)
  }

  /** Takes in what other tabs, or an earlier one, have kept. */
  const readKept = async () => {
    const before = new Map(writes)
    await Promise.all(before.values())
    const kept = await (await records).list('post/')
    const ids = new Set(kept.map(([, post]) => post.id))
    batch(() => {
      for (const [key, post] of kept) {
        last = Math.max(last, Number(key.split('/')[1]))
        if (done.has(post.id)) continue
        const known = find(post.id)
        if (known) {
          // Another tab was refused it, or has changed it. What this tab did meanwhile is newer.
          const isNewer = known.state === 'sending' || unkept.has(post.id) || writes.get(post.id) !== before.get(post.id)
          if (!isNewer && (known.state !== post.state || known.text !== post.text)) update(post.id, post)
          continue
        }
        keys.set(post.id, key)
        posts.value = [...posts.peek(), { files: [], ...post }].sort((one, other) => (keyOf(one) < keyOf(other) ? -1 : 1))
      }
      // Another tab has sent it, or taken it back.
      for (const post of posts.peek()) if (!ids.has(post.id) && !fresh.has(post.id) && !unkept.has(post.id)) forget(post.id)
    })
  }
  /** @param {Pending} post */
  const keyOf = post => keys.get(post.id) ?? ''

  /** @param {Pending} post @returns {Promise<void>} */
  const send = async post => {
    update(post.id, { state: 'sending', error: null })
    try {
      const media = files.media(post.files) ?? []
      const { data } = await api.createMessage(post.channel, { id: post.id, content: post.text, thread_id: post.thread, media })
      const now = find(post.id)
      await answered(post.id, now && isOutdated(data, now) ? await edit(now) : data)
      held.delete(post.channel)
    } catch (error) {
      await refused(post, error)
    }
  }

  /** Whether a message has an earlier text of its post. @param {any} message @param {Pending} post */
  const isOutdated = (message, post) => post.isChanged && message.content !== post.text
  /** Gives a message the text that its post has now. @param {Pending} post */
  const edit = async ({ id, channel, thread, text }) => {
    const { data } = await api.updateMessage(channel, { message_id: id, content: text, thread_id: thread ?? undefined })
    return { ...data, content: text }
  }

  /** @param {string} id @param {any} message */
  const answered = async (id, message) => {
    const post = find(id)
    if (!post || isOutdated(message, post)) return
    batch(() => {
      confirmed(message, post)
      forget(id)
    })
    files.posted(post.files)
    await unkeep(id)
  }

  /** @param {Pending} post @param {unknown} error */
  const refused = async (post, error) => {
    if (isSession(error)) {
      isEnded = true
      update(post.id, { state: 'waiting' })
    } else if (isTransient(error)) {
      const times = held.get(post.channel) ?? 0
      held.set(post.channel, times + 1)
      update(post.id, { state: 'waiting', error })
      const least = error instanceof Refusal ? (error.retryAfter ?? 0) * 1000 : 0
      clock.after(least + backoff(times, { first: 500, most: 15_000 }), () => release(post.channel))
      waiting.add(post.channel)
    } else {
      update(post.id, { state: 'refused', error })
      const next = find(post.id)
      if (next) await keep(next)
    }
  }
  /** @param {string} channel */
  const release = channel => {
    waiting.delete(channel)
    drain()
  }

  /** The post whose turn it is in a channel. @param {string} channel */
  const next = channel => (waiting.has(channel) || isEnded ? undefined
    : posts.peek().find(post => post.channel === channel && post.state !== 'refused' && files.media(post.files)))
  const ready = () => [...new Set(posts.peek().map(post => post.channel))].filter(next)

  /** Sends what waits in a channel, in its order. @param {string} channel */
  const sendAll = async channel => {
    for (let post = next(channel); post; post = next(channel)) {
      // Nothing is sent that a closed tab would forget, unless storage doesn't answer.
      await soon(Promise.resolve(writes.get(post.id)))
      const now = find(post.id)
      if (now) await send(now)
    }
    running.delete(channel)
  }
  /** @type {Map<string, Promise<void>>} */
  const running = new Map()
  const start = () => {
    for (const channel of ready()) if (!running.has(channel)) running.set(channel, sendAll(channel))
  }

  /** Sends all that waits, the channels beside each other. */
  const drain = async () => {
    if (isEnded) return
    if (isDraining) return isSending && start()
    isDraining = true
    try {
      await lease(async () => {
        fresh.clear()
        await soon(readKept())
        await soon(files.readKept().then(() => null))
        isSending = true
        start()
        while (running.size > 0) await Promise.race(running.values())
      })
    } finally {
      isDraining = false
      isSending = false
    }
    if (ready().length > 0) drain()
  }

  return {
    /** @param {string} channel @param {string | null} [thread] @returns {import('../base/signal.js').Computed<Pending[]>} */
    of: (channel, thread = null) => computed(() => posts.value.filter(post => post.channel === channel && post.thread === thread)),
    all: /** @type {import('../base/signal.js').Computed<Pending[]>} */ (posts),

    /**
     * @param {{ channel: string, thread?: string | null, text: string, mentions?: string[], files?: readonly string[] }} post
     * @returns {string} Its id.
     */
    post({ channel, thread = null, text, mentions = [], files: shown = [] }) {
      const at = clock.now()
      last = Math.max(at, last + 1)
      /** @type {Pending} */
      const post = { id: newId(), channel, thread, text, mentions, files: shown, at, state: 'waiting', error: null }
      keys.set(post.id, `post/${String(last).padStart(16, '0')}/${post.id}`)
      fresh.add(post.id)
      posts.value = [...posts.peek(), post]
      keep(post)
      drain()
      return post.id
    },

    /** @param {string} id @param {string} [text] Another text. */
    retry(id, text) {
      const post = find(id)
      if (!post) return
      const isChanged = post.isChanged || (text !== undefined && text !== post.text)
      update(id, { state: 'waiting', error: null, text: text ?? post.text, isChanged })
      keep(/** @type {Pending} */ (find(id)))
      release(post.channel)
    },

    /** @param {string} id @returns {string} Its text, for the draft. */
    discard(id) {
      const post = find(id)
      if (!post) return ''
      forget(id)
      unkeep(id)
      return post.text
    },

    /** A post goes without a file; one that has nothing else is taken back. @param {Pending} post @param {string} file */
    takeOut({ id, text, files: shown }, file) {
      const left = shown.filter(each => each !== file)
      if (!text && left.length === 0) return void this.discard(id)
      update(id, { files: left })
      const now = find(id)
      if (now) void keep(now).then(drain)
    },

    /** A file is there: its post may go. */
    go: drain,

    /** The network is back: what waits goes at once. */
    wake() {
      waiting.clear()
      held.clear()
      drain()
    },

    /** A message of the user's was heard: the server has it. @param {any} message */
    arrived(message) {
      if (find(message.id)) answered(message.id, message)
    },

    /** Begins with what earlier visits have left. */
    resume: () => {
      isEnded = false
      return drain()
    },
    end: () => void (isEnded = true),
  }
}

/** An error as it can be kept: a refusal by what it says. @param {any} error */
const plain = error => {
  if (!error) return null
  const { status, code, message, fields, limit } = error
  return { status, code, message, fields, limit }
}
