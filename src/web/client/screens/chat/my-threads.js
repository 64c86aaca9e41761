// The threads that the person follows, latest first, with what is new in each.

import { signal } from '../../base/signal.js'
import { ago } from '../../text/dates.js'
import { t } from '../../text/words.js'
import { h, when } from '../../view/element.js'
import { icon } from '../../view/icons.js'
import { list } from '../../view/list.js'
import { say } from '../../view/toast.js'
import { wording } from '../../view/wording.js'
import { address, listAddress } from '../addresses.js'
import { face } from '../face.js'
import { author, byline } from './author.js'
import { attempt } from './deeds.js'
import { connectionLine } from './connection-line.js'
import { searchButton } from './bar.js'
import { mediaList } from './media.js'
import { moreButton } from './pane-parts.js'
import { prose } from './prose.js'
import { channelName, result } from './result.js'
import { followButton } from './thread.js'

/** @typedef {import('#api').components['schemas']['Message']} Message */
/** @typedef {Message & { unread_count: number, mention_count: number, messages: Message[] }} Thread */

/** @param {Store} store */
export function myThreads(store) {
  const { rows, state, hasMore } = store.threads
  const isEmpty = () => rows.value.length === 0
  return h('section', { class: 'column', 'aria-label': t('talk.myThreads') },
    h('header', { class: 'bar' },
      h('a', { class: 'icon-button back', href: () => listAddress(store), 'aria-label': t('talk.backToList') }, icon('back')),
      h('h1', null, icon('threads'), t('talk.myThreads')),
      searchButton(store, 'threads')),
    connectionLine(store, 'offline-narrow'),
    h('div', { class: 'pane-body', tabindex: -1 },
      when(() => isEmpty() && state.value === 'loading', () =>
        h('p', { class: 'empty quiet', role: 'status' }, t('common.loading'))),
      when(() => state.value === 'failed', () => h('div', { class: 'empty', role: 'alert' }, h('p', null, t('panes.threadsFailed')),
        h('button', { type: 'button', class: 'button', onclick: () => store.threads.load() }, t('common.retry')))),
      when(() => isEmpty() && state.value === 'current', () => h('p', { class: 'empty quiet' }, t('panes.noThreads'))),
      list(h('ol', { class: 'my-threads' }), () => rows.value, row => row.thread_id, item =>
        h('li', null, threadCard(store, /** @type {any} */ (item)))),
      when(() => hasMore.value, () => more(store))))
}

/** @param {Store} store */
function more(store) {
  const isBusy = signal(false)
  const fetch = async () => {
    isBusy.value = true
    try {
      await store.threads.more()
    } catch (error) {
      say(wording.explain(error))
    } finally {
      isBusy.value = false
    }
  }
  return moreButton(t('panes.moreThreads'), () => isBusy.value, fetch)
}

/**
 * @param {Store} store
 * @param {import('../../base/signal.js').Signal<Thread>} item
 */
function threadCard(store, item) {
  const thread = () => item.value
  const { channel_id: channel, thread_id: id } = item.peek()
  const href = () => address(store, { channel, thread: id })
  const unread = () => thread().unread_count
  // What the last replies don't show.
  const hidden = () => thread().message_count - thread().messages.length
  return h('div', { class: () => unread() > 0 ? 'thread-card unread' : 'thread-card' },
    h('p', { class: 'thread-head' }, channelName(store, channel),
      when(() => unread() > 0, () => h('span', { class: 'count' }, () => t('panes.unreadReplies', { count: unread() }))),
      followButton(store, id, () => true)),
    result(store, thread, {
      href: () => address(store, { channel, message: id }),
      below: h('div', { class: 'last-replies' },
        when(() => hidden() > 0, () => h('p', { class: 'small quiet' }, () => t('panes.earlierReplies', { count: hidden() }))),
        list(h('ul', null), () => thread().messages, each => each.id, reply => h('li', null, lastReply(store, () => reply.value))),
        h('p', { class: 'thread-foot small' },
          h('a', { href }, t('panes.openThread')),
          when(() => thread().message_count > 0, () =>
            h('span', { class: 'quiet' }, () => t('talk.lastReply', { when: ago(thread().last_reply) }))),
          when(() => unread() > 0, () =>
            h('button', { type: 'button', class: 'link-button', onclick: () => attempt(() => store.api.markThreadRead(id, {})) }, t('panes.markRead'))))),
    }))
}

/**
 * @param {Store} store
 * @param {() => Message} message
 */
const lastReply = (store, message) => h('div', { class: 'last-reply' },
  () => face(author(store, message()), { tiny: true }),
  h('div', { class: 'text' },
    byline(store, message, 'who small'),
    () => prose(store, message().content, message().mentions),
    mediaList(message)))
