// A list of messages that is read from the end: a channel's, or a thread's replies.

import { effect, onEnd, signal } from '../../base/signal.js'
import { dayLine } from '../../text/dates.js'
import { t } from '../../text/words.js'
import { afterPaint } from '../../view/delayed.js'
import { h, when } from '../../view/element.js'
import { icon } from '../../view/icons.js'
import { keepPlace } from '../../view/keep-place.js'
import { list } from '../../view/list.js'
import { roving } from '../../view/roving.js'
import { announcer } from './announcer.js'
import { atOpening, lines } from './lines.js'
import { readingMark } from './reading-mark.js'
import { messageRow } from './row.js'

/** Pixels from an end at which the next page is fetched. */
const AHEAD = 800
/** The height of a message of one line, in pixels, and of the bar and the composer together. */
const LINE = 28
const AROUND = 120
/** The least that the first frame shows, in windows that are hardly higher than bar and composer. */
const FEWEST_LINES = 5
/** How long a row is there before it counts as seen. */
const SEEN_AFTER_MS = 250

/**
 * @param {Store} store
 * @param {object} options
 * @param {import('../../store/index.js').Talk} options.talk
 * @param {() => readonly import('../../store/index.js').Pending[]} options.pending
 * @param {() => string} options.lastRead The id of the last message that was read.
 * @param {() => boolean} options.hasUnread
 * @param {(message: string) => void} options.read Marks everything up to a message as read.
 * @param {() => string | null} options.goal A message to go to.
 * @param {string} options.label
 * @param {boolean} options.inThread
 * @param {() => import('../../view/element.js').Child} options.head What stands above the first message.
 */
export function messageList(store, { talk, pending, lastRead, hasUnread, read, goal, label, inThread, head }) {
  const me = store.me.peek()?.user_id ?? ''
  const mark = readingMark(store, talk, { lastRead, hasUnread, read })
  // The first frame has the messages that fill the window, without their tools. The others and the tools follow right after its paint.
  const isSettled = signal(goal() !== null)
  const settle = () => { isSettled.value = true }
  const content = list(h('ol', { class: 'rows', 'aria-label': label }),
    () => {
      const all = lines(talk.rows.value, pending(), mark.firstNew.value, me)
      return isSettled.value ? all : atOpening(all, Math.max(FEWEST_LINES, Math.ceil((innerHeight - AROUND) / LINE)))
    },
    each => each.key, item => line(store, item, { inThread, goal, isSettled }), brokenRow)
  roving(content, '.row')
  const isAtEnd = signal(true)
  const scroller = h('div', { class: 'talk', tabindex: -1 },
    () => talk.hasOlder.value ? h('p', { class: 'quiet small older' }, t('talk.older')) : head(),
    when(() => talk.state.value === 'loading', () => h('p', { class: 'quiet small older late' }, t('common.loading'))),
    content)
  let busy = false
  const moved = () => {
    isAtEnd.value = held.isAtEnd()
    talk.isInNewerHalf = scroller.scrollTop + scroller.clientHeight / 2 > scroller.scrollHeight / 2
    if (!busy && isSettled.peek()) void fill()
    seen()
  }
  const held = keepPlace(scroller, content, { isWhole: () => !talk.hasNewer.peek(), moved })

  /** Fetches the next page at the end that is near. */
  async function fill() {
    busy = true
    try {
      if (talk.hasOlder.peek() && scroller.scrollTop < AHEAD) await talk.older()
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
      if (document.visibilityState !== 'visible' || talk.state.peek() !== 'current') return
      const ids = new Set(talk.rows.peek().map(each => each.id))
      const last = held.seen().map(row => /** @type {HTMLElement | null} */ (row.querySelector('[data-id]'))?.dataset.id ?? '')
        .findLast(id => ids.has(id))
      if (last) mark.seen(last)
    }, SEEN_AFTER_MS)
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
    else if (!wanted && !isOpen) queueMicrotask(open)
    isOpen = true
  })

  function open() {
    const line = content.querySelector('.day.new')
    if (line) held.show(line, 0.2)
    else held.toEnd()
    const [rows, box] = [content.getBoundingClientRect(), scroller.getBoundingClientRect()]
    if (rows.top > box.top || rows.bottom < box.bottom - LINE) settle()
    else afterPaint(settle)
  }

  /** @param {string} id */
  async function show(id) {
    reached = id
    settle()
    // Rows that are loaded already are there before the list stands in the page, where it can scroll.
    await (talk.rows.peek().some(each => each.id === id) ? null : talk.around(id))
    const row = content.querySelector(`[data-id="${CSS.escape(id)}"]`)
    if (!(row instanceof HTMLElement)) {
      // While the server is away the fetch is tried again, and its page tells this anew.
      if (talk.error.peek()) reached = null
      return
    }
    held.show(row, 0.3)
    row.focus({ preventScroll: true })
  }

  async function toNewest() {
    reached = goal()
    mark.release()
    if (talk.hasNewer.peek()) await talk.newest()
    held.toEnd()
    isAtEnd.value = true
  }

  return {
    toNewest,
    node: h('div', { class: 'talk-frame' }, scroller, announcer(store, talk),
      when(() => !isAtEnd.value, () => h('button', { type: 'button', class: 'button jump', onclick: toNewest }, icon('down'), t('talk.toNewest')))),
  }
}

/**
 * @param {Store} store
 * @param {import('../../base/signal.js').Signal<import('./lines.js').Line>} item
 * @param {Parameters<typeof messageRow>[2]} options
 */
function line(store, item, options) {
  const now = item.peek()
  if (now.kind === 'day') return h('li', { class: 'day' }, () => dayLine(now.at))
  if (now.kind === 'new') return h('li', { class: 'day new' }, t('talk.new'))
  return messageRow(store, () => /** @type {any} */ (item.value), options)
}

const brokenRow = () => h('li', { class: 'row-item error' }, t('talk.broken'))
