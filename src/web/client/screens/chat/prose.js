// The text of a message as nodes. Of a long text the beginning alone is there until somebody opens it.

import { withoutPiles } from '../../base/marks.js'
import { signal } from '../../base/signal.js'
import { beginning } from '../../text/beginning.js'
import { emojiLabel, hasEmojiNames } from '../../text/emoji.js'
import { parse } from '../../text/markdown.js'
import { parting } from '../../text/runs.js'
import { t } from '../../text/words.js'
import { h, when } from '../../view/element.js'
import { address } from '../addresses.js'
import { loadEmojiNames } from '../emoji-names.js'
import { namesOf } from './names.js'
import { personButton } from './person-menu.js'

/** @typedef {import('../../text/markdown.js').Block} Block */
/** @typedef {import('../../text/markdown.js').Inline} Inline */

/**
 * @param {Store} store
 * @param {string} text
 * @param {readonly import('./names.js').Mention[]} mentions
 * @param {import('../../base/signal.js').Signal<boolean>} [isOpen] Whether somebody has opened it.
 * @returns {Child}
 */
export function prose(store, text, mentions, isOpen = signal(false)) {
  // Until the names are there, or if they can't be had, `:tada:` stays as it was written.
  if (hasEmojiNames(text)) void loadEmojiNames(store).catch(() => {})
  const show = (/** @type {Block[]} */ blocks) => blocks.map(each => block(store, each))
  const { blocks, isWhole } = beginning(text, namesOf(store, mentions))
  if (isWhole) return show(blocks)
  return [
    h('div', { class: () => isOpen.value ? 'long' : 'long folded' }, () => show(isOpen.value ? parse(text, namesOf(store, mentions)) : blocks)),
    when(() => !isOpen.value, () => h('button', { type: 'button', class: 'link-button small', onclick: () => { isOpen.value = true } }, t('talk.showAll'))),
  ]
}

/**
 * A block, and in which direction it runs: by its own first letters, but within a list or a quote as the whole does, since its marks
 * stand on one side.
 *
 * @param {Store} store
 * @param {Block} node
 * @param {'auto' | null} [dir]
 * @returns {Child}
 */
function block(store, node, dir = 'auto') {
  const within = (/** @type {Block} */ each) => block(store, each, null)
  switch (node.type) {
    case 'paragraph': return h('p', { dir }, inlines(store, node.children))
    case 'heading': return h('p', { dir, class: 'heading' }, h('strong', null, inlines(store, node.children)))
    case 'code': return h('pre', { dir: 'ltr', tabindex: 0, 'data-language': node.language || null }, h('code', null, node.text))
    case 'quote': return h('blockquote', { dir }, node.children.map(within))
    case 'list': return h(node.ordered ? 'ol' : 'ul', { dir, start: node.ordered ? node.start : null },
      node.items.map(item => h('li', null, item.map(within))))
    case 'rule': return h('hr')
  }
}

/**
 * @param {Store} store
 * @param {Inline[]} nodes
 * @param {ReturnType<typeof parting>} [part]
 * @returns {Child[]}
 */
const inlines = (store, nodes, part = parting()) => nodes.map(node => {
  switch (node.type) {
    case 'text': return parted(node.text, part)
    case 'strong': return h('strong', null, inlines(store, node.children, part))
    case 'emphasis': return h('em', null, inlines(store, node.children, part))
    case 'strike': return h('s', null, inlines(store, node.children, part))
    case 'code-span': return h('code', null, parted(node.text, part))
    case 'link': return link(node.address, inlines(store, node.children, part))
    case 'mention': return node.kind === 'user'
      ? personButton(store, () => store.person(node.id), 'at', '@', h('bdi', null, node.name))
      : h('span', { class: 'at' }, '@', h('bdi', null, node.name))
    case 'channel': return h('a', { href: address(store, { channel: node.id }) }, '#', h('bdi', null, node.name))
    case 'emoji': return h('span', { role: 'img', 'aria-label': emojiLabel(node.emoji) }, node.emoji)
  }
})

/**
 * A text whose long runs are parted. It is selected and copied as it was. Piles of marks go first: each part would begin with some.
 *
 * @param {string} text
 * @param {ReturnType<typeof parting>} part
 * @returns {Child[]}
 */
const parted = (text, part) => part(withoutPiles(text)).map(each => each.isApart ? h('span', null, each.breaks && h('wbr'), each.text) : each.text)

/**
 * Links of our own stay in this page; others open beside it, and are told nothing of it. What stands around a link can't turn its text
 * around.
 *
 * @param {string} to
 * @param {Child[]} children
 */
function link(to, children) {
  const isOwn = to.startsWith(`${location.origin}/`)
  return h('a', isOwn ? { href: to } : { href: to, target: '_blank', rel: 'noopener noreferrer nofollow' }, h('bdi', null, children))
}
