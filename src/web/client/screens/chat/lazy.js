// Parts whose modules or content come later.

import { signal, untracked } from '../../base/signal.js'
import { t } from '../../text/words.js'
import { h } from '../../view/element.js'

/** @typedef {import('../../view/element.js').Child} Child */

/**
 * A part that is loaded when it is opened.
 *
 * @param {() => Promise<() => Child>} load Finds what makes the part.
 */
export function lazy(load) {
  const make = signal(() => /** @type {Child} */ (h('p', { class: 'empty quiet', role: 'status' }, t('common.loading'))))
  load().then(it => { make.value = it }, () => { make.value = () => h('p', { class: 'empty', role: 'alert' }, t('common.unreachable')) })
  return () => {
    const part = make.value
    return untracked(part)
  }
}
