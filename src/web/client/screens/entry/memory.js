// What the ways in remember from one page to the next: the e-mail address that a person typed, and the page that they wanted to open.
// The link in a mail opens another tab, so the browser keeps both from then until the log-in, for an hour at most.

import { isElsewhere } from '../../view/router.js'

const ADDRESS = 'tidings-entry-address'
const NEXT = 'tidings-entry-next'
const SINCE = 'tidings-entry-since'
/** No link in a mail that people wait for works for longer. */
const KEPT_FOR_MS = 3_600_000

/** What is kept of the pages that a person may want: those of the talk. The others, such as an invitation, have tokens. */
const HAS_NO_TOKEN = /^\/(o|threads|settings)(\/|$)/

let typed = ''

/** @returns {string} */
export function rememberedAddress() {
  try {
    return typed || kept(ADDRESS) || ''
  } catch {
    return typed
  }
}

/**
 * @param {string} address
 * @param {{ forMail?: boolean, next?: string | null }} [options] `forMail`: a mail is on its way, whose link opens another tab, and
 *   `next` is what the person wanted to open.
 */
export function rememberAddress(address, { forMail = false, next } = {}) {
  typed = address
  if (!forMail) return
  try {
    localStorage.setItem(SINCE, String(Date.now()))
    localStorage.setItem(ADDRESS, address)
    if (HAS_NO_TOKEN.test(ownPath(next))) localStorage.setItem(NEXT, ownPath(next))
    else localStorage.removeItem(NEXT)
  } catch {
    // A browser that keeps nothing: the person types it again.
  }
}

/**
 * What the person wanted to open who asked for a mail.
 *
 * @param {string} [address] Theirs, if it is known.
 */
export function rememberedNext(address) {
  try {
    return address && !isSameAddress(address, kept(ADDRESS)) ? null : kept(NEXT)
  } catch {
    return null
  }
}

/** What the browser has kept of it. After an hour nobody waits for the mail any more, and whoever comes then may be another. @param {string} name */
function kept(name) {
  const age = Date.now() - Number(localStorage.getItem(SINCE))
  if (age < 0 || age > KEPT_FOR_MS) for (const each of [ADDRESS, NEXT, SINCE]) localStorage.removeItem(each)
  return localStorage.getItem(name)
}

export function forgetAddress() {
  typed = ''
  try {
    for (const each of [ADDRESS, NEXT, SINCE]) localStorage.removeItem(each)
  } catch {
    // Nothing was kept.
  }
}

/**
 * @param {string | null | undefined} one
 * @param {string | null | undefined} other
 */
export const isSameAddress = (one, other) => one?.toLowerCase() === other?.toLowerCase()

/**
 * The address that a person wanted, if it is a page of the client and none of the ways in; otherwise the talk.
 *
 * @param {string | null | undefined} next
 * @returns {string}
 */
export function ownPath(next) {
  // Browsers drop control characters from an address and read `\` as `/`, so `/\t/elsewhere` would lead elsewhere.
  if (!next || !/^\/(?![/\\])[^\\\u0000-\u0020]*$/.test(next)) return '/'
  const { origin, pathname, search, hash } = new URL(next, location.origin)
  // `/.//elsewhere` is a path of this server, but what becomes of it is another's address.
  const isPage = !pathname.startsWith('//') && !isElsewhere(pathname) && !/^\/(sign-in|sign-up|forgotten-password|auth)(\/|$)/.test(pathname)
  return origin === location.origin && isPage ? pathname + search + hash : '/'
}

/**
 * The address of one of these pages, with the one that the person wanted.
 *
 * @param {string} path
 * @param {string | null | undefined} next
 */
export const withNext = (path, next) => (ownPath(next) === '/' ? path : `${path}?next=${encodeURIComponent(ownPath(next))}`)
