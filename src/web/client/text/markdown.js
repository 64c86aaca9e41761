// Markdown as people know it from team chats, as plain objects: paragraphs, lists, quotes, code. Lines stay lines: texts hold `\n`,
// and are to be shown with `white-space: pre-wrap`. No text is lost: what is too deep or too much stays as it was written.

import { inline } from './inline.js'

/**
 * @typedef {import('./inline.js').Inline} Inline
 * @typedef {import('./inline.js').Budget} Budget
 * @typedef {import('./inline.js').Names} Names
 * @typedef {{ type: 'paragraph', children: Inline[] }
 *   | { type: 'heading', level: number, children: Inline[] }
 *   | { type: 'code', language: string, text: string }
 *   | { type: 'quote', children: Block[] }
 *   | { type: 'list', ordered: boolean, start: number, items: Block[][] }
 *   | { type: 'rule' }} Block
 *
 * @typedef {{ node: Block, next: number }} Found What begins at a line, and the first line behind it.
 */

const DEEPEST = 16
const MOST_NODES = 2000
/** Marks that are looked at, whether they mean something or not. */
const MOST_MARKS = 10_000

const FENCE = /^ {0,3}(`{3,}(?=[^`]*$)|~{3,})(.*)$/
const QUOTE = /^ {0,3}> ?/
const HEADING = /^ {0,3}(#{1,6}) (?=.*\S)/
/** Reads a line once: a long one of marks, with another sign at its end, is tried again at each level of a list. */
const RULE = /^ {0,3}(?:(?:- *){2}-[- ]*|(?:\* *){2}\*[* ]*|(?:_ *){2}_[_ ]*)$/
const ITEM = /^( *)([-*+•]|\d{1,9}[.)]) +(?=\S)/
/** A line of a paragraph that begins with a number seldom begins a list: "1984 was", "2. May". */
const INTERRUPTING_ITEM = /^ *(?:[-*+•]|1[.)]) +(?=\S)/

/**
 * @param {string} text
 * @param {Names} [names]
 * @returns {Block[]}
 */
export const parse = (text, names = {}) =>
  blocks(text.replace(/\r\n?/g, '\n').replaceAll('\t', '    ').split('\n'), { nodes: MOST_NODES, marks: MOST_MARKS, names }, DEEPEST)

/**
 * @param {string[]} lines
 * @param {Budget} budget
 * @param {number} deepest
 * @returns {Block[]}
 */
function blocks(lines, budget, deepest) {
  /** @type {Block[]} */
  const found = []
  for (let at = 0; at < lines.length;) {
    if (isBlank(lines[at])) at += 1
    else {
      const { node, next } = block(lines, at, budget, deepest)
      found.push(node)
      at = next
    }
  }
  return found
}

/** @param {string} line */
const isBlank = line => line.trim() === ''

/**
 * @param {string[]} lines
 * @param {number} at
 * @param {Budget} budget
 * @param {number} deepest
 * @returns {Found}
 */
function block(lines, at, budget, deepest) {
  budget.nodes -= 2
  if (deepest <= 1 || budget.nodes < 2) {
    return { node: { type: 'paragraph', children: [{ type: 'text', text: lines.slice(at).join('\n').trimEnd() }] }, next: lines.length }
  }
  const line = lines[at]
  const fence = FENCE.exec(line)
  if (fence) return code(lines, at, fence[1], fence[2].trim())
  if (QUOTE.test(line)) return quote(lines, at, budget, deepest)
  const heading = HEADING.exec(line)
  if (heading) {
    const children = inline(line.slice(heading[0].length).trim(), budget, deepest - 1)
    return { node: { type: 'heading', level: heading[1].length, children }, next: at + 1 }
  }
  if (RULE.test(line)) return { node: { type: 'rule' }, next: at + 1 }
  return ITEM.test(line) ? list(lines, at, budget, deepest) : paragraph(lines, at, budget, deepest)
}

