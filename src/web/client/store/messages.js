// The talks: those that are open, and the last ones that were.

import { Owner } from '../base/signal.js'
import { createTalk, PAGE, UNREAD } from './talk.js'

/** So many talks are kept that nobody looks at. */
const KEPT = 20

/** @typedef {import('./talk.js').Talk} Talk */
/** @typedef {import('./talk.js').Page} Page */
/** @typedef {import('./talk.js').Query} Query */

/**
 * @param {object} options
 * @param {import('../net/request.js').Api} options.api
 * @param {ReturnType<import('./streams.js').createStreams>} options.streams
 * @param {ReturnType<import('./positions.js').createRecorder>} options.recorder
 * @param {import('../base/clock.js').Clock} options.clock
 * @param {(message: any) => void} options.seen
 * @param {ReturnType<import('./kept.js').createKept>} options.kept
 * @param {() => string | undefined} options.organisation
 */
export function createMessages({ api, streams, recorder, clock, seen, kept, organisation }) {
  /** By channel, or channel and thread; the latest used last. @type {Map<string, Talk>} */
  const talks = new Map()

  /** The first page of the channel that is about to be opened. @type {{ channel: string, page: Promise<Page | null> } | null} */
  let early = null

  /** @param {string} channel @param {Query} query @returns {Promise<Page>} */
  const fetchPage = async (channel, query) => {
    const { data, next, previous, position } = await api.listMessages(channel, query)
    return { messages: data, position, ...edges(query, next, previous) }
  }

  /** @param {string} channel @returns {(query: Query) => Promise<Page>} */
  const pagesOfChannel = channel => async query => {
    const known = early?.channel === channel && query.around === UNREAD ? early.page : null
    early = null
    const page = await known
    // A stream that has a later position does not tell what happened before that.
    return page && !streams.of(channel).position() ? page : fetchPage(channel, query)
  }

  /**
   * @param {string} channel
   * @param {string} thread
   * @returns {(query: Query) => Promise<Page>}
   */
  const pagesOfThread = (channel, thread) => async query => {
    if (!query.before && !query.after && !query.around) {
      const { data, position } = await api.getThread(thread, { messages: query.limit })
      const { messages, ...root } = data
      return { messages, root, position, hasOlder: root.message_count > messages.length, hasNewer: false }
    }
    const isFirst = !query.before && !query.after
    const root = isFirst ? await api.getThread(thread, { messages: 1 }) : null
    const { data, next, previous, position } = await api.listThreadReplies(thread, channel, query)
    return { messages: data, position, root: root?.data, ...edges(query, next, previous) }
  }

  const owner = new Owner()
  /** What ends with a talk. @type {Map<string, () => void>} */
  const ends = new Map()
  /** @param {string} key */
  const forget = key => {
    talks.delete(key)
    ends.get(key)?.()
    ends.delete(key)
  }

  /** Forgets the talks that nobody has looked at for longest. */
  const evict = () => {
    const idle = [...talks].filter(([, talk]) => !talk.isOpen())
    for (const [key] of idle.slice(0, Math.max(0, idle.length - KEPT))) forget(key)
  }

  /** @param {string} key @param {string} channel @param {string | null} thread */
  const use = (key, channel, thread) => {
    const known = talks.get(key)
    talks.delete(key)
    const talk = known ?? make(key, channel, thread)
    talks.set(key, talk)
    evict()
    return talk
  }

  /** @param {string} key @param {string} channel @param {string | null} thread */
  const make = (key, channel, thread) => {
    const fetchPage = thread ? pagesOfThread(channel, thread) : pagesOfChannel(channel)
    const talk = createTalk({ channel, thread, fetchPage, stream: streams.of(channel), recorder, clock, seen,
      kept: async () => (thread || early?.channel === channel ? null : kept.talk(channel)) })
    // It outlives the screen that asks for it first.
    if (!thread) owner.run(() => ends.set(key, kept.keepTalk(talk, organisation)))
    return talk
  }

  /** @param {string} channel */
  const inChannel = channel => [...talks.values()].filter(talk => talk.id === channel)

  return {
    /** @param {string} channel */
    talk: channel => use(channel, channel, null),
    /** @param {string} channel @param {string} thread */
    thread: (channel, thread) => use(`${channel}/${thread}`, channel, thread),
    /** @param {string} channel @param {string | null} [thread] */
    peek: (channel, thread = null) => talks.get(thread ? `${channel}/${thread}` : channel) ?? null,
    inChannel,

    /**
     * Asks for a channel's first page before it is known who asks. If that fails, the page is asked for again when the talk opens.
     *
     * @param {string} channel
     * @returns {() => void} Has the talk use it, if that is opened next.
     */
    ask(channel) {
      const page = fetchPage(channel, { limit: PAGE, around: UNREAD }).catch(() => null)
      return () => { early = { channel, page } }
    },

    /** What was pushed in a channel may be incomplete. @param {string} channel */
    lose(channel) {
      for (const talk of inChannel(channel)) talk.lose()
    },

    /** @param {string} channel The user is in it again. */
    revive(channel) {
      for (const talk of inChannel(channel)) talk.revive()
    },

    clear: () => talks.clear(),
  }
}

/**
 * A page's `next` leads on in its own direction, which for a page after a message is to what is newer.
 *
 * @param {Query} query
 * @param {object | null} next
 * @param {object | null} previous
 */
const edges = (query, next, previous) => (query.after
  ? { hasNewer: Boolean(next), hasOlder: true }
  : { hasOlder: Boolean(next), hasNewer: Boolean(previous) })
