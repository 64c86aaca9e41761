// Who wrote a message, and how that is shown and said. Programs name themselves as they like, so that their posts are marked everywhere.

import { computed } from '../../base/signal.js'
import { t } from '../../text/words.js'
import { h, when } from '../../view/element.js'
import { name, nameOf } from '../face.js'
import { personButton } from './person-menu.js'

/** @typedef {import('../../store/index.js').Store} Store */
/** @typedef {Pick<import('#api').components['schemas']['Message'], 'user_id' | 'user_type' | 'username' | 'full_name'>} Written */

/** @param {Written} message */
const isProgram = message => message.user_type !== 'user'

/**
 * Whoever wrote a message. Members are shown with the name that they have now; programs have the one that they gave.
 *
 * @param {Store} store
 * @param {Written} message
 */
export function author(store, message) {
  if (isProgram(message) || !message.user_id) return { user_id: '', username: message.username, full_name: message.username }
  const person = store.person(message.user_id)
  return person?.username ? person : { user_id: message.user_id, username: message.username, full_name: message.full_name }
}

/**
 * The name of whoever wrote a message, which opens their menu, with the mark of programs.
 *
 * @param {Store} store
 * @param {() => Written} message
 * @param {string} [style]
 */
export function byline(store, message, style = 'who') {
  const writer = computed(() => author(store, message()))
  return [
    when(() => writer.value.user_id, () => personButton(store, () => writer.value, style, () => name(writer.value)),
      () => h('span', { class: style }, () => name(writer.value))),
    when(() => isProgram(message()), () => h('span', { class: 'tag' }, t('talk.program'))),
  ]
}

/**
 * The same for people who hear it.
 *
 * @param {Store} store
 * @param {Written} message
 */
export function authorSaid(store, message) {
  const called = nameOf(author(store, message))
  return isProgram(message) ? t('talk.programNamed', { name: called }) : called
}
