// What can be done with a message: beside it while the pointer or the focus is there.

import { t } from '../../text/words.js'
import { h, when } from '../../view/element.js'
import { confirm } from '../../view/dialog.js'
import { icon } from '../../view/icons.js'
import { openMenu } from '../../view/menu.js'
import { address } from '../addresses.js'
import { focusTalk } from '../focus.js'
import { authorSaid } from './author.js'
import { attempt, copy } from './deeds.js'
import { editing } from './edit.js'
import { mayModerate, mayTakePart } from './may.js'
import { mediaOf, wordsOf } from './media.js'
import { pick } from './reactions.js'

/** Characters of a message in a reminder of it. */
const EXCERPT = 200

/**
 * @param {Store} store
 * @param {() => Message} message
 * @param {{ openThread: (() => void) | null }} options Nothing in a thread itself.
 */
export function messageTools(store, message, { openThread }) {
  return h('div', { class: 'tools' },
    when(() => mayTakePart(store, message().channel_id), () => h('button', {
      type: 'button', class: 'icon-button', 'aria-label': t('chat.react'), title: t('chat.react'),
      onclick: (/** @type {Event} */ event) => pick(store, message(), event.currentTarget),
    }, icon('face'))),
    openThread && h('button', { type: 'button', class: 'icon-button', 'aria-label': t('chat.replyInThread'), title: t('chat.replyInThread'), onclick: openThread }, icon('threads')),
    h('button', {
      type: 'button', class: 'icon-button', 'aria-label': t('chat.more'), title: t('chat.more'), 'aria-haspopup': 'menu',
      onclick: (/** @type {Event} */ event) => openMenu(/** @type {HTMLElement} */ (event.currentTarget), items(store, message())),
    }, icon('more')))
}

/**
 * The same for a finger that rests on the message: it finds no tools, for they would lie on what is above.
 *
 * @param {Store} store
 * @param {Message} message
 * @param {{ openThread: (() => void) | null }} options
 * @param {HTMLElement} row
 */
export const openMessageMenu = (store, message, { openThread }, row) => openMenu(row, [
  mayTakePart(store, message.channel_id) && { label: t('chat.react'), icon: 'face', run: () => pick(store, message, row) },
  openThread && { label: t('chat.replyInThread'), icon: 'threads', run: openThread },
  ...items(store, message),
], { label: t('chat.more') })

/**
 * @param {Store} store
 * @param {Message} message
 */
function items(store, message) {
  const isOwn = message.user_type === 'user' && message.user_id === store.me.peek()?.user_id
  const { id, channel_id: channel, thread_id: thread } = message
  const mayDelete = isOwn || mayModerate(store, channel)
  return [
    isOwn && store.channel(channel) && { label: t('common.edit'), icon: 'edit', run: () => { editing.value = id } },
    mayTakePart(store, channel) && {
      label: message.is_pinned ? t('chat.unpin') : t('chat.pin'), icon: 'pin',
      run: () => attempt(() => store.api[message.is_pinned ? 'unpinMessage' : 'pinMessage'](channel, id)),
    },
    {
      label: t('chat.markUnread'), icon: 'eye',
      run: () => attempt(() => thread === id ? store.markUnread(channel, id) : store.markThreadUnread(thread, id)),
    },
    { label: t('chat.remindMe'), icon: 'bell', run: () => remindOf(store, message) },
    { label: t('chat.copyLink'), icon: 'link', run: () => copy(new URL(address(store, { channel, thread: thread === id ? null : thread, message: id }), location.origin).href) },
    message.content !== '' && { label: t('chat.copyText'), icon: 'copy', run: () => copy(message.content) },
    ...(mayDelete ? takingOut(store, message) : []),
    mayDelete && { label: t('common.delete'), icon: 'trash', danger: true, run: () => remove(store, message) },
  ]
}

/** Its files, each by itself. One alone goes with the message. @param {Store} store @param {Message} message */
function takingOut(store, message) {
  const media = mediaOf(message)
  if (media.length === 1 && message.content === '') return []
  return media.map(({ id, file_name: name }) => ({
    label: t('chat.takeOut', { name }), icon: 'close', danger: true,
    run: async () => {
      const title = t('chat.takeOut', { name })
      if (await confirm({ title, text: t('chat.takeOutText'), action: t('common.delete'), danger: true })) await attempt(() => store.api.deleteFile(id))
    },
  }))
}

/** @param {Store} store @param {Message} message */
async function remindOf(store, message) {
  const { openReminders } = await import('./reminders.js')
  const [first] = wordsOf(message).split('\n')
  await openReminders(store, { text: t('talk.said', { name: authorSaid(store, message), text: [...first].slice(0, EXCERPT).join('') }), channel: message.channel_id })
}

/**
 * @param {Store} store
 * @param {Message} message
 */
async function remove(store, message) {
  const { id, channel_id: channel } = message
  if (await confirm({ title: t('chat.deleteTitle'), text: t('chat.deleteText'), action: t('common.delete'), danger: true })) {
    if (await attempt(() => store.api.deleteMessage(channel, id))) focusInstead(id)
  }
}

/** The focus doesn't go with a row: it moves to where one writes, or to the talk. @param {string} id */
function focusInstead(id) {
  focusTalk(document.querySelector(`[data-id="${CSS.escape(id)}"]`)?.closest('.beside') ? '.beside' : '.main')
}
