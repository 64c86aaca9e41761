// A text without its marks, as systems show it that know no others.

import { parse } from './markdown.js'
import { spoken } from './nodes.js'

/**
 * @typedef {import('./inline.js').Inline} Inline
 * @typedef {import('./markdown.js').Block} Block
 */

/**
 * @param {string} text
 * @param {import('./markdown.js').Names} [names]
 */
export const plain = (text, names = {}) => lines(parse(text, names))

/** @param {Block[]} blocks */
const lines = blocks => blocks.map(block).filter(line => line !== '').join('\n')

/** @param {Block} each @returns {string} */
function block(each) {
  switch (each.type) {
    case 'rule': return ''
    case 'code': return each.text
    case 'quote': return lines(each.children)
    case 'list': return each.items.map(item => `• ${lines(item)}`).join('\n')
    default: return each.children.map(inline).join('')
  }
}

/** @param {Inline} node @returns {string} */
const inline = node => 'children' in node ? node.children.map(inline).join('') : spoken(node)
