// What was read: the line before what is new, and the mark that follows what was seen.

import { effect, signal } from '../../base/signal.js'
import { firstNewOf } from './lines.js'

/**
 * The line stands where it was on opening, and anew where something is marked as unread. From then on nothing counts as read until
 * the talk is opened again, or the reader goes to its newest end: whoever marks something as unread wants to find it later.
 *
 * @param {import('../../store/index.js').Store} store
 * @param {import('../../store/index.js').Talk} talk
 * @param {object} options
 * @param {() => string} options.lastRead The id of the last message that was read; empty if none was.
 * @param {() => boolean} options.hasUnread
 * @param {(message: string) => void} options.read Marks everything up to a message as read.
 */
export function readingMark(store, talk, { lastRead, hasUnread, read }) {
  const me = store.me.peek()?.user_id ?? ''
  /** The message before which "New" stands. */
  const firstNew = signal(/** @type {string | null} */ (null))
  /** What had been read when the line was drawn, or the message that it was drawn at. @type {{ after?: string, at?: string } | null} */
  let line = hasUnread() ? { after: lastRead() } : null
  let marked = store.markedUnread.peek()
  let isHeld = false
  let isOpen = false

  effect(() => {
    const [rows, now, latest] = [talk.rows.value, lastRead(), store.markedUnread.value]
    if (latest !== marked && latest?.talk === (talk.thread ?? talk.id)) {
      line = { at: latest.message }
      isHeld = true
    }
    marked = latest
    if (rows.length === 0) return
    if (!isOpen && !hasUnread()) line = null
    else if (isOpen && !line && hasUnread() && document.visibilityState === 'hidden') line = { after: now }
    isOpen = true
    firstNew.value = line && (line.at ?? firstNewOf(rows, line.after ?? '', !talk.hasOlder.value, me))
  })

  /** @param {string} id */
  const position = id => talk.rows.peek().find(each => each.id === id)?.position ?? -1

  return {
    firstNew,
    /** @param {string} message The last one that was seen. */
    seen(message) {
      if (!isHeld && hasUnread() && position(message) > position(lastRead())) read(message)
    },
    /** The reader asked for the newest end: what is seen from now on counts as read. */
    release() {
      isHeld = false
    },
  }
}
