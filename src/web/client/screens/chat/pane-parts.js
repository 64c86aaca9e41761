// What the panes have in common.

import { t } from '../../text/words.js'
import { h, when } from '../../view/element.js'
import { paneBar } from './thread.js'

/**
 * A bar with a title and the channel that it is about.
 *
 * @param {import('../../store/index.js').Store} store
 * @param {string} title
 * @param {string} channel
 */
export const channelBar = (store, title, channel) => paneBar([
  h('span', null, title),
  h('span', { class: 'quiet small' }, h('bdi', null, () => store.channel(channel)?.title ?? '')),
])

/**
 * Why something could not be fetched, and a button that fetches it again.
 *
 * @param {() => string} problem Empty if nothing failed.
 * @param {() => unknown} again
 * @returns {Child}
 */
export const failure = (problem, again) => when(problem, () => h('div', { class: 'pane-state', role: 'alert' },
  h('p', { class: 'error' }, problem),
  h('button', { type: 'button', class: 'button', onclick: again }, t('common.retry'))))

/**
 * A button at the end of a list of which there is more.
 *
 * @param {string} label
 * @param {() => boolean} isBusy
 * @param {() => unknown} more
 */
export const moreButton = (label, isBusy, more) => h('p', { class: 'pane-more' },
  h('button', { type: 'button', class: 'button', 'aria-busy': () => isBusy() ? 'true' : null, onclick: more }, label))
