// Keeps what a person reads where it is, whatever changes above or below it. A reader at the end follows the end.

import { onEnd } from '../base/signal.js'

/** Pixels from the end at which a reader still is at the end. */
const NEAR = 8

/**
 * Takes over the scrolling of an element with one child, whose own children are the rows. Heights may change at any time: the
 * browser tells of it before it paints, so that no row is seen moving.
 *
 * @param {HTMLElement} scroller
 * @param {HTMLElement} content
 * @param {object} options
 * @param {() => boolean} options.isWhole Whether nothing follows the last row that is there. Otherwise its end is not the end.
 * @param {() => void} options.moved Called when other rows may be seen than before.
 */
export function keepPlace(scroller, content, { isWhole, moved }) {
  let isAtEnd = true
  /** Rows that are seen, in part or whole, by their distance from the top. @type {{ node: Element, top: number, isWhole: boolean }[]} */
  let seen = []

  const top = (/** @type {Element} */ node) => node.getBoundingClientRect().top - scroller.getBoundingClientRect().top
  const note = () => {
    const box = scroller.getBoundingClientRect()
    isAtEnd = isWhole() && scroller.scrollHeight - scroller.scrollTop - scroller.clientHeight < NEAR
    seen = []
    for (const node of content.children) {
      const { bottom, top: above } = node.getBoundingClientRect()
      if (bottom <= box.top) continue
      if (above >= box.bottom) break
      seen.push({ node, top: above - box.top, isWhole: bottom < box.bottom + NEAR })
    }
    moved()
  }
  const restore = () => {
    if (isAtEnd) scroller.scrollTop = scroller.scrollHeight
    else {
      const kept = seen.find(({ node }) => node.isConnected)
      if (kept) scroller.scrollTop += top(kept.node) - kept.top
    }
    note()
  }
  scroller.addEventListener('scroll', note, { passive: true })
  const observer = new ResizeObserver(restore)
  observer.observe(content)
  observer.observe(scroller)
  onEnd(() => observer.disconnect())
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