/**
 * @param {string[]} lines
 * @param {number} at
 * @param {string} fence
 * @param {string} info
 * @returns {Found}
 */
function code(lines, at, fence, info) {
  const isLanguage = /^[\w+#.-]{0,20}$/.test(info)
  const inside = isLanguage ? [] : [info]
  let next = at + 1
  for (; next < lines.length; next += 1) {
    const line = lines[next].trimEnd()
    if (!line.endsWith(fence)) inside.push(lines[next])
    else {
      // Many end their code on its last line.
      const last = line.slice(0, line.length - fence.length)
      const isFence = new Set(last.trim()).size <= 1 && last.trim().startsWith(fence[0])
      if (last.trim() !== '' && !isFence) inside.push(last)
      next += 1
      break
    }
  }
  return { node: { type: 'code', language: isLanguage ? info.toLowerCase() : '', text: inside.join('\n') }, next }
}

/**
 * @param {string[]} lines
 * @param {number} at
 * @param {Budget} budget
 * @param {number} deepest
 * @returns {Found}
 */
function quote(lines, at, budget, deepest) {
  let next = at
  while (next < lines.length && QUOTE.test(lines[next])) next += 1
  const inside = lines.slice(at, next).map(line => line.replace(QUOTE, ''))
  return { node: { type: 'quote', children: blocks(inside, budget, deepest - 1) }, next }
}

/**
 * A list: its items begin at about the same column with the same kind of mark, and hold the lines that begin further in.
 *
 * @param {string[]} lines
 * @param {number} at
 * @param {Budget} budget
 * @param {number} deepest
 * @returns {Found}
 */
function list(lines, at, budget, deepest) {
  const [, indent, mark] = /** @type {RegExpExecArray} */ (ITEM.exec(lines[at]))
  const ordered = /\d/.test(mark)
  /** @type {Block[][]} */
  const items = []
  let next = at
  for (;;) {
    const item = next < lines.length && budget.nodes > 2 ? ITEM.exec(lines[next]) : null
    if (!item || item[1].length >= indent.length + 2 || /\d/.test(item[2]) !== ordered || RULE.test(lines[next])) break
    const inside = [lines[next].slice(item[0].length)]
    for (next += 1; next < lines.length; next += 1) {
      const text = firstText(lines, next)
      if (text < 0 || column(lines[text]) < item[1].length + 2) break
      for (; next < text; next += 1) inside.push('')
      inside.push(lines[next].slice(Math.min(column(lines[next]), item[0].length)))
    }
    budget.nodes -= 1
    items.push(blocks(inside, budget, deepest - 1))
    const text = firstText(lines, next)
    if (text > next && ITEM.test(lines[text])) next = text
  }
  return { node: { type: 'list', ordered, start: ordered ? Number.parseInt(mark, 10) : 1, items }, next }
}

/** The first line from here on that is not blank, or -1. @param {string[]} lines @param {number} from */
function firstText(lines, from) {
  let at = from
  while (at < lines.length && isBlank(lines[at])) at += 1
  return at < lines.length ? at : -1
}

/** @param {string} line */
const column = line => line.length - line.trimStart().length

/**
 * @param {string[]} lines
 * @param {number} at
 * @param {Budget} budget
 * @param {number} deepest
 * @returns {Found}
 */
function paragraph(lines, at, budget, deepest) {
  let next = at + 1
  while (next < lines.length && !isBlank(lines[next]) && !interrupts(lines[next])) next += 1
  const text = lines.slice(at, next).map(line => line.trim()).join('\n')
  return { node: { type: 'paragraph', children: inline(text, budget, deepest - 1) }, next }
}

/** @param {string} line */
const interrupts = line =>
  FENCE.test(line) || QUOTE.test(line) || HEADING.test(line) || RULE.test(line) || INTERRUPTING_ITEM.test(line)
