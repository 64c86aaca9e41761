// What the ways in remember from one page to the next: the e-mail address that a person typed, and the page that they wanted to open.
// The link in a mail opens another tab, so the browser keeps both from then until the log-in.

const ADDRESS = 'tidings-entry-address'
const NEXT = 'tidings-entry-next'

/** What is kept of the pages that a person may want: those of the talk. The others, such as an invitation, have tokens. */
const HAS_NO_TOKEN = /^\/(o|threads|settings)(\/|$)/

let typed = ''

/** @returns {string} */
export function rememberedAddress() {
  try {
    return typed || localStorage.getItem(ADDRESS) || ''
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
    return address && !isSameAddress(address, localStorage.getItem(ADDRESS)) ? null : localStorage.getItem(NEXT)
  } catch {
    return null
  }
}

export function forgetAddress() {
  typed = ''
  try {
    localStorage.removeItem(ADDRESS)
    localStorage.removeItem(NEXT)
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
 * The address that a person wanted, if it is a path of this server and none of the ways in; otherwise the talk.
 *
 * @param {string | null | undefined} next
 * @returns {string}
 */
export function ownPath(next) {
  // Browsers drop control characters from an address and read `\` as `/`, so `/\t/elsewhere` would lead elsewhere.
  if (!next || !/^\/(?![/\\])[^\\\u0000-\u0020]*$/.test(next)) return '/'
  const address = new URL(next, location.origin)
  if (address.origin !== location.origin || /^\/(sign-in|sign-up|forgotten-password|auth)(\/|$)/.test(address.pathname)) return '/'
  return address.pathname + address.search + address.hash
}

/**
 * The address of one of these pages, with the one that the person wanted.
 *
 * @param {string} path
 * @param {string | null | undefined} next
 */
export const withNext = (path, next) => (ownPath(next) === '/' ? path : `${path}?next=${encodeURIComponent(ownPath(next))}`)
