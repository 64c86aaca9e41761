// Addresses in texts: where they end, and which may become links.

const LONGEST = 2048

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
