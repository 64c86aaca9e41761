// A channel: its bar, its messages, and where one writes.

import { computed, onEnd } from '../../base/signal.js'
import { Refusal } from '../../net/request.js'
import { t } from '../../text/words.js'
import { h, when } from '../../view/element.js'
import { place } from '../addresses.js'
import { focusTalk } from '../focus.js'
import { bar } from './bar.js'
import { connectionLine } from './connection-line.js'
import { messageList } from './message-list.js'
import { composerOrNote, outside, unlisted } from './unlisted.js'

/**
 * @param {Store} store
 * @param {string} id
 */
export function conversation(store, id) {
  const talk = store.talk(id)
  talk.open()
  onEnd(() => talk.close())
  if (!place().message && !place().thread) requestAnimationFrame(() => focusTalk())
  const channel = computed(() => store.channel(id))
  const details = unlisted(store, id)
  const title = () => channel.value?.title ?? details.value?.name ?? ''
  const goal = () => place().thread ? null : place().message
  const messages = messageList(store, {
    talk,
    pending: () => store.outgoing.of(id, null).value,
    lastRead: () => channel.value?.last_read_id ?? '',
    hasUnread: () => (channel.value?.unread_count ?? 0) > 0,
    read: last => store.read(id, last),
    goal,
    label: t('talk.messages'),
    inThread: false,
    head: () => talk.state.value === 'current' && h('p', { class: 'beginning quiet' },
      talk.rows.value.length === 0 ? t('talk.empty') : title() && t(channel.value?.is_direct ? 'talk.beginningDirect' : 'talk.beginning', { name: title() })),
  })
  return h('section', { class: 'column', 'aria-label': title },
    bar(store, id, channel, details),
    connectionLine(store, 'offline-narrow'),
    when(() => talk.state.value === 'gone' || talk.state.value === 'failed',
      () => when(() => talk.state.value === 'gone' && details.value, () => outside(store, id, details), () => unavailable(talk)), () => [
        messages.node,
        composerOrNote({
          store, channel: () => id, thread: () => null, label: () => t('talk.messageTo', { name: title() }), sent: messages.toNewest,
        }, details),
      ]))
}

/**
 * What stands in the place of a talk that can't be shown.
 *
 * @param {import('../../store/index.js').Talk} talk
 */
export const unavailable = talk => h('div', { class: 'empty', role: 'alert' },
  h('p', null, () => t(talk.state.value === 'failed' ? 'talk.failedToLoad' : isDeleted(talk) ? 'talk.deleted' : 'talk.gone')),
  when(() => talk.state.value === 'failed', () => h('button', { type: 'button', class: 'button', onclick: talk.retry }, t('common.retry'))))

/** A thread ends with its first message; a channel may also be closed to the person. @param {import('../../store/index.js').Talk} talk */
const isDeleted = ({ thread, error }) => thread !== null && !(error.value instanceof Refusal && error.value.status === 403)
