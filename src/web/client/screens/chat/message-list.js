// A list of messages that is read from the end: a channel's, or a thread's replies.

import { effect, onEnd, signal } from '../../base/signal.js'
import { dayLine } from '../../text/dates.js'
import { t } from '../../text/words.js'
import { h, when } from '../../view/element.js'
import { icon } from '../../view/icons.js'
import { keepPlace } from '../../view/keep-place.js'
import { list } from '../../view/list.js'
import { roving } from '../../view/roving.js'
import { announcer } from './announcer.js'
import { firstNewOf, lines } from './lines.js'
import { messageRow } from './row.js'

/** @typedef {import('../../store/index.js').Store} Store */
/** @typedef {import('../../store/index.js').Message} Message */

/** Pixels from an end at which the next page is fetched. */
const AHEAD = 800

/**
 * @param {Store} store
 * @param {object} options
 * @param {import('../../store/index.js').Talk} options.talk
 * @param {() => readonly import('../../store/index.js').Pending[]} options.pending
 * @param {() => string} options.lastRead The id of the last message that was read.
 * @param {() => boolean} options.hasUnread
 * @param {() => void} options.read Marks what is shown as read.
 * @param {() => string | null} options.goal A message to go to.
 * @param {string} options.label
 * @param {boolean} options.inThread
 * @param {() => import('../../view/element.js').Child} options.head What stands above the first message.
 */
export function messageList(store, { talk, pending, lastRead, hasUnread, read, goal, label, inThread, head }) {
  const me = store.me.peek()?.user_id ?? ''
  const firstNew = newLine(talk, lastRead, hasUnread, me)
  const content = list(h('ol', { class: 'rows', 'aria-label': label }),
    () => lines(talk.rows.value, pending(), firstNew.value, me),
    each => each.key, item => line(store, item, inThread, goal), brokenRow)
  roving(content, '.row')
  const isAtEnd = signal(true)
  const scroller = h('div', { class: 'talk', tabindex: -1 },
    () => talk.hasOlder.value ? h('p', { class: 'quiet small older' }, t('talk.older')) : head(),
    content)
  let busy = false
  const moved = () => {
    isAtEnd.value = place.isAtEnd() && !talk.hasNewer.peek()
    talk.isFollowing = isAtEnd.peek()
    if (!busy) void fill()
    seen()
  }
  const place = keepPlace(scroller, content, moved)

  /** Fetches the next page at the end that is near. */
  async function fill() {
    busy = true
    try {
      if (scroller.scrollTop < AHEAD) await talk.older()
      else if (scroller.scrollHeight - scroller.scrollTop - scroller.clientHeight < AHEAD) await talk.newer()
    } catch {
      // The line of the connection says that the server is away; scrolling asks again.
    } finally {
      busy = false
    }
  }

  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let reading
  const seen = () => {
    clearTimeout(reading)
    reading = setTimeout(() => {
      if (document.visibilityState === 'visible' && isAtEnd.peek() && talk.state.peek() === 'current' && hasUnread()) read()
    }, 250)
  }
  document.addEventListener('visibilitychange', seen)
  onEnd(() => {
    document.removeEventListener('visibilitychange', seen)
    clearTimeout(reading)
  })
  effect(() => {
    void [talk.rows.value, talk.state.value, hasUnread()]
    seen()
  })

  // The first page opens at what is new; an address may name a message.
  let isOpen = false
  /** The last goal that was gone to: once, and from then on the reader goes where they like. @type {string | null} */
  let reached = null
  effect(() => {
    const wanted = goal()
    if (!wanted) reached = null
    const state = talk.state.value
    if (state !== 'current' && talk.rows.value.length === 0) return
    if (wanted && wanted !== reached) void show(wanted)
    else if (!wanted && !isOpen) {
      const mark = content.querySelector('.day.new')
      if (mark) queueMicrotask(() => place.show(mark, 0.2))
      else queueMicrotask(place.toEnd)
    }
    isOpen = true
  })

  /** @param {string} id */
  async function show(id) {
    reached = id
    if (!talk.rows.peek().some(each => each.id === id)) await talk.around(id)
    const row = content.querySelector(`[data-id="${CSS.escape(id)}"]`)
    if (!(row instanceof HTMLElement)) {
      // While the server is away the fetch is tried again, and its page tells this anew.
      if (talk.error.peek()) reached = null
      return
    }
    place.show(row, 0.3)
    row.focus({ preventScroll: true })
  }

  async function toNewest() {
    reached = goal()
    if (talk.hasNewer.peek()) await talk.newest()
    place.toEnd()
    isAtEnd.value = true
  }

  return {
    toNewest,
    node: h('div', { class: 'talk-frame' }, scroller, announcer(store, talk),
      when(() => !isAtEnd.value, () => h('button', { type: 'button', class: 'button jump', onclick: toNewest }, icon('down'), t('talk.toNewest')))),
  }
}

/**
 * The message before which "New" stands: as it was on opening, and anew when something is marked as unread.
 *
 * @param {import('../../store/index.js').Talk} talk
 * @param {() => string} lastRead
 * @param {() => boolean} hasUnread
 * @param {string} me
 */
function newLine(talk, lastRead, hasUnread, me) {
  const at = signal(/** @type {string | null} */ (null))
  let known = hasUnread() ? lastRead() : null
  let isOpen = false
  effect(() => {
    const [rows, now] = [talk.rows.value, lastRead()]
    if (rows.length === 0) return
    const index = (/** @type {string | null} */ id) => rows.findIndex(each => each.id === id)
    if (isOpen && index(now) >= 0 && index(now) < index(known)) known = now
    else if (!isOpen && !hasUnread()) known = null
    else if (isOpen && known == null && index(now) >= 0 && hasUnread() && document.visibilityState === 'hidden') known = now
    isOpen = true
    at.value = known == null ? null : firstNewOf(rows, known, !talk.hasOlder.value, me)
  })
  return at
}

/**
 * @param {Store} store
 * @param {import('../../base/signal.js').Signal<import('./lines.js').Line>} item
 * @param {boolean} inThread
 * @param {() => string | null} goal
 */
function line(store, item, inThread, goal) {
  const now = item.peek()
  if (now.kind === 'day') return h('li', { class: 'day' }, () => dayLine(now.at))
  if (now.kind === 'new') return h('li', { class: 'day new' }, t('talk.new'))
  return messageRow(store, () => /** @type {any} */ (item.value), { inThread, goal })
}

const brokenRow = () => h('li', { class: 'row-item error' }, t('talk.broken'))
