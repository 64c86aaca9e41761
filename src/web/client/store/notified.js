// The messages that notify the person.

import { signal } from '../base/signal.js'

/** So many are known, so that none is shown twice. */
const MOST_KNOWN = 500

export function createNotified() {
  /** Those that nobody has shown yet. @type {import('../base/signal.js').Signal<Notified[]>} */
  const waiting = signal(/** @type {Notified[]} */ ([]))
  /** @type {Set<string>} */
  const known = new Set()
  return {
    waiting,

    /** @param {Notified} message */
    hear(message) {
      if (known.has(message.message_id)) return
      known.add(message.message_id)
      if (known.size > MOST_KNOWN) for (const first of known) { known.delete(first); break }
      waiting.value = [...waiting.peek(), message]
    },

    /** Takes those that wait, of each channel the last. */
    take() {
      const messages = waiting.peek()
      if (messages.length > 0) waiting.value = []
      return [...new Map(messages.map(each => [each.channels_id, each])).values()]
    },
  }
}
