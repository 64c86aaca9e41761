// Coming back to a page that the browser has kept whole, as with "Back". Its session may have ended since, and the page has heard
// nothing: without a network it would show the talk to whoever sits there now. So it is hidden when it is left, and shown again
// once the server has answered for whose session it is.

import { onEnd } from '../base/signal.js'
import { isTransient } from '../net/request.js'
import { refusalText } from '../text/refusals.js'
import { t } from '../text/words.js'
import { h } from '../view/element.js'

const AGAIN_MS = 5_000

/** @param {import('../store/index.js').Store} store */
export function hideUntilConfirmed(store) {
  const page = document.documentElement
  /** @param {PageTransitionEvent} event */
  const left = ({ persisted }) => { if (persisted) page.style.visibility = 'hidden' }
  /** @param {PageTransitionEvent} event */
  const back = async ({ persisted }) => {
    if (!persisted) return
    page.style.visibility = 'hidden'
    if (store.ended.peek() === 'signed-out') return location.replace('/sign-in')
    await confirmed(store)
    page.style.visibility = ''
  }
  addEventListener('pagehide', left)
  addEventListener('pageshow', back)
  onEnd(() => {
    removeEventListener('pagehide', left)
    removeEventListener('pageshow', back)
  })
}

/** Waits until the server has said whether the session goes on; if it doesn't, the store has ended. @param {import('../store/index.js').Store} store */
async function confirmed(store) {
  /** @type {HTMLElement | undefined} */
  let notice
  for (;;) {
    try {
      await store.api.getProfile()
      break
    } catch (error) {
      if (!isTransient(error)) break
      let again = () => {}
      const asked = new Promise(resolve => { again = () => resolve(null) })
      notice?.remove()
      notice = document.body.appendChild(h('div', { class: 'unconfirmed', role: 'alert' },
        h('p', null, refusalText(error)),
        h('button', { type: 'button', class: 'button', onclick: again }, t('common.retry'))))
      addEventListener('online', again, { once: true })
      const timer = setTimeout(again, AGAIN_MS)
      await asked
      clearTimeout(timer)
      removeEventListener('online', again)
    }
  }
  notice?.remove()
}
