// The beginning of a text, which is all that the page holds of a long one until somebody opens it: a browser lays out what can't be seen,
// too.

import { withoutPiles } from '../base/marks.js'
import { parse } from './markdown.js'
import { spoken } from './nodes.js'

/**
 * @typedef {import('./inline.js').Inline} Inline
 * @typedef {import('./markdown.js').Block} Block
 * @typedef {import('./markdown.js').Names} Names
 */

const LINES = 20
/** A line of the talk holds about as many signs. */
const SIGNS_A_LINE = 90
const MOST_SIGNS = LINES * SIGNS_A_LINE
/** A text of mentions alone would be hundreds of buttons. */
const MOST_NODES = 100
/** Signs of the source that are read. Marks and the addresses behind labels are as many again in few texts. */
const MOST_READ = 2 * MOST_SIGNS

/**
 * What fits into twenty lines, and whether that is all. A link is there as a whole, since the beginning of an address may look like
 * another one.
 *
 * @param {string} text
 * @param {Names} [names]
 * @returns {{ blocks: Block[], isWhole: boolean }}
 */
export function beginning(text, names = {}) {
  const cut = new Cut()
  const shown = withoutPiles(text)
  // Not within an address: none is longer than what is left out then.
  const read = shown.length > MOST_READ ? shown.slice(0, MOST_READ).replace(/\s(?=\S*:\/\/)\S{1,2100}$/, '') : shown
  const blocks = cut.blocks(parse(read, names))
  return { blocks, isWhole: cut.isWhole && shown.length <= MOST_READ }
}

class Cut {
  isWhole = true
  nodes = 0
  /** Where the current line begins, in signs of full lines, and how far the text has come. */
  line = 0
  at = 0

  /** Whether nothing more fits, though there is more. */
  ends() {
    if (this.at < MOST_SIGNS && this.nodes < MOST_NODES) return false
    this.isWhole = false
    return true
  }

  endLine() {
    this.line += Math.max(1, Math.ceil((this.at - this.line) / SIGNS_A_LINE)) * SIGNS_A_LINE
    this.at = this.line
  }

  /**
   * @template T
   * @param {readonly T[]} all
   * @param {(each: T) => T} keep
   */
  some(all, keep) {
    /** @type {T[]} */
    const kept = []
    for (const each of all) {
      if (this.ends()) break
      this.nodes += 1
      kept.push(keep(each))
    }
    return kept
  }

  /** @param {Block[]} all */
  blocks(all) {
    return this.some(all, each => this.block(each))
  }

  /** @param {Block} node @returns {Block} */
  block(node) {
    if (node.type === 'quote') return { ...node, children: this.blocks(node.children) }
    if (node.type === 'list') return { ...node, items: this.some(node.items, item => this.blocks(item)) }
    const kept = node.type === 'rule' ? node
      : node.type === 'code' ? { ...node, text: this.text(node.text) }
      : { ...node, children: this.inlines(node.children) }
    this.endLine()
    return kept
  }

  /** @param {Inline[]} all @returns {Inline[]} */
  inlines(all) {
    return this.some(all, each => {
      switch (each.type) {
        case 'text': case 'code-span': return { ...each, text: this.text(each.text) }
        case 'strong': case 'emphasis': case 'strike': return { ...each, children: this.inlines(each.children) }
        default:
          this.at += lengthOf(each)
          return each
      }
    })
  }

  /** @param {string} text */
  text(text) {
    for (let from = 0; ;) {
      const found = text.indexOf('\n', from)
      const end = found < 0 ? text.length : found
      if (this.at + end - from > MOST_SIGNS) return this.cut(text, from + Math.max(0, MOST_SIGNS - this.at))
      this.at += end - from
      if (found < 0) return text
      this.endLine()
      from = end + 1
      if (this.at >= MOST_SIGNS) return this.cut(text, end)
    }
  }

  /** @param {string} text @param {number} at */
  cut(text, at) {
    this.isWhole = false
    this.at = MOST_SIGNS
    const before = text.slice(0, at)
    const word = /\s\S{1,40}$/.exec(before)
    // Without a space, at least no letter without its marks.
    return word ? before.slice(0, word.index) : before.replace(/\P{M}[\p{M}\p{DI}\p{Emoji_Modifier}]*$/u, '')
  }
}

/** @param {Inline} node @returns {number} */
const lengthOf = node => 'children' in node ? node.children.reduce((sum, each) => sum + lengthOf(each), 0) : spoken(node).length
