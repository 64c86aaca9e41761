// The marks within a line of Markdown: bold and italic, code, links, names. One pass over the text, whose cost grows with its length
// and not with what is in it.

import { CLOSING, destination, isSafe, shownAddress, withoutEnd } from './addresses.js'
import { honest } from './labels.js'
import { Nodes, isEmpty, joined, unlinked } from './nodes.js'

/**
 * @typedef {{ type: 'text', text: string }
 *   | { type: 'strong' | 'emphasis' | 'strike', children: Inline[] }
 *   | { type: 'code-span', text: string }
 *   | { type: 'link', address: string, children: Inline[] }
 *   | { type: 'mention', kind: 'user' | 'channel', id: string, name: string }
 *   | { type: 'channel', id: string, name: string }
 *   | { type: 'emoji', emoji: string, name: string }} Inline
 *
 * @typedef {object} Names What the names in a text mean; whoever is not known stays text.
 * @property {(name: string) => { kind: 'user' | 'channel', id: string, name: string } | null} [mention]
 * @property {(name: string) => { id: string, name: string } | null} [channel]
 * @property {(name: string) => string | null} [emoji]
 *
 * @typedef {{ nodes: number, marks: number, names: Names }} Budget How many nodes may still be made, and marks looked at.
 *
 * @typedef {import('./nodes.js').Opener} Opener
 */

