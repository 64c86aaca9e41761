// Keeps what a person reads where it is, whatever changes above or below it. A reader at the end follows the end.

import { onEnd } from '../base/signal.js'

/** Pixels from the end at which a reader still is at the end. */
const NEAR = 8

/**
 * Takes over the scrolling of an element. Rows, and what stands above and below them, may change at any time: the rows are put in
 * their place at once, so that none is seen moving, and no scroll event finds them elsewhere.
 *
 * @param {HTMLElement} scroller
 * @param {HTMLElement} content Its children are the rows.
 * @param {object} options
 * @param {() => boolean} options.isWhole Whether nothing follows the last row that is there. Otherwise its end is not the end.
 * @param {() => void} options.moved Called when other rows may be seen than before.
 */
export function keepPlace(scroller, content, { isWhole, moved }) {
  let isAtEnd = true
  /** How far it was scrolled when the rows were noted. */
  let offset = 0
  /** Rows that are seen, in part or whole, by their distance from the top. @type {{ node: Element, top: number, isWhole: boolean }[]} */
  let seen = []

  const top = (/** @type {Element} */ node) => node.getBoundingClientRect().top - scroller.getBoundingClientRect().top
  const isNearEnd = () => scroller.scrollHeight - scroller.scrollTop - scroller.clientHeight < NEAR
  const note = () => {
    const box = scroller.getBoundingClientRect()
    const rows = content.children
    offset = scroller.scrollTop
    isAtEnd = isWhole() && isNearEnd()
    seen = []
    for (let at = firstBelow(rows, box.top); at < rows.length; at += 1) {
      const { bottom, top } = rows[at].getBoundingClientRect()
      if (top >= box.bottom) break
      seen.push({ node: rows[at], top: top - box.top, isWhole: bottom < box.bottom + NEAR })
    }
    moved()
  }
  const restore = () => {
    // The reader may have scrolled since, and the event of it is yet to come.
    const scrolled = scroller.scrollTop - offset
    if (scrolled < 0 && !isNearEnd()) isAtEnd = false
    for (const each of seen) each.top -= scrolled
    const kept = isAtEnd ? undefined : seen.find(({ node }) => node.isConnected)
    if (isAtEnd) scroller.scrollTop = scroller.scrollHeight
    else if (kept) scroller.scrollTop += top(kept.node) - kept.top
    note()
    // Scrolling is in whole pixels: what that leaves must not add up.
    const same = seen.find(({ node }) => node === kept?.node)
    if (same && kept && Math.abs(same.top - kept.top) < 1) same.top = kept.top
  }
  // Scrolling of our own was noted when it was done.
  scroller.addEventListener('scroll', () => { if (scroller.scrollTop !== offset) note() }, { passive: true })
  // What changes without a change of the document: the window, the fonts, a text that is unfolded.
  const sizes = new ResizeObserver(restore)
  sizes.observe(content)
  sizes.observe(scroller)
  const changes = new MutationObserver(restore)
  changes.observe(scroller, { childList: true, subtree: true, characterData: true })
  onEnd(() => {
    sizes.disconnect()
    changes.disconnect()
  })
  return {
    isAtEnd: () => isAtEnd,
    /** The rows that are seen to their ends. */
    seen: () => seen.filter(each => each.isWhole).map(each => each.node),
    toEnd() {
      isAtEnd = true
      restore()
    },
    /**
     * @param {Element} node
     * @param {number} part Where in the window it is to stand: 0 at the top, 1 at the bottom.
     */
    show(node, part) {
      isAtEnd = false
      scroller.scrollTop += top(node) - scroller.clientHeight * part
      note()
    },
  }
}

/**
 * The index of the first row that ends below a line, by halves.
 *
 * @param {HTMLCollection} rows
 * @param {number} line
 */
function firstBelow(rows, line) {
  let [from, to] = [0, rows.length]
  while (from < to) {
    const half = (from + to) >> 1
    if (rows[half].getBoundingClientRect().bottom <= line) from = half + 1
    else to = half
  }
  return from
}
