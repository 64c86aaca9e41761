// A talk: the top-level posts of a channel, or the replies of a thread. What is loaded is one piece without gaps, which what is
// pushed keeps as a fresh fetch would answer it.

import { batch, computed, signal } from '../base/signal.js'
import { backoff } from '../base/clock.js'
import { isTransient, Refusal } from '../net/request.js'
import { createRows } from './rows.js'
import { includes } from './positions.js'
import { soon } from './storage.js'

/** @typedef {import('./rows.js').Message} Message */
/** @typedef {Message & { unread_count?: number, mention_count?: number, last_read_id?: string, is_followed?: boolean }} Root */
/** @typedef {'loading' | 'current' | 'catching-up' | 'failed' | 'gone'} State */
/** @typedef {{ before?: string, after?: string, around?: string, limit?: number }} Query */
/** @typedef {{ messages: Message[], root?: Root, hasOlder: boolean, hasNewer: boolean, position: Position | null }} Page */

export const PAGE = 50
/** Where a channel opens. */
export const UNREAD = 'unread'
/** The most that the API answers at once. */
const MOST_PAGE = 200

/**
 * @param {object} options
 * @param {string} options.channel
 * @param {string | null} options.thread
 * @param {(query: Query) => Promise<Page>} options.fetchPage
 * @param {import('./streams.js').Stream} options.stream
 * @param {ReturnType<import('./positions.js').createRecorder>} options.recorder
 * @param {import('../base/clock.js').Clock} options.clock
 * @param {(message: Message) => void} options.seen Is told of each message that comes.
 * @param {() => Promise<import('./kept.js').KeptTalk | null>} options.kept What an earlier visit has left.
 */
