// One message: who said it, when, what, and what others did with it.

import { computed, signal } from '../../base/signal.js'
import { NEVER } from '../../store/rows.js'
import { ago, clockOf, dayAndTimeOf, fullTime, timeOf } from '../../text/dates.js'
import { t } from '../../text/words.js'
import { h, when } from '../../view/element.js'
import { icon } from '../../view/icons.js'
import { list } from '../../view/list.js'
import { longPress } from '../../view/long-press.js'
import { go } from '../../view/router.js'
import { isTouch } from '../../view/viewport.js'
import { address } from '../addresses.js'
import { face, nameOf } from '../face.js'
import { actionBar } from './actions.js'
import { author, authorSaid, byline } from './author.js'
import { editMessage, editing } from './edit.js'
import { mediaList, mediaOfPost, wordsOf } from './media.js'
import { messageTools, openMessageMenu } from './message-menu.js'
import { pendingNote } from './pending.js'
import { prose } from './prose.js'
import { reactionBar } from './reactions.js'

/**
 * @param {Store} store
 * @param {() => { message: Message, isFirst: boolean, pending?: Pending | null }} item
 * @param {{ inThread: boolean, goal: () => string | null, isAlone?: boolean, isSettled?: { value: boolean } }} options `isAlone` tells
 *   the day, which no line above does. The tools come once `isSettled`.
 */
export function messageRow(store, item, { inThread, goal, isAlone = false, isSettled = { value: true } }) {
  const message = computed(() => item().message)
  const isFirst = () => item().isFirst
  const pending = () => item().pending ?? null
  const writer = computed(() => author(store, message.value))
  const id = message.peek().id
  const openThread = inThread ? null : () => go(address(store, { channel: message.peek().channel_id, thread: message.peek().thread_id }))
  const mentions = () => isMentioned(store, message.value)
  const hasFailed = () => message.value.status === 'error'
  const isDeleted = () => message.value.deleted_at !== NEVER
  const hasTools = () => !isDeleted() && !pending()
  return h('li', { class: 'row-item' },
    h('article', {
      class: () => ['row', isFirst() && 'first', mentions() && 'called', goal() === id && 'goal', hasFailed() && 'bad', pending() && 'pending'].filter(Boolean).join(' '),
      'data-id': id,
      tabindex: -1,
      'aria-label': () => [
        mentions() && t('talk.mentionsYou'),
        hasFailed() && t('talk.failed'),
        t('talk.said', { name: authorSaid(store, message.value), text: wordsOf(message.value).slice(0, 200) }),
      ].filter(Boolean).join(', '),
      onclick: (/** @type {Event} */ event) => { if (isTouch.matches && hasTools() && isPlain(event)) openThread?.() },
      ...longPress(row => { if (hasTools()) openMessageMenu(store, message.peek(), { openThread }, row) }),
    },
    when(isFirst, () => h('span', { class: 'face-press', onclick: pressName }, () => face(writer.value)),
      () => h('time', { class: 'gutter', datetime: message.peek().created_at }, () => clockOf(message.value.created_at))),
    h('div', { class: 'said' },
      when(isFirst, () => h('p', { class: 'head' },
        byline(store, () => message.value),
        h('a', { class: 'when', href: () => address(store, { channel: message.value.channel_id, message: id }) },
          h('time', { datetime: () => message.value.created_at, title: () => fullTime(message.value.created_at) }, () => (isAlone ? dayAndTimeOf : timeOf)(message.value.created_at))))),
      when(() => message.value.is_pinned, () => h('p', { class: 'pinned small quiet' }, icon('pin'), () => pinnedBy(store, message.value))),
      when(mentions, () => h('span', { class: 'visually-hidden' }, t('talk.mentionsYou'))),
      when(hasFailed, () => h('p', { class: 'error' }, t('talk.failed'))),
      when(() => editing.value === id, () => editMessage(store, () => message.value, () => { editing.value = null }),
        () => when(isDeleted, () => h('p', { class: 'quiet' }, t('talk.deleted')), () => body(store, message))),
      mediaList(() => message.value, () => mediaOfPost(store, pending())),
      actionBar(store, () => message.value, inThread),
      reactionBar(store, () => message.value),
      pendingNote(store, pending),
      !inThread && when(() => message.value.message_count > 0, () => repliesLink(store, () => message.value))),
    when(() => isSettled.value && hasTools(), () => messageTools(store, () => message.value, { openThread }))))
}

/** Whether a press was on nothing that does something by itself, and selected nothing. @param {Event} event */
const isPlain = ({ target }) => !(/** @type {HTMLElement} */ (target).closest('a, button, summary, form, .face-press')) && getSelection()?.isCollapsed !== false

/** A face is pressed for the name beside it, which the keyboard reaches as well. @param {Event} event */
const pressName = ({ currentTarget }) => /** @type {HTMLElement | null} */ (
  /** @type {HTMLElement} */ (currentTarget).nextElementSibling?.querySelector('button.who'))?.click()

/**
 * The text is made anew only if it changes: a reaction neither folds it again nor takes away what is selected in it.
 *
 * @param {Store} store
 * @param {import('../../base/signal.js').Computed<Message>} message
 */
function body(store, message) {
  const content = computed(() => message.value.content)
  const mentions = computed(() => message.value.mentions)
  const isOpen = signal(false)
  return h('div', { class: () => message.value.edited ? 'text edited' : 'text' },
    when(() => message.value.event_name, () => h('p', { class: 'event' }, h('bdi', null, () => message.value.event_name))),
    () => prose(store, content.value, mentions.value, isOpen),
    when(() => message.value.edited, () => h('span', { class: 'quiet small edit-mark' }, t('talk.edited'))))
}

/**
 * @param {Store} store
 * @param {Message} message
 */
function pinnedBy(store, { pinned_details: pin }) {
  if (!pin) return t('talk.pinned')
  const person = store.person(pin.user_id)
  return t('talk.pinnedBy', { name: nameOf(person.username ? person : pin) })
}

/**
 * @param {Store} store
 * @param {Message} message
 */
function isMentioned(store, message) {
  const me = store.me.value?.user_id
  return message.mentions.some(each => each.id === me || each.type === 'channel') && message.user_id !== me
}

/**
 * @param {Store} store
 * @param {() => Message} message
 */
const repliesLink = (store, message) => h('a', { class: 'replies', href: () => address(store, { channel: message().channel_id, thread: message().id }) },
  list(h('span', { class: 'faces' }), () => message().participants, each => each.user_id, each => h('span', null, () => face(author(store, { ...each.value, user_type: 'user' }), { tiny: true }))),
  h('span', { class: 'number' }, () => t('talk.replies', { count: message().message_count })),
  h('span', { class: 'quiet' }, () => t('talk.lastReply', { when: ago(message().last_reply) })))
