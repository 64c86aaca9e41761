// What a part fetches when it opens: it says that it loads, or that it failed and offers to try again.

import { batch, onEnd, signal, untracked } from '../../base/signal.js'
import { h } from '../../view/element.js'
import { wording } from '../../view/wording.js'
import { t } from '../../text/words.js'

/**
 * @template T
 * @param {() => Promise<T>} fetch
 * @param {(data: import('../../base/signal.js').Signal<T>, again: () => Promise<void>) => Child} make
 *   Called once. `again` fetches anew and leaves what is shown until the answer is there; it fails as `fetch` does.
 * @returns {HTMLElement}
 */
export function fetched(fetch, make) {
  const state = signal(/** @type {'loading' | 'failed' | 'ready'} */ ('loading'))
  const data = signal(/** @type {T | null} */ (null))
  let problem = /** @type {unknown} */ (null)
  let ended = false
  onEnd(() => { ended = true })
  const again = async () => {
    const answer = await fetch()
    if (ended) return
    batch(() => {
      data.value = answer
      state.value = 'ready'
    })
  }
  const first = () => {
    state.value = 'loading'
    again().catch(error => {
      problem = error
      if (!ended) state.value = 'failed'
    })
  }
  const element = h('div', { class: 'fetched', tabindex: -1 }, () => {
    if (state.value === 'loading') return h('p', { class: 'quiet loading', role: 'status' }, t('common.loading'))
    if (state.value === 'failed') return failed(problem, retry)
    return untracked(() => make(/** @type {import('../../base/signal.js').Signal<T>} */ (data), again))
  })
  const retry = () => {
    element.focus()
    first()
  }
  first()
  return element
}

/**
 * @param {unknown} problem
 * @param {() => void} retry
 */
const failed = (problem, retry) => h('div', { class: 'notice', role: 'alert' },
  h('p', null, wording.explain(problem)),
  h('button', { type: 'button', class: 'button', onclick: retry }, t('common.retry')))
