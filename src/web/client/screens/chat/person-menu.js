// Who a person is, and what can be done with them: at their name, wherever it stands.

import { t } from '../../text/words.js'
import { h } from '../../view/element.js'
import { openMenu } from '../../view/menu.js'
import { go } from '../../view/router.js'
import { face, mark, name, nameOf } from '../face.js'
import { attempt } from './deeds.js'
import { directMessage, show } from './opening.js'
import { saidOf, statusLine } from './status-sign.js'

/** @typedef {import('../face.js').Person} Person */

/**
 * @param {Store} store
 * @param {Person} person
 * @param {HTMLElement} anchor
 * @param {Parameters<typeof openMenu>[1]} [more] What can be done where the name stands.
 */
export function openPersonMenu(store, person, anchor, more = []) {
  const isMe = person.user_id === store.me.peek()?.user_id
  const known = person.user_id ? store.person(person.user_id) : person
  openMenu(anchor, [
    isMe && { label: t('chat.statusTitle'), icon: 'face', run: () => import('./status.js').then(it => it.openStatus(store)) },
    isMe
      ? { label: t('talk.settings'), icon: 'gear', run: () => go('/settings') }
      : { label: t('chat.writeToThem', { name: nameOf(person) }), icon: 'mail', run: () => write(store, person.user_id ?? '') },
    ...more,
  ], {
    label: [nameOf(person), `@${person.username}`, known.custom_status && saidOf(known.custom_status)].filter(Boolean).join(', '),
    head: [face(person), h('p', null,
      h('span', { class: 'who' }, name(person)), mark(person),
      h('span', { class: 'quiet small' }, h('bdi', null, `@${person.username}`)),
      statusLine(store, known))],
  })
}

/**
 * What opens the menu of a person.
 *
 * @param {Store} store
 * @param {() => Person} person
 * @param {string} className
 * @param {...import('../../view/element.js').Child} children
 */
export const personButton = (store, person, className, ...children) => h('button', {
  type: 'button', class: className, 'aria-haspopup': 'menu',
  onclick: (/** @type {Event} */ event) => openPersonMenu(store, person(), /** @type {HTMLElement} */ (event.currentTarget)),
}, children)

/** @param {Store} store @param {string} user */
const write = (store, user) => attempt(async () => show(store, await directMessage(store, [user])))
