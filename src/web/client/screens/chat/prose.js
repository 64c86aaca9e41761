// The text of a message as nodes. Long texts are folded until somebody opens them.

import { signal } from '../../base/signal.js'
import { emojiLabel, emojiNamed, hasEmojiNames } from '../../text/emoji.js'
import { parse } from '../../text/markdown.js'
import { resolver } from '../../text/mentions.js'
import { t } from '../../text/words.js'
import { h, when } from '../../view/element.js'
import { address } from '../addresses.js'
import { loadEmojiNames } from '../emoji-names.js'
import { personButton } from './person-menu.js'

/** @typedef {import('../../store/index.js').Store} Store */
/** @typedef {import('../../view/element.js').Child} Child */
/** @typedef {import('../../text/markdown.js').Block} Block */
/** @typedef {import('../../text/markdown.js').Inline} Inline */
/** @typedef {{ id: string, type: string, username: string }} Mention */

const LINES = 20
/** A line of the talk holds about as many signs. */
const SIGNS_A_LINE = 90

/**
 * @param {Store} store
 * @param {string} text
 * @param {readonly Mention[]} mentions
 * @param {import('../../base/signal.js').Signal<boolean>} [isOpen] Whether somebody has opened it.
 * @returns {Child}
 */
export function prose(store, text, mentions, isOpen = signal(false)) {
  // Until the names are there, or if they can't be had, `:tada:` stays as it was written.
  if (hasEmojiNames(text)) void loadEmojiNames(store).catch(() => {})
  const show = (/** @type {string} */ part) => parse(part, names(store, mentions)).map(each => block(store, each))
  if (!isLong(text)) return show(text)
  return [
    h('div', { class: () => isOpen.value ? '' : 'folded' }, show(text)),
    when(() => !isOpen.value, () => h('button', { type: 'button', class: 'link-button small', onclick: () => { isOpen.value = true } }, t('talk.showAll'))),
  ]
}

/** @param {string} text */
const isLong = text => text.length > LINES * SIGNS_A_LINE
  || text.split('\n').reduce((sum, line) => sum + Math.ceil(line.length / SIGNS_A_LINE || 1), 0) > LINES

/**
 * @param {Store} store
 * @param {readonly Mention[]} mentions
 * @returns {import('../../text/markdown.js').Names}
 */
const names = (store, mentions) => {
  const meant = resolver(mentions)
  return {
    mention: name => {
      const found = meant(name)
      return found?.kind === 'user' ? { ...found, name: store.person(found.id)?.full_name || found.name } : found
    },
    channel: name => {
      const found = store.channels.value.find(each => each.name === name)
      return found ? { id: found.id, name: found.name } : null
    },
    emoji: emojiNamed,
  }
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
 * @returns {Child[]}
 */
const inlines = (store, nodes) => nodes.map(node => {
  switch (node.type) {
    case 'text': return node.text
    case 'strong': return h('strong', null, inlines(store, node.children))
    case 'emphasis': return h('em', null, inlines(store, node.children))
    case 'strike': return h('s', null, inlines(store, node.children))
    case 'code-span': return h('code', null, node.text)
    case 'link': return link(node.address, inlines(store, node.children))
    case 'mention': return node.kind === 'user'
      ? personButton(store, () => store.person(node.id), 'at', '@', h('bdi', null, node.name))
      : h('span', { class: 'at' }, '@', h('bdi', null, node.name))
    case 'channel': return h('a', { href: address(store, { channel: node.id }) }, '#', h('bdi', null, node.name))
    case 'emoji': return h('span', { role: 'img', 'aria-label': emojiLabel(node.emoji) }, node.emoji)
  }
})

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
