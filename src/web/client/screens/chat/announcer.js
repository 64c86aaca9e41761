// Tells people who hear the page of new messages: one line a second, and never of older pages.

import { effect, onEnd } from '../../base/signal.js'
import { t } from '../../text/words.js'
import { h } from '../../view/element.js'
import { nameOf } from '../face.js'

const EVERY_MS = 1_000
const SIGNS = 200

/**
 * @param {import('../../store/index.js').Store} store
 * @param {import('../../store/index.js').Talk} talk
 */
export function announcer(store, talk) {
  const region = h('div', { class: 'visually-hidden', 'aria-live': 'polite' })
  let last = Infinity
  /** @type {string[]} */
  let waiting = []
  effect(() => {
    const rows = talk.rows.value
    const newest = rows[rows.length - 1]?.position ?? -1
    if (talk.state.value !== 'current') return
    for (const each of rows) {
      if (each.position <= last || each.user_id === store.me.peek()?.user_id) continue
      waiting.push(t('talk.said', { name: nameOf(each), text: each.content.slice(0, SIGNS) }))
    }
    last = last === Infinity ? newest : Math.max(last, newest)
  })
  const timer = setInterval(() => {
    if (waiting.length === 0) return
    region.textContent = waiting[waiting.length - 1]
    waiting = []
  }, EVERY_MS)
  onEnd(() => clearInterval(timer))
  return region
}
