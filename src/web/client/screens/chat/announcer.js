// Tells people who hear the page of new messages: one line a second, and never of older pages.

import { withoutPiles } from '../../base/marks.js'
import { effect, onEnd, untracked } from '../../base/signal.js'
import { t } from '../../text/words.js'
import { h } from '../../view/element.js'
import { authorSaid } from './author.js'
import { wordsOf } from './media.js'

const EVERY_MS = 1_000
const SIGNS = 200
/** So many lines wait at most: of more, the newest are said. */
const MOST_WAITING = 5

/**
 * @param {import('../../store/index.js').Store} store
 * @param {import('../../store/index.js').Talk} talk
 */
export function announcer(store, talk) {
  const region = h('div', { class: 'visually-hidden', 'aria-live': 'polite' })
  let last = Infinity
  let wasWhole = false
  /** @type {string[]} */
  let waiting = []
  const isNew = (/** @type {Message} */ each) => each.position > last && each.user_id !== store.me.peek()?.user_id
  const said = (/** @type {Message} */ each) => t('talk.said', { name: authorSaid(store, each), text: wordsOf(each).slice(0, SIGNS) })
  effect(() => {
    const rows = talk.rows.value
    const newest = rows[rows.length - 1]?.position ?? -1
    if (talk.state.value !== 'current') return
    const isWhole = !talk.hasNewer.value
    if (wasWhole && isWhole) untracked(() => waiting.push(...rows.filter(isNew).map(said)))
    waiting = waiting.slice(-MOST_WAITING)
    wasWhole = isWhole
    last = last === Infinity ? newest : Math.max(last, newest)
  })
  const timer = setInterval(() => {
    const next = waiting.shift()
    if (next !== undefined) region.textContent = withoutPiles(next)
  }, EVERY_MS)
  onEnd(() => clearInterval(timer))
  return region
}
