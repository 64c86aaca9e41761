// Labels of links: none is read as another address than the one its link leads to. The server has the same rule for single labels of what
// other programs post (`honest_links.rs`), and `tests/data/links.json` has examples of it.

import { withoutPiles } from '../base/marks.js'
import { CLOSING, shownAddress } from './addresses.js'
import { joined, spoken } from './nodes.js'

/**
 * @typedef {import('./inline.js').Inline} Inline
 * @typedef {Extract<Inline, { type: 'link' }>} Link
 * @typedef {{ link: Link, from: number, to: number }} Span Of a label in the text.
 * @typedef {{ from: number, to: number, isLike: boolean | null }} Word Without white space. Whether it is like an address, once that was asked.
 */

/** A longer label shows its address unread. */
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
const CJK = '[\\p{sc=Han}\\p{sc=Hiragana}\\p{sc=Katakana}\\p{sc=Hangul}]'
/**
 * What parts a label from the words beside it: white space, signs that stand in no address, and what ends a sentence in writing that has
 * no spaces.
 */
const BETWEEN = new RegExp(`[ \\t\\n\\r\\u00a0\\u3000"<>{}|^[\\]${CLOSING}]+|[。\\p{Emoji_Presentation}](?<=${CJK}.)[。\\p{Emoji_Presentation}]*(?=${CJK})`, 'gu')
/** What ends a sentence behind an address, where the next one begins without a space. */
const NEXT_SENTENCE = new RegExp(`^。(?=${CJK}).*`, 'su')
/** They put what is read apart beside each other. */
const DIRECTION = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/
const SCHEME = /^https?:\/\//i
const WORD = /[\p{L}\p{N}]/u

/**
 * The nodes of a line, in which each address is shown beside the label that hides it. A label is read together with what touches it:
 * text, code and labels of other links.
 *
 * @param {Inline[]} nodes
 * @returns {Inline[]}
 */
export function honest(nodes) {
  /** @type {string[]} */
  const texts = []
  /** @type {Span[]} */
  const spans = []
  collect(nodes, texts, spans, 0)
  if (spans.length === 0) return nodes
  const text = texts.join('')
  if (DIRECTION.test(text)) return withAddresses(nodes, new Set(spans.filter(span => !isShownBy(text, span)).map(({ link }) => link)))
  const words = wordsOf(text)
  const hiding = new Set(spans.filter(span => isHiding(text, words, span)).map(({ link }) => link))
  return hiding.size > 0 ? withAddresses(nodes, hiding) : nodes
}

/**
 * Collects the texts of nodes, and where labels stand in them.
 *
 * @param {Inline[]} nodes
 * @param {string[]} texts
 * @param {Span[]} spans
 * @param {number} from
 * @returns {number} Where the next text begins.
 */
function collect(nodes, texts, spans, from) {
  let to = from
  for (const node of nodes) {
    const start = to
    if ('children' in node) to = collect(node.children, texts, spans, start)
    else {
      const text = withoutPiles(spoken(node))
      texts.push(text)
      to += text.length
    }
    if (node.type === 'link') spans.push({ link: node, from: start, to })
  }
  return to
}

/** @param {string} text */
function wordsOf(text) {
  /** @type {Word[]} */
  const words = []
  let from = 0
  BETWEEN.lastIndex = 0
  for (let found = BETWEEN.exec(text); found; found = BETWEEN.exec(text)) {
    if (found.index > from) words.push({ from, to: found.index, isLike: null })
    from = BETWEEN.lastIndex
  }
  if (from < text.length) words.push({ from, to: text.length, isLike: null })
  return words
}

/**
 * @param {string} text
 * @param {Word[]} words
 * @param {Span} span
 */
