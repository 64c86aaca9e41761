// The address is what is open: panes are addresses, and "back" closes them. Links are plain `<a href>`; this follows those of our own.

import { signal } from '../base/signal.js'

/**
 * @typedef {object} Route
 * @property {string} path As in the address, without a slash at the end.
 * @property {string[]} segments Its parts, decoded.
 * @property {URLSearchParams} query
 */

/** @returns {Route} */
function read() {
  const path = location.pathname.replace(/(?<=.)\/+$/, '')
  return { path, segments: path.split('/').filter(Boolean).map(decode), query: new URLSearchParams(location.search) }
}

/** @param {string} segment */
function decode(segment) {
  try {
    return decodeURIComponent(segment)
  } catch {
    return segment
  }
}

/** What is open now. */
export const route = signal(read())

/**
 * Opens an address of this server.
 *
 * @param {string} address Path with query.
 * @param {{ replace?: boolean, state?: object | null }} [options] `replace` leaves no entry to go back to; `state` is kept with the new one.
 */
export function go(address, { replace = false, state = null } = {}) {
  if (address !== location.pathname + location.search) history[replace ? 'replaceState' : 'pushState'](state, '', address)
  route.value = read()
}

/** Addresses that other pages answer: the documentation, the API and what the server itself shows. */
const ELSEWHERE = /^\/(docs|api|health|client|connection|auth\/oidc)(\/|$)/

/** @param {string} path */
export const isElsewhere = path => ELSEWHERE.test(path)

/** Follows links of our own without loading the page again. Called once. */
export function followLinks() {
  addEventListener('popstate', () => { route.value = read() })
  document.addEventListener('click', event => {
    if (event.defaultPrevented || event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return
    const link = event.target instanceof Element ? event.target.closest('a') : null
    if (!link || link.target || link.hasAttribute('download') || !link.href) return
    const address = new URL(link.href)
    if (address.origin !== location.origin || isElsewhere(address.pathname)) return
    event.preventDefault()
    go(address.pathname + address.search)
  })
}