/** Longer runs of a mark are drawings or hidden words. */
const LONGEST_RUN = 6
const SPECIAL = /[\\`*_~<@#:\]]|!?\[|https?:\/\//gi
/** A full stop of Chinese or Japanese ends an address where letters of these follow. */
const BARE = new RegExp(`https?:\\/\\/(?:[^\\s<>"\`[\\]\\\\。${CLOSING}]|。(?![\\p{sc=Han}\\p{sc=Hiragana}\\p{sc=Katakana}])){1,2048}`, 'iuy')
const PUNCTUATION = /[\p{P}\p{S}]/u
const LETTER = /[\p{L}\p{N}]/u

/**
 * @param {string} text
 * @param {Budget} budget
 * @param {number} deepest How deep what it makes may be nested; with 0 it stays text.
 * @returns {Inline[]}
 */
export const inline = (text, budget, deepest) =>
  deepest < 1 || budget.nodes < 2 ? [{ type: 'text', text }] : new Scan(text, budget, deepest).run()

class Scan extends Nodes {
  at = 0
  /** @type {Opener[]} */
  brackets = []
  /** Where runs of backticks begin, by their length. @type {Map<number, number[]> | null} */
  ticks = null

  /** @param {string} text @param {Budget} budget @param {number} deepest */
  constructor(text, budget, deepest) {
    super(budget, deepest)
    this.text = text
  }

  run() {
    const { text } = this
    for (; this.at < text.length && this.budget.nodes > 1 && this.budget.marks > 0; this.budget.marks -= 1) {
      SPECIAL.lastIndex = this.at
      const found = SPECIAL.exec(text)
      if (!found) break
      this.literal(text.slice(this.at, found.index))
      this.at = found.index
      if (!this.mark(found[0])) this.skip(found[0].length)
    }
    this.literal(text.slice(this.at))
    return honest(joined(this.nodes))
  }

  /** @param {string} sign @returns {boolean} Whether it was one, and is passed. */
  mark(sign) {
    switch (sign) {
      case '\\': return this.escape()
      case '`': return this.code()
      case '*': case '_': case '~': return this.delimiter(sign)
      case '[': case '![': return this.bracket(sign)
      case ']': return this.link()
      case '<': return this.angle()
      case '@': return this.mention()
      case '#': return this.channel()
      case ':': return this.emoji()
      default: return this.address()
    }
  }

  /** @param {number} length */
  skip(length) {
    this.literal(this.text.slice(this.at, this.at + length))
    this.at += length
  }

  /** @param {RegExp} pattern Sticky. */
  match(pattern) {
    pattern.lastIndex = this.at
    return pattern.exec(this.text)
  }

  afterLetter() {
    return this.at > 0 && LETTER.test(this.text[this.at - 1])
  }

  escape() {
    const next = this.text[this.at + 1] ?? ''
    if (!/[!-/:-@[-`{-~]/.test(next)) return false
    this.literal(next)
    this.at += 2
    return true
  }

  code() {
    const run = /** @type {RegExpExecArray} */ (this.match(/`+/y))[0].length
    this.ticks ??= runs(this.text)
    const closers = this.ticks.get(run) ?? []
    while (closers.length > 0 && closers[closers.length - 1] < this.at + run) closers.pop()
    const end = closers.pop()
    if (end === undefined) {
      this.skip(run)
      return true
    }
    const text = this.text.slice(this.at + run, end)
    const isPadded = text.startsWith(' ') && text.endsWith(' ') && text.trim() !== ''
    this.at = end + run
    return this.push({ type: 'code-span', text: isPadded ? text.slice(1, -1) : text })
  }

  /** @param {'*' | '_' | '~'} sign */
  delimiter(sign) {
    const { text, at } = this
    let end = at + 1
    while (text[end] === sign) end += 1
    const count = end - at
    const [before, after] = [text[at - 1] ?? ' ', text[end] ?? ' ']
    if (count > LONGEST_RUN || (sign === '~' && count !== 2)) {
      this.skip(count)
      return true
    }
    const opens = !/\s/.test(after) && (!PUNCTUATION.test(after) || /\s/.test(before) || PUNCTUATION.test(before))
    const closes = !/\s/.test(before) && (!PUNCTUATION.test(before) || /\s/.test(after) || PUNCTUATION.test(after))
    // Names_of_this_kind and 2*3*4 are no marks.
    const isWithin = opens && closes && (sign === '_' || (sign === '*' && count === 1))
    const left = closes && (!isWithin || PUNCTUATION.test(after)) ? this.close(sign, count) : count
    this.at = end
    if (left === 0) return true
    const node = this.nodes.length
    this.literal(sign.repeat(left))
    if (opens && (!isWithin || PUNCTUATION.test(before))) this.remember({ sign, at: node, count: left })
    return true
  }

  /** @param {'[' | '!['} sign */
  bracket(sign) {
    this.brackets.push(this.remember({ sign: '[', at: this.nodes.length, count: 1 }))
    this.skip(sign.length)
    return true
  }

  link() {
    let opener = this.brackets.pop()
    while (opener?.gone) opener = this.brackets.pop()
    const target = opener && this.text[this.at + 1] === '(' ? destination(this.text, this.at + 2) : null
    if (!opener || !target || !isSafe(target.address)) return false
    while (!opener.gone) this.drop()
    if (isEmpty(this.nodes.slice(opener.at + 1))) this.literal(shownAddress(target.address))
    if (!this.wrap(opener.at + 1, children => ({ type: 'link', address: target.address, children: children.flatMap(unlinked) }))) return false
    this.nodes[opener.at] = { type: 'text', text: '' }
    this.at = target.end
    return true
  }

  angle() {
    const found = this.match(/<((?:https?:\/\/|mailto:)[^\s<>]{1,2048})>/iy)
    if (!found || !isSafe(found[1])) return false
    this.at += found[0].length
    return this.push({ type: 'link', address: found[1], children: [{ type: 'text', text: shownAddress(found[1]).replace(/^mailto:/i, '') }] })
  }

  address() {
    const found = this.afterLetter() ? null : this.match(BARE)
    const address = found && withoutEnd(found[0])
    if (!address || !isSafe(address)) {
      // What begins within it is read again.
      this.budget.marks -= (found?.[0].length ?? 0) >> 4
      return false
    }
    this.at += address.length
    return this.push({ type: 'link', address, children: [{ type: 'text', text: shownAddress(address) }] })
  }

  mention() {
    const name = this.afterLetter() ? null : this.match(/@[\w.-]{1,65}/y)?.[0].slice(1)
    if (!name || name.length > 64) return false
    // "@ada." at the end of a sentence means ada, unless somebody is called "ada.": as the server reads it.
    for (const each of new Set([name, name.replace(/[._-]{1,64}$/, '')])) {
      const who = each ? this.budget.names.mention?.(each) : null
      if (!who) continue
      this.at += 1 + each.length
      return this.push({ type: 'mention', ...who })
    }
    return false
  }

  channel() {
    const name = this.afterLetter() ? null : this.match(/#[\p{L}\p{N}_-]{1,80}/uy)?.[0].slice(1)
    const found = name ? this.budget.names.channel?.(name) : null
    if (!name || !found) return false
    this.at += 1 + name.length
    return this.push({ type: 'channel', ...found })
  }

  emoji() {
    const name = this.match(/:([a-z0-9_+-]{1,60}):/y)?.[1]
    const emoji = name ? this.budget.names.emoji?.(name) : null
    if (!name || !emoji) return false
    this.at += name.length + 2
    return this.push({ type: 'emoji', emoji, name })
  }
}

/** @param {string} text */
function runs(text) {
  /** @type {Map<number, number[]>} */
  const found = new Map()
  for (const { 0: { length }, index } of text.matchAll(/`+/g)) {
    const same = found.get(length)
    if (same) same.push(index)
    else found.set(length, [index])
  }
  for (const each of found.values()) each.reverse()
  return found
}