export function createTalk({ channel, thread, fetchPage, stream, recorder, clock, seen, kept }) {
  const list = createRows()
  const roots = createRows()
  const hasOlder = signal(false)
  const hasNewer = signal(false)
  const isLoaded = signal(false)
  const isLoading = signal(false)
  const isGone = signal(false)
  const error = signal(/** @type {Error | null} */ (null))
  /** The newest end is known as of this position. @type {Position | null} */
  let newest = null
  let opens = 0
  let run = 0
  let attempt = 0
  let isPaging = false
  let isStale = false
  let losses = 0
  let cancelRetry = () => {}

  /** Where it opens. @type {Query} */
  const beginning = thread ? {} : { around: UNREAD }

  const state = computed(() => {
    if (isGone.value || stream.isGone.value) return /** @type {State} */ ('gone')
    if (!isLoaded.value) return error.value ? 'failed' : 'loading'
    // What is loaded stays readable while a fetch of it fails and is tried again.
    return stream.isCurrent.value && !isLoading.value && !error.value ? 'current' : 'catching-up'
  })

  /** @param {Page} page */
  const take = page => {
    page.messages.forEach(seen)
    if (page.root) roots.replace([page.root], page.position)
  }

  /** Replaces what is loaded. @param {Query} query @returns {Promise<void>} */
  const load = async query => {
    cancelRetry()
    run += 1
    const own = run
    const before = losses
    isLoading.value = true
    try {
      await recorder.fetch(() => fetchPage({ limit: PAGE, ...query }), page => {
        if (own !== run) return
        batch(() => {
          take(page)
          list.replace(page.messages, page.position)
          hasOlder.value = page.hasOlder
          hasNewer.value = page.hasNewer
          newest = page.hasNewer ? null : page.position
          isLoaded.value = true
          isLoading.value = false
          // A page that was on its way meanwhile may lack what was lost.
          isStale = losses !== before
          error.value = null
        })
        attempt = 0
        stream.begin(page.position)
      })
    } catch (failure) {
      if (own === run) failed(query, failure)
    }
  }

  /** @param {Query} query @param {unknown} failure */
  const failed = (query, failure) => {
    if (failure instanceof Refusal && failure.status === 404 && query.around) {
      load({})
      return
    }
    if (failure instanceof Refusal && (failure.status === 403 || failure.status === 404)) isGone.value = true
    error.value = /** @type {Error} */ (failure)
    isLoading.value = false
    isStale = true
    if (!isTransient(failure) || opens === 0) return
    cancelRetry = clock.after(backoff(attempt), () => load(query))
    attempt += 1
  }

  /** Adds a page at one end. @param {'older' | 'newer'} way */
  const extend = async way => {
    const rows = list.rows.peek()
    const edge = way === 'older' ? rows[0] : rows.at(-1)
    if (isPaging || isLoading.peek() || !edge || !(way === 'older' ? hasOlder : hasNewer).peek()) return
    isPaging = true
    const own = run
    try {
      await recorder.fetch(() => fetchPage({ limit: PAGE, [way === 'older' ? 'before' : 'after']: edge.id }), page => {
        if (own !== run) return
        batch(() => {
          take(page)
          list.join(page.messages, page.position)
          if (way === 'older') {
            hasOlder.value = page.hasOlder
            if (list.trim('newest')) hasNewer.value = true
          } else {
            hasNewer.value = page.hasNewer
            if (!page.hasNewer) newest = page.position
            if (list.trim('oldest')) hasOlder.value = true
          }
        })
      })
    } catch (failure) {
      // The edge was deleted, and nobody has told yet.
      if (own === run && failure instanceof Refusal && failure.status === 404) await reload()
      else throw failure
    } finally {
      isPaging = false
    }
  }

  /** Shows what an earlier visit has left, until the stream has caught up. */
  const restore = async () => {
    const page = await soon(kept().catch(() => null))
    // If the stream has a later position already, what happened before that is not told.
    if (!page || stream.position() || isLoaded.peek() || isLoading.peek()) return
    batch(() => {
      page.rows.forEach(seen)
      list.replace(page.rows, page.position)
      hasOlder.value = page.hasOlder
      newest = page.position
      isLoaded.value = true
    })
    stream.begin(page.position)
  }

  /** Fetches again what is loaded, where its reader is. */
  const reload = () => {
    const rows = list.rows.peek()
    const limit = Math.min(MOST_PAGE, Math.max(PAGE, rows.length))
    return load(hasNewer.peek() && rows.length > 0 ? { around: rows[rows.length >> 1].id, limit } : { limit })
  }

  const talk = {
    /** The channel's id. */
    id: channel,
    thread,
    rows: list.rows,
    /** Of a thread: the post that began it, with what is unread in it. */
    root: computed(() => /** @type {Root | null} */ (roots.rows.value[0] ?? null)),
    /** Of a thread: how many replies are unread, and the newest that was read. */
    unread: computed(() => /** @type {Root | undefined} */ (roots.rows.value[0])?.unread_count ?? 0),
    lastRead: computed(() => /** @type {Root | undefined} */ (roots.rows.value[0])?.last_read_id ?? ''),
    state,
    error,
    hasOlder,
    hasNewer,
    /** Whether the reader stands in the newer half, so that rows past the bound are dropped at the other end; the screen says so. */
    isInNewerHalf: true,

    older: () => extend('older'),
    newer: () => extend('newer'),
    /** @param {string} id A message, or `unread`. */
    around: id => load({ around: id }),
    /** Fetches what could not be had, as if it was opened anew. */
    retry() {
      error.value = null
      attempt = 0
      return load(beginning)
    },
    newest: () => (isLoaded.peek() && !hasNewer.peek() ? Promise.resolve() : load({})),
    reload,

    /** Somebody looks at it. @param {string} [at] A message to begin at; otherwise the first unread. @returns {Promise<void>} */
    async open(at) {
      opens += 1
      stream.open()
      if (!at && !isLoaded.peek() && !isLoading.peek()) await restore()
      if (opens === 0) return
      if (at && !list.find(at)) await load({ around: at })
      else if (!isLoaded.peek() && !isLoading.peek()) await load(beginning)
      else if (isStale) await reload()
    },

    close() {
      opens -= 1
      if (opens === 0) cancelRetry()
      stream.close()
    },

    isOpen: () => opens > 0,

    /** The newest page, to be kept. @param {number} most */
    page(most) {
      const position = stream.position()
      // While it catches up, the rows are older than the position.
      if (state.peek() !== 'current' || isStale || hasNewer.peek() || !position) return null
      const rows = list.rows.peek().slice(-most)
      return { rows, position, hasOlder: hasOlder.peek() || rows.length < list.rows.peek().length }
    },

    /** What is loaded may lack something. */
    lose() {
      losses += 1
      isStale = true
      if (opens > 0) reload()
    },

    /** The user is in its channel again. */
    revive() {
      isGone.value = false
      error.value = null
      isStale = true
      if (opens > 0) load({})
    },

    /**
     * Takes in a new message at the end.
     *
     * @param {Message} message
     * @param {Position | null} position Null if an answer told of it.
     */
    posted(message, position) {
      if (!isLoaded.peek() || hasNewer.peek() || (position && includes(newest, position))) return
      seen(message)
      list.add(message, position)
      if (list.trim(talk.isInNewerHalf ? 'oldest' : 'newest')) (talk.isInNewerHalf ? hasOlder : hasNewer).value = true
    },

    /**
     * Changes a message, or the thread's root.
     *
     * @param {string} id
     * @param {Position} position
     * @param {(message: Message) => Message | null} change
     */
    change(id, position, change) {
      list.change(id, position, change)
      roots.change(id, position, change)
      if (id === thread && isLoaded.peek() && !roots.find(id)) isGone.value = true
    },
  }
  return talk
}

/** @typedef {ReturnType<typeof createTalk>} Talk */
