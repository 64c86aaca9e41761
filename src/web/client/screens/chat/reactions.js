// Reactions under a message: one button each, which adds one's own or takes it back.

import { isEmojiName, reactionSign } from '../../text/emoji.js'
import { listed, number, t } from '../../text/words.js'
import { h, when } from '../../view/element.js'
import { icon } from '../../view/icons.js'
import { list } from '../../view/list.js'
import { say } from '../../view/toast.js'
import { wording } from '../../view/wording.js'
import { loadEmojiNames } from '../emoji-names.js'
import { nameOf } from '../face.js'
import { mayTakePart } from './may.js'

/**
 * @param {Store} store
 * @param {() => Message} message
 */
export function reactionBar(store, message) {
  return when(() => message().reactions.length > 0, () => {
    if (message().reactions.some(each => isEmojiName(each.emoji))) void loadEmojiNames(store).catch(() => {})
    return h('div', { class: 'under' },
      list(h('span', { class: 'reactions' }), () => message().reactions, each => each.emoji, item => reaction(store, message, item)),
      when(() => mayTakePart(store, message().channel_id), () => h('button', {
        type: 'button', class: 'reaction add', 'aria-label': t('chat.react'),
        onclick: (/** @type {Event} */ event) => pick(store, message(), event.currentTarget),
      }, icon('face'))))
  })
}

/**
 * @param {Store} store
 * @param {() => Message} message
 * @param {import('../../base/signal.js').Signal<Message['reactions'][number]>} item
 */
function reaction(store, message, item) {
  const isOwn = () => item.value.users.some(each => userId(each) === store.me.value?.user_id)
  const names = () => listed(item.value.users.slice(0, 20).map(each => nameOf(store.person(userId(each)))))
  return h('button', {
    type: 'button', class: 'reaction', 'aria-pressed': () => String(isOwn()), title: names,
    onclick: () => react(store, message(), item.peek().emoji, !isOwn()),
  },
  () => `${reactionSign(item.value.emoji)} ${number(item.value.count)}`,
  h('span', { class: 'visually-hidden' }, () => t('chat.reactionOf', { names: names() })))
}

/** @param {any} user */
const userId = user => typeof user === 'string' ? user : user.user_id ?? user.id

/**
 * @param {Store} store
 * @param {Message} message
 * @param {string} emoji
 * @param {boolean} add
 */
export async function react(store, message, emoji, add = true) {
  try {
    await store.api[add ? 'addReaction' : 'removeReaction'](message.channel_id, message.id, emoji)
  } catch (error) {
    say(wording.explain(error))
  }
}

/**
 * @param {Store} store
 * @param {Message} message
 * @param {EventTarget | null} anchor
 */
export async function pick(store, message, anchor) {
  const { pickEmoji } = await import('./emoji-picker.js')
  const emoji = await pickEmoji(store, /** @type {HTMLElement} */ (anchor))
  if (emoji) await react(store, message, emoji)
}
