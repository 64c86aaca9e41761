// Addresses in texts: where they end, which may become links, and how people see them.

const LONGEST = 2048
/** Signs that close something around an address, or part sentences, in writing that often puts no space there. */
export const CLOSING = '“”„»«’‘‹›״」』）】〉》〕、，；：！？…—'
const HOST = /^(https?:\/\/|mailto:[^@?]*@)([^/?#\\:]+)/i
/** Parts of a host in one script. Of the Latin one, only letters that people know from their own languages: ɑ, ı or ʟ look like others. */
const ONE_SCRIPT = new RegExp(`^(?:[a-z\\u00df-\\u00f6\\u00f8-\\u0130\\u0132-\\u0137\\u0139-\\u0148\\u014a-\\u017e\\u01a1\\u01b0\\u0219\\u021b\\u1ea1-\\u1ef9\\d_-]*|${[
  'Cyrillic', 'Greek', 'Arabic', 'Hebrew', 'Devanagari', 'Thai', 'Georgian', 'Armenian',
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
 * Mail to one person, with nothing set but the subject and the text: others to write to could stand where nobody sees them. A line break in
 * a subject may begin another field.
 */
const FIELD = '(?:body=[^&#]*|subject=(?:(?!%0[ad])[^&#])*)'
const MAIL = new RegExp(`^mailto:(?:[^@,;?#%<>"]|%2b)+@[^@,;?#%<>"]+(?:\\?${FIELD}(?:&${FIELD})*)?$`, 'i')
/**
 * Whether an address may become a link: with signs that nobody sees, or a user name, it would look like another than it is.
 *
 * @param {string} address
 */
export const isSafe = address => (/^https?:\/\/[^/]/i.test(address) || MAIL.test(address)) && URL.canParse(address)
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
const isPlain = host => /^\p{ASCII}*$/u.test(host) || host.toLowerCase().split('.').every(part => ONE_SCRIPT.test(part))
  && !(LATIN.test(host) && LOOKALIKE.test(host)) && host.normalize('NFKC').toLowerCase() === host.toLowerCase()