function isHiding(text, words, { link, from, to }) {
  const { address } = link
  // Each word is read once, however many labels are in it.
  const isLike = (/** @type {Word} */ word) => word.isLike ??= isLikeAddress(text.slice(word.from, word.to))
  const label = text.slice(from, to)
  const isShown = isShownBy(text, { link, from, to })
  if (!isShown && hides(label, address)) return true
  const [first, last] = [wordAt(words, from), wordAt(words, to - 1)]
  const isOneWord = first === last
  if (!isOneWord && first && first.from < from && isLike(first)) return true
  if (!last || (last.to === to && (!isOneWord || last.from === from)) || !isLike(last)) return false
  const own = text.slice(Math.max(from, last.from), to)
  const [before, after] = [text.slice(last.from, Math.max(from, last.from)), text.slice(to, last.to)]
  const isOwn = isShown || isSame(own, address)
  if (!isOwn) return true
  // Signs around an address say nothing else. One with a scheme shows where it begins, unless it is part of another one.
  if (!SCHEME.test(own)) return WORD.test(before) || WORD.test(after)
  return isLikeAddress(before.slice(-LONGEST_LABEL)) || WORD.test(after.replace(NEXT_SENTENCE, ''))
}

/** Whether a label is its address, as people see that. @param {string} text @param {Span} span */
function isShownBy(text, { link: { address }, from, to }) {
  const [label, shown] = [text.slice(from, to), shownAddress(address)]
  return label === shown || label === shown.replace(/^mailto:/i, '')
}

/** The word in which a sign of the text stands. @param {Word[]} words @param {number} at */
function wordAt(words, at) {
  let [low, high] = [0, words.length]
  while (low < high) {
    const half = (low + high) >> 1
    if (words[half].to <= at) low = half + 1
    else high = half
  }
  return words[low]?.from <= at ? words[low] : undefined
}

/** @param {Inline[]} nodes @param {Set<Inline>} hiding @returns {Inline[]} */
const withAddresses = (nodes, hiding) => joined(nodes.flatMap(node => {
  if (!('children' in node)) return [node]
  if (node.type !== 'link') return [{ ...node, children: withAddresses(node.children, hiding) }]
  if (!hiding.has(node)) return [node]
  const address = { ...node, children: [text(shownAddress(node.address))] }
  return [...node.children, text(' ('), address, text(')')]
}))

/** @param {string} text @returns {Inline} */
const text = text => ({ type: 'text', text })

/**
 * Whether a label hides where it leads: people could read it as another address.
 *
 * @param {string} label As people see it.
 * @param {string} address
 */
export function hides(label, address) {
  if (label.length > LONGEST_LABEL) return true
  if (!isLikeAddress(label)) return false
  const word = /** @type {string} */ (label.split(SPACE).pop())
  return !isSame(word, address) || isLikeAddress(label.slice(0, label.length - word.length))
}

/** Whether a label says the address, perhaps without the scheme. @param {string} label @param {string} address */
const isSame = (label, address) => [address, address.replace(/^(?:https?:\/\/|mailto:)/i, '')].some(each => withoutSlashes(each) === withoutSlashes(label))
  && shownAddress(address) === address

/**
 * Whether people may take a text for an address: for its scheme, or for a dot between a letter and two more.
 *
 * @param {string} text
 */
const isLikeAddress = text => LIKE_ADDRESS.test(withoutMarks(withoutMarks(text.replace(UNSEEN, '').replaceAll('´', "'")).normalize('NFKD'))
  .replace(SLASH, sign => sign === '⫽' ? '//' : '/')
  // A zero looks like a full stop in Arabic, unless it is in a number.
  .replace(/[٠-٩۰-۹]+/g, digits => /[^٠۰]/.test(digits) ? digits : '。'.repeat(digits.length))
  // Catalan writes "col·lecció", and three full stops are an ellipsis.
  .replace(/l·(?=l)/gi, 'l,').replace(/\.{3,}/g, ','))

/** Also before normalising, which takes the square of the length to sort a long row of marks. @param {string} text */
const withoutMarks = text => text.replace(DOT_OF_ITS_OWN, '。').replace(/\p{M}/gu, '')

/** @param {string} address */
function withoutSlashes(address) {
  let end = address.length
  while (address[end - 1] === '/') end -= 1
  return address.slice(0, end)
}
