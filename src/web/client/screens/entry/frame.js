// The card that each way in stands on, and what it says while it waits or when it can't go on.

import { signal, untracked } from '../../base/signal.js'
import { refusalText } from '../../text/refusals.js'
import { t } from '../../text/words.js'
import { h, svg } from '../../view/element.js'
import { pageTitle } from '../../view/title.js'
import { isTouch } from '../../view/viewport.js'

const logo = () => svg('svg', { class: 'entry-logo', viewBox: '0 0 32 32', 'aria-hidden': 'true', focusable: 'false' },
  svg('path', { class: 'entry-logo-bubble', d: 'M8.500 3.500h15a5 5 0 0 1 5 5v10a5 5 0 0 1-5 5H16l-6.500 5.500v-5.500h-1a5 5 0 0 1-5-5v-10a5 5 0 0 1 5-5z' }),
  svg('path', { class: 'entry-logo-wave', d: 'M8.500 14q2.500-5 5 0t5 0 5 0' }))

/**
 * @param {object} card
 * @param {string} card.title
 * @param {Child} [card.heading] The title with its names marked as such.
 * @param {Child} [card.lead]
 * @param {...Child} children
 * @returns {HTMLElement}
 */
export function card({ title, heading = title, lead }, ...children) {
  pageTitle.value = `${title} · Tidings`
  const head = h('h1', { tabindex: '-1' }, heading)
  const element = h('section', { class: 'card entry-card' }, logo(), head, lead && h('p', { class: 'quiet entry-lead' }, lead), children)
  // The focus goes where the person writes. A touch screen would open its keyboard over the page, so there it stays at the head.
  setTimeout(() => {
    if (!element.isConnected || element.contains(document.activeElement)) return
    const first = isTouch.matches ? null : element.querySelector('input:not([readonly]):not([disabled])')
    if (first instanceof HTMLElement) first.focus()
    else head.focus()
  })
  return element
}

/**
 * A page that needs something from the server first: says that it waits, and offers to try again.
 *
 * @template T
 * @param {() => Promise<T>} load
 * @param {(loaded: T) => Child} make
 * @returns {Child}
 */
export function later(load, make) {
  /** @type {import('../../base/signal.js').Signal<() => Child>} */
  const shown = signal(waiting)
  const begin = () => {
    shown.value = waiting
    load().then(loaded => { shown.value = () => make(loaded) }, error => { shown.value = () => failed(error, begin) })
  }
  begin()
  return () => {
    const make = shown.value
    return untracked(make)
  }
}

const waiting = () => h('section', { class: 'card entry-card entry-waiting', 'aria-busy': 'true' }, logo(),
  h('h1', { class: 'visually-hidden' }, 'Tidings'), h('p', { class: 'quiet', role: 'status' }, t('entry.waiting')))

/**
 * @param {unknown} error
 * @param {() => void} again
 */
const failed = (error, again) => card({ title: t('entry.failed_title'), lead: refusalText(error) },
  h('button', { type: 'button', class: 'button primary', onclick: again }, t('entry.again')))

/** A line of links below the form. */
export const below = (/** @type {Child[]} */ ...links) => h('div', { class: 'entry-below' }, links)

/**
 * @param {string} href
 * @param {Child} text
 */
export const to = (href, text) => h('a', { href }, text)

/** A link that is the one thing to do on its page. */
export const mainLink = (/** @type {string} */ href, /** @type {Child} */ text) => h('a', { class: 'button primary', href }, text)

/**
 * No session by cookie can stand here: the address isn't the one that the server is reached at, or the browser keeps no cookie.
 *
 * @param {import('./entry.js').Features} features
 */
export function notKept(features) {
  const { origin } = new URL(features.emoji_url, location.origin)
  if (origin === location.origin) return card({ title: t('entry.not_kept_title'), lead: t('entry.not_kept_cookies') })
  return card({ title: t('entry.elsewhere_title'), lead: t('entry.elsewhere', { address: origin }) },
    mainLink(`${origin}/`, t('entry.open_address', { address: origin })))
}
