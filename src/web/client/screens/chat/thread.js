// A thread beside its channel: the message, its replies, and where one writes.

import { onEnd } from '../../base/signal.js'
import { t } from '../../text/words.js'
import { h, when } from '../../view/element.js'
import { icon } from '../../view/icons.js'
import { roving } from '../../view/roving.js'
import { say } from '../../view/toast.js'
import { closeBeside, place } from '../addresses.js'
import { focusTalk } from '../focus.js'
import { connectionLine } from './connection-line.js'
import { unavailable } from './conversation.js'
import { attempt } from './deeds.js'
import { messageList } from './message-list.js'
import { messageRow } from './row.js'
import { composerOrNote, unlisted } from './unlisted.js'

/**
 * @param {Store} store
 * @param {string} channel
 * @param {string} id
 */
export function thread(store, channel, id) {
  const talk = store.thread(channel, id)
  talk.open()
  onEnd(() => talk.close())
  if (!place().message) requestAnimationFrame(() => focusTalk('.beside'))
  const root = () => talk.root.value
  const replies = messageList(store, {
    talk,
    pending: () => store.outgoing.of(channel, id).value,
    lastRead: () => talk.lastRead?.value ?? '',
    hasUnread: () => (talk.unread?.value ?? 0) > 0,
    read: last => store.readThread(id, last),
    goal: () => place().message,
    label: t('talk.thread'),
    inThread: true,
    head: () => [
      when(() => root(), () => h('ol', { class: 'rows root', ref: (/** @type {HTMLElement} */ rows) => roving(rows, '.row') },
        messageRow(store, () => ({ message: /** @type {any} */ (root()), isFirst: true }), { inThread: true, goal: () => null, isAlone: true }))),
      h('p', { class: 'day' }, () => t('talk.replies', { count: root()?.message_count ?? 0 })),
    ],
  })
  return h('section', { class: 'column', 'aria-label': t('talk.thread') },
    paneBar([h('span', null, t('talk.thread')), h('span', { class: 'quiet small' }, h('bdi', null, () => store.channel(channel)?.title ?? ''))],
      when(() => root(), () => followButton(store, id, () => root()?.is_followed === true))),
    connectionLine(store, 'offline-narrow'),
    when(() => talk.state.value === 'gone' || talk.state.value === 'failed',
      () => unavailable(talk), () => [
        replies.node,
        composerOrNote({ store, channel: () => channel, thread: () => id, label: () => t('talk.reply'), sent: replies.toNewest },
          unlisted(store, channel)),
      ]))
}

/**
 * Leaves a thread or follows it.
 *
 * @param {Store} store
 * @param {string} id
 * @param {() => boolean} isFollowed
 */
export function followButton(store, id, isFollowed) {
  const label = () => isFollowed() ? t('talk.leaveThread') : t('talk.followThread')
  const turn = async () => {
    if (isFollowed()) {
      if (await attempt(() => store.api.leaveThread(id))) say(t('talk.threadLeft'))
    } else if (await attempt(() => store.api.followThread(id))) {
      say(t('talk.threadFollowed'))
    }
  }
  return h('button', { type: 'button', class: 'icon-button', 'aria-label': label, title: label, onclick: turn },
    when(isFollowed, () => icon('bell'), () => icon('mute')))
}

/**
 * The bar of a pane beside the talk, with what closes it.
 *
 * @param {Child} title
 * @param {...Child} actions
 */
export const paneBar = (title, ...actions) => h('header', { class: 'bar' },
  h('h1', null, title),
  actions,
  h('button', { type: 'button', class: 'icon-button', 'aria-label': t('common.close'), onclick: closeBeside }, icon('close')))
