// Says that the server can't be reached, or that the browser keeps nothing. Short breaks are not worth a word.

import { effect, onEnd, signal } from '../../base/signal.js'
import { t } from '../../text/words.js'
import { h } from '../../view/element.js'

const PATIENCE_MS = 2_000

/**
 * @param {import('../../store/index.js').Store} store
 * @param {'offline' | 'offline-narrow'} [kind] The second is for what hides the list of channels in a narrow window, and is seen
 *   there alone.
 */
export function connectionLine(store, kind = 'offline') {
  const isLost = signal(false)
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let waiting
  effect(() => {
    const { state } = store.connection.value
    clearTimeout(waiting)
    if (state === 'live') isLost.value = false
    else waiting = setTimeout(() => { isLost.value = true }, PATIENCE_MS)
  })
  onEnd(() => clearTimeout(waiting))
  const keepsNothing = () => store.connection.value.state === 'live' && !store.keeps()
  return h('p', { class: `${kind} small`, role: 'status' },
    () => isLost.value ? t('talk.offline') : keepsNothing() && t('talk.keepsNothing'))
}
