// Long runs of signs without white space, and how they are parted.

/**
 * Chromium shapes a run anew for each of its lines, so that the time grows with the square of the run's length: 5 s for 40,000 letters of
 * which each pair is kerned. Elements are shaped each for itself.
 */
const LONGEST = 250
/** What belongs to the sign before it, or to the one behind it. */
const JOINED = '[\\p{M}\\p{DI}\\p{Emoji_Modifier}\\p{RI}\\u0e33\\u0eb3\\u1160-\\u11ff]'
/** Vowels of Thai and Lao that stand before the letter that they belong to. */
const LEADING = '[\\u0e40-\\u0e44\\u0ec0-\\u0ec4]'
/**
 * A run up to a place to break it: behind a sign of writing, else between two bare letters, since a mark may join what stands around it,
 * else before a letter.
 */
const PART = new RegExp(['\\S{150,249}[\\p{P}\\p{S}](?=[\\p{L}\\p{N}])', `\\S{200,250}(?<!${JOINED}|${LEADING})(?!${JOINED})`,
  `\\S{200,250}(?<![\\u200d\\p{RI}]|${LEADING})(?!${JOINED})`, '\\S{250}'].join('|'), 'gu')
const IS_LONG = new RegExp(`\\S{${LONGEST + 1}}`)

/**
 * Writing that is broken by dictionaries, which Chromium asks of a whole run again for each line, whatever elements are in it: a break of
 * ours ends that. In other writing it would only leave lines unfilled.
 */
const BROKEN_BY_WORDS = /[\p{sc=Thai}\p{sc=Lao}\p{sc=Khmer}\p{sc=Myanmar}]/u

/**
 * Parts the texts of a line, one after the other: a run may go on from one to the next.
 *
 * @returns {(text: string) => { text: string, isApart: boolean, breaks: boolean }[]} What is apart has to be an element of its own, and
 *   before what breaks the line may.
 */
export function parting() {
  /** Signs since the last white space or part. */
  let before = 0
  return text => {
    const found = parts(text)
    const [first, last] = [/^\S*/.exec(found[0])?.[0].length ?? 0, /\S*$/.exec(found[found.length - 1])?.[0].length ?? 0]
    const isApart = before > 0 && before + first > LONGEST
    before = last + (isApart || last < text.length ? 0 : before)
    return found.map((part, index) => {
      const isPart = isApart || index > 0
      return { text: part, isApart: isPart, breaks: isPart && BROKEN_BY_WORDS.test(part) }
    })
  }
}

/** @param {string} text @returns {string[]} */
function parts(text) {
  if (!IS_LONG.test(text)) return [text]
  const found = []
  let from = 0
  for (const { 0: { length }, index } of text.matchAll(PART)) {
    found.push(text.slice(from, index + length))
    from = index + length
  }
  if (from < text.length) found.push(text.slice(from))
  return found
}
