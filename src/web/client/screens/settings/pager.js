// Going through the pages of a list.

import { h } from '../../view/element.js'
import { t } from '../../text/words.js'
import { attempt } from './parts.js'

/**
 * Goes through pages.
 *
 * @param {() => { page: number, hasLater: boolean }} state
 * @param {(page: number) => Promise<unknown>} open
 */
export const pager = (state, open) =>
  h('nav', { class: 'pager', 'aria-label': t('settings.pages'), hidden: () => state().page === 1 && !state().hasLater },
  turn(t('settings.earlierPage'), () => state().page <= 1, () => open(state().page - 1)),
  h('span', { class: 'quiet small', role: 'status' }, () => t('settings.page', { page: state().page })),
  turn(t('settings.laterPage'), () => !state().hasLater, () => open(state().page + 1)))

/**
 * A button that keeps the focus at the first and the last page.
 *
 * @param {string} label
 * @param {() => boolean} isOff
 * @param {() => Promise<unknown>} run
 */
const turn = (label, isOff, run) => {
  const element = h('button', {
    type: 'button', class: 'button', 'aria-disabled': () => isOff() ? 'true' : null,
    onclick: () => { if (!isOff()) attempt(element, run) },
  }, label)
  return element
}
