// Addresses in texts: where they end, which may become links, and how people see where these lead.

const LONGEST = 2048
/** A longer label shows its address unread: labels may stand in each other, and reading compatibility forms again and again costs too much. */
const LONGEST_LABEL = 256
/** White space that people see as such. Narrower spaces are as good as nothing. */
const SPACE = /[ \t\n\r\u00a0\u3000]/
/** Signs that Markdown takes away, and those that nobody sees. */
const UNSEEN = /[*_~`\\\p{DI}\p{Cf}\ufffc]|(?![ \t\n\r\u00a0\u3000])[\s\p{Cc}]/gu
/**
 * White space and signs of ordinary writing, which stand between letters without spaces and look like no full stop. Unicode has too many
 * that do look like one to list them: whatever is neither here nor a letter or number counts as a dot.
 */
const SIGN = '\\s!-\\-/:-@[-`{-~\\p{Sc}¡§©®°±¶×÷¿‐‒–—―‘’‚‛“”„‟†‡‰′‹›«»←↑→↓↔⇒−≤≥≈՚՛՜՝՞՟֊־׳״،؛؟।॥፡、〈〉《》「」『』【】〔〕〜・'
/** A letter or number, dots, and then two letters, or one beside a digit that is neither of ASCII nor Arabic. */
const [LETTER, DIGIT, DOT] = ['[\\p{L}\\p{Nl}\\p{No}]', '(?![0-9٠-٩۰-۹])\\p{Nd}', `[^\\p{L}\\p{N}${SIGN}]`]
const LIKE_ADDRESS = new RegExp(`://|//[^.${SIGN}]|[\\p{L}\\p{N}]${DOT}+(?:${LETTER}(?:${LETTER}|${DIGIT})|${DIGIT}${LETTER})`, 'u')
const SLASH = /[⁄∕⧸╱⟋᜵⁁〳㇓𝈺⫽]/gu
/** A mark on a space looks like a sign of its own; of the tone letters of Lisu, most look like full stops, and so does a mark of music. */
const DOT_OF_ITS_OWN = /[ \u00a0\u3000]\p{M}|[\ua4f8-\ua4fd\u{1d16d}]/gu
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
 * Whether the label of a link hides where it leads: people could read it as another address. The server has the same rule for what other
 * programs post (`honest_links.rs`), and `tests/data/links.json` has examples of it.
 *
 * @param {string} label As people see it.
 * @param {string} address
 */
export function hides(label, address) {
  if (label.length > LONGEST_LABEL) return true
  if (!isLikeAddress(label)) return false
  const word = /** @type {string} */ (label.split(SPACE).pop())
  const isSame = bare(word) === bare(address) && shownAddress(address) === address
  return !isSame || isLikeAddress(label.slice(0, label.length - word.length))
}

/**
 * Whether people may take a text for an address: for its scheme, or for a dot between a letter and two more.
 *
 * @param {string} text
 */
const isLikeAddress = text => LIKE_ADDRESS.test(withoutMarks(withoutMarks(text.replace(UNSEEN, '')).normalize('NFKD'))
  .replace(SLASH, sign => sign === '⫽' ? '//' : '/')
  // A zero looks like a full stop in Arabic, unless it is in a number.
  .replace(/[٠-٩۰-۹]+/g, digits => /[^٠۰]/.test(digits) ? digits : '。'.repeat(digits.length))
  // Catalan writes "col·lecció", and three full stops are an ellipsis.
  .replace(/l·(?=l)/gi, 'l,').replace(/\.{3,}/g, ','))

/** Also before normalising, which takes the square of the length to sort a long row of marks. @param {string} text */
const withoutMarks = text => text.replace(DOT_OF_ITS_OWN, '。').replace(/\p{M}/gu, '')

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
const isPlain = host => /^\p{ASCII}*$/u.test(host) || host.toLowerCase().split('.').every(part => ONE_SCRIPT.test(part))
  && !(LATIN.test(host) && LOOKALIKE.test(host)) && host.normalize('NFKC').toLowerCase() === host.toLowerCase()
