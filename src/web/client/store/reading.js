// The marks of reading. One request at a time moves a mark; where the reader went on meanwhile, one more follows.

import { signal } from '../base/signal.js'

/**
 * @param {object} options
 * @param {import('../net/request.js').Api} options.api
 */
export function createReading({ api }) {
  /** Marks under way, each with what is to follow. @type {Map<string, (() => Promise<any>) | null>} */
  const moving = new Map()

  /** @param {string} key @param {() => Promise<any>} move */
  const queue = async (key, move) => {
    if (moving.has(key)) return void moving.set(key, move)
    /** @type {(() => Promise<any>) | null} */
    let next = move
    while (next) {
      moving.set(key, null)
      // A mark that is lost is made again when the next row is seen.
      await next().catch(() => {})
      next = moving.get(key) ?? null
    }
    moving.delete(key)
  }

  /** What was marked as unread last, in which channel or thread: there reading rests. */
  const markedUnread = signal(/** @type {{ talk: string, message: string } | null} */ (null))

  /** @param {string} talk @param {string} message @param {() => Promise<any>} move */
  const back = (talk, message, move) => {
    markedUnread.value = { talk, message }
    return move()
  }

  return {
    markedUnread,

    /** @param {string} channel @param {string} [last] The newest post that was seen; all of them if omitted. */
    read: (channel, last) => queue(channel, () => api.markChannelRead(channel, last ? { last_message_id: last } : {})),

    /** @param {string} thread @param {string} [last] */
    readThread: (thread, last) => queue(thread, () => api.markThreadRead(thread, last ? { last_message_id: last } : {})),

    /** @param {string} channel @param {string} message The first that counts as unread again. */
    markUnread: (channel, message) => back(channel, message, () => api.markChannelRead(channel, { unread_from: message })),

    /** @param {string} thread @param {string} message */
    markThreadUnread: (thread, message) => back(thread, message, () => api.markThreadRead(thread, { unread_from: message })),
  }
}
