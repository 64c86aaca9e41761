// The bar above a channel: its name, which opens who is in it, and the ways to all else about it.

import { t } from '../../text/words.js'
import { h, when } from '../../view/element.js'
import { icon } from '../../view/icons.js'
import { go } from '../../view/router.js'
import { address, listAddress, place } from '../addresses.js'
import { mark, muteSign, other } from './mark.js'
import { statusLine } from './status-sign.js'

/** @typedef {import('../../store/index.js').Channel} Channel */

/**
 * @param {Store} store
 * @param {string} id
 * @param {import('../../base/signal.js').Computed<Channel | null>} channel
 * @param {import('../../base/signal.js').Signal<import('./unlisted.js').Details | null>} details Of a channel that is not in the list.
 */
export function bar(store, id, channel, details) {
  const pane = (/** @type {string} */ name) => place().pane === name ? address(store, { channel: id }) : `${address(store, { channel: id })}?pane=${name}`
  const hasMembers = () => channel.value ? !channel.value.is_direct : details.value && !details.value.is_dm
  const name = () => [
    () => channel.value ? mark(channel.value) : details.value && unlistedMark(details.value),
    h('bdi', null, () => channel.value?.title ?? details.value?.name ?? ''),
  ]
  return h('header', { class: 'bar' },
    h('a', { class: 'icon-button back', href: () => listAddress(store), 'aria-label': t('talk.backToList') }, icon('back')),
    h('h1', null,
      when(hasMembers,
        () => h('button', { type: 'button', class: 'bar-title', title: t('chat.showPeople'), onclick: () => go(pane('members')) }, name()),
        () => name()),
      when(() => (channel.value ?? details.value)?.is_starred, () => h('span', { class: 'sign', role: 'img', 'aria-label': t('talk.starred'), title: t('talk.starred') }, icon('star', { filled: true }))),
      when(() => (channel.value ?? details.value)?.is_muted, muteSign)),
    h('span', { class: 'topic quiet', dir: 'auto' },
      () => statusLine(store, other(channel.value)) || (channel.value ?? details.value)?.topic || ''),
    when(hasMembers, () => h('a', { class: 'icon-button wide-only', href: () => pane('members'), 'aria-label': t('talk.showMembers'), title: t('talk.showMembers') }, icon('people'))),
    h('a', { class: 'icon-button wide-only', href: () => pane('pins'), 'aria-label': t('talk.showPins'), title: t('talk.showPins') }, icon('pin')),
    h('a', { class: 'icon-button wide-only', href: () => pane('files'), 'aria-label': t('talk.showFiles'), title: t('talk.showFiles') }, icon('file')),
    searchButton(store, id),
    h('button', {
      type: 'button', class: 'icon-button', 'aria-label': t('talk.channelMenu'), 'aria-haspopup': 'menu',
      onclick: async (/** @type {Event} */ event) => {
        const anchor = /** @type {HTMLElement} */ (event.currentTarget)
        const { openChannelMenu } = await import('./channel-menu.js')
        openChannelMenu(store, id, anchor)
      },
    }, icon('more')))
}

/** @param {import('./unlisted.js').Details} details */
const unlistedMark = ({ archived, is_private: isPrivate }) => archived
  ? h('span', { class: 'mark', role: 'img', 'aria-label': t('talk.archivedMark'), title: t('talk.archivedMark') }, icon('archive'))
  : h('span', { class: 'mark' }, icon(isPrivate ? 'lock' : 'hash'))

/** @param {Store} store @param {string} channel An id, or `threads`: beside it the search opens. */
export const searchButton = (store, channel) => h('button', {
  type: 'button', class: 'icon-button', 'aria-label': t('common.search'), title: t('common.search'),
  onclick: () => go(`${address(store, { channel })}?search=`),
}, icon('search'))
