// What people say that they do now, beside their names.

import { isEmojiName, reactionSign } from '../../text/emoji.js'
import { dayAndTimeOf } from '../../text/dates.js'
import { t } from '../../text/words.js'
import { h } from '../../view/element.js'
import { loadEmojiNames } from '../emoji-names.js'

/** @typedef {import('../face.js').Person} Person */
/** @typedef {import('../face.js').Status} Status */

/** Stands for a text without an emoji. */
const SPEECH = '💬'

/** @param {Store} store @param {Status} status */
function signOf(store, { emoji }) {
  if (isEmojiName(emoji)) void loadEmojiNames(store).catch(() => {})
  return () => reactionSign(emoji || SPEECH)
}

/** All of what somebody does, in words. @param {Status} status */
export const saidOf = ({ emoji, text, until }) => until
  ? t('chat.statusUntil', { text: text || emoji, time: dayAndTimeOf(until) })
  : text || emoji

/**
 * The emoji of what somebody does, which tells the rest to a pointer and to those who hear it.
 *
 * @param {Store} store
 * @param {Person | null | undefined} person
 */
export const statusSign = (store, person) => {
  const status = person?.custom_status
  return status && h('span', { class: 'status-sign', role: 'img', 'aria-label': saidOf(status), title: saidOf(status) }, signOf(store, status))
}

/**
 * All of what somebody does.
 *
 * @param {Store} store
 * @param {Person | null | undefined} person
 */
export const statusLine = (store, person) => {
  const status = person?.custom_status
  return status && h('span', { class: 'status-line' }, h('span', { 'aria-hidden': 'true' }, signOf(store, status)), ' ',
    status.text || status.until ? h('bdi', null, saidOf(status)) : '')
}
