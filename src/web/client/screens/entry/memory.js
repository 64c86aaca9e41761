// What the ways in remember from one page to the next: the address that a person typed, and the one that they wanted to open.

/** The e-mail address, as typed on one of these pages. The link in a mail opens another tab, so the browser keeps it until the log-in. */
const KEY = 'tidings-entry-address'

let typed = ''

/** @returns {string} */
export function rememberedAddress() {
  try {
    return typed || localStorage.getItem(KEY) || ''
  } catch {
    return typed
  }
}

/**
 * @param {string} address
 * @param {{ forMail?: boolean }} [options] `forMail`: a mail is on its way, whose link opens another tab.
 */
export function rememberAddress(address, { forMail = false } = {}) {
  typed = address
  if (!forMail) return
  try {
    localStorage.setItem(KEY, address)
  } catch {
    // A browser that keeps nothing: the person types it again.
  }
}

export function forgetAddress() {
  typed = ''
  try {
    localStorage.removeItem(KEY)
  } catch {
    // Nothing was kept.
  }
}

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
 * @param {string | null} next
 */
export const withNext = (path, next) => (ownPath(next) === '/' ? path : `${path}?next=${encodeURIComponent(ownPath(next))}`)
