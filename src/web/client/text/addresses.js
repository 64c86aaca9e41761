// Addresses in texts: where they end, which may become links, and how people see where these lead.

const LONGEST = 2048
/** Signs that Markdown takes away, and those that nobody sees. */
const UNSEEN = /[*_~`\\\p{DI}]/gu
/** What people may take for an address: a scheme, or a dot between a letter and two more. */
const LIKE_ADDRESS = /:\/\/|[\p{L}\p{N}][.\u2024\u3002\uff0e\uff61]\p{L}{2}/u
const HOST = /^(https?:\/\/|mailto:[^@?]*@)([^/?#\\:]+)/i
/** Parts of a host in one script. */
const ONE_SCRIPT = new RegExp(`^(?:${[
  'Latin', 'Cyrillic', 'Greek', 'Arabic', 'Hebrew', 'Devanagari', 'Thai', 'Georgian', 'Armenian',
].map(script => `[\\p{sc=${script}}\\d_-]*`).join('|')}|[\\p{sc=Han}\\p{sc=Hiragana}\\p{sc=Katakana}\\p{sc=Hangul}ー\\d-]*)$`, 'u')
const LATIN = /\p{sc=Latin}/u
/** Letters of alphabets that have letters in common with the Latin one, as far as eyes can tell. */
const LOOKALIKE = /[\p{sc=Cyrillic}\p{sc=Greek}\p{sc=Armenian}]/u

/**
 * The address between the parentheses of a link, in which up to four others may be open: more would make it long to read many.
 *
 * @param {string} text
 * @param {number} from
 */
export function destination(text, from) {
  let open = 0
  for (let at = from; at < text.length && at - from <= LONGEST; at += 1) {
    const sign = text[at]
    if (sign === '(') open += 1
    if (sign === ')' && (open -= 1) < 0) return { address: text.slice(from, at).replace(/^<(.*)>$/, '$1'), end: at + 1 }
    if (open > 4 || /\s/.test(sign)) return null
  }
  return null
}

/**
 * Whether an address may become a link: with signs that nobody sees, or a user name, it would look like another than it is.
 *
 * @param {string} address
 */
export const isSafe = address => /^(?:https?:\/\/[^/]|mailto:.)/i.test(address) && URL.canParse(address)
  && !/\p{Cf}/u.test(address) && !/^https?:\/\/[^/?#\\]*@/i.test(address)

/**
 * A bare address without the signs that end a sentence or something around it.
 *
 * @param {string} address
 */
export function withoutEnd(address) {
  let end = address.length
  let open = 0
  for (const sign of address) open += sign === '(' ? 1 : sign === ')' ? -1 : 0
  for (; end > 0; end -= 1) {
    const sign = address[end - 1]
    if (sign === ')' && open < 0) open += 1
    else if (!/[.,;:!?'*_~]/.test(sign)) break
  }
  return address.slice(0, end)
}

/**
 * Whether the label of a link hides where it leads: people could read it as another address. The server has the same rule for what other
 * programs post (`honest_links.rs`), and `tests/data/links.json` has examples of it.
 *
 * @param {string} label As people see it.
 * @param {string} address
 */
export function hides(label, address) {
  if (!isLikeAddress(label)) return false
  const word = /** @type {string} */ (label.split(/\s/).pop())
  const isSame = bare(word) === bare(address) && shownAddress(address) === address
  return !isSame || isLikeAddress(label.slice(0, label.length - word.length))
}

/** @param {string} text */
const isLikeAddress = text => LIKE_ADDRESS.test(text.replace(UNSEEN, ''))

/** An address without its scheme. @param {string} address */
function bare(address) {
  let end = address.length
  while (address[end - 1] === '/') end -= 1
  return address.slice(0, end).replace(/^mailto:|^.*?:\/\//s, '')
}

/**
 * An address as people see it. A host that mixes scripts, or has letters that stand for others, is shown as it is looked up (punycode):
 * it could look like another one.
 *
 * @param {string} address
 */
export const shownAddress = address => address.replace(HOST, (whole, before, host) => {
  if (isPlain(host)) return whole
  try {
    return before + new URL(`https://${host}`).hostname
  } catch {
    return whole
  }
})

/** @param {string} host */
const isPlain = host => /^[\w.-]*$/.test(host) || host.split('.').every(part => ONE_SCRIPT.test(part))
  && !(LATIN.test(host) && LOOKALIKE.test(host)) && host.normalize('NFKC').toLowerCase() === host.toLowerCase()
