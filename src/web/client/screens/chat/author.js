// Who wrote a message, and how that is shown and said. What webhooks post has any name, so that it is marked everywhere, and so are bots.

import { computed } from '../../base/signal.js'
import { t } from '../../text/words.js'
import { h, when } from '../../view/element.js'
import { name, nameOf } from '../face.js'
import { personButton } from './person-menu.js'
import { statusSign } from './status-sign.js'

/** @typedef {Pick<import('#api').components['schemas']['Message'], 'user_id' | 'user_type' | 'username' | 'full_name'>} Written */

/** @param {Written} message */
const isFed = message => message.user_type === 'webhook'

/**
 * Whoever wrote a message. Members are shown with the name that they have now; what a webhook posts has the name that it gave.
 *
 * @param {Store} store
 * @param {Written} message
 */
export function author(store, message) {
  if (isFed(message) || !message.user_id) return { user_id: '', username: message.username, full_name: message.username, user_type: message.user_type }
  const person = store.person(message.user_id)
  return person?.username ? person : { ...message, user_id: message.user_id }
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
    () => statusSign(store, writer.value),
    when(() => message().user_type !== 'user', () => h('span', { class: 'tag' }, isFed(message()) ? t('talk.program') : t('common.bot'))),
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
  if (message.user_type === 'user') return called
  return isFed(message) ? t('talk.programNamed', { name: called }) : t('talk.botNamed', { name: called })
}
