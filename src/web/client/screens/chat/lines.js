// From messages to what a list of them shows: days, the line of what is new, and which rows begin a group.

import { NEVER } from '../../store/rows.js'
import { isSameDay } from '../../text/dates.js'

/**
 * @typedef {{ key: string, kind: 'day', at: string } | { key: string, kind: 'new' }
 *   | { key: string, kind: 'message', message: Message, isFirst: boolean, pending: Pending | null }} Line
 */

const TOGETHER_MS = 5 * 60_000

/** The line that each message had last. The same one again tells its row nothing. @type {WeakMap<Message, Line & { kind: 'message' }>} */
const known = new WeakMap()

/**
 * @param {readonly Message[]} messages
 * @param {readonly Pending[]} pending Own posts that were not answered yet: they stay below all others.
 * @param {string | null} firstNew The id of the first message that is new.
 * @param {string} me
 * @returns {Line[]}
 */
export function lines(messages, pending, firstNew, me) {
  /** @type {Line[]} */
  const all = []
  /** @type {Message | undefined} */
  let before
  const waiting = new Map(pending.map(each => [each.id, each]))
  for (const message of waiting.size > 0 ? withPending(messages, waiting, me) : messages) {
    const isNewDay = !before || !isSameDay(before.created_at, message.created_at)
    if (isNewDay) all.push({ key: `day ${message.created_at.slice(0, 10)} ${message.id}`, kind: 'day', at: message.created_at })
    const isNew = message.id === firstNew
    if (isNew) all.push({ key: 'new', kind: 'new' })
    all.push(lineOf(message, isNewDay || isNew || !belongs(before, message), waiting.get(message.id) ?? null))
    before = message
  }
  return all
}

/**
 * The lines around the place at which a talk opens: the line of what is new, or the end.
 *
 * @param {Line[]} all
 * @param {number} count How many fill the window.
 */
export function atOpening(all, count) {
  const at = all.findIndex(each => each.kind === 'new')
  return at < 0 ? all.slice(-count) : all.slice(Math.max(0, at - (count >> 1)), at + count)
}

/**
 * @param {Message} message
 * @param {boolean} isFirst
 * @param {Pending | null} pending
 */
function lineOf(message, isFirst, pending) {
  const last = known.get(message)
  if (last && last.isFirst === isFirst && last.pending === pending) return last
  /** @type {Line & { kind: 'message' }} */
  const line = { key: message.id, kind: 'message', message, isFirst, pending }
  known.set(message, line)
  return line
}

/**
 * The messages, and below them the posts that wait. One that is there already waits for another text, and is shown with it.
 *
 * @param {readonly Message[]} messages
 * @param {Map<string, Pending>} waiting
 * @param {string} me
 */
function withPending(messages, waiting, me) {
  const posts = new Map(waiting)
  const shown = messages.map(message => {
    const post = posts.get(message.id)
    posts.delete(message.id)
    return post ? { ...message, content: post.text } : message
  })
  return [...shown, ...[...posts.values()].map(each => asMessage(each, me))]
}

/**
 * A post as the message that it will be, so that its row doesn't change when the answer comes.
 *
 * @param {Pending} pending
 * @param {string} me
 * @returns {Message}
 */
const asMessage = ({ id, channel, thread, text, at }, me) => /** @type {Message} */ ({
  id, channel_id: channel, thread_id: thread ?? id, content: text, created_at: new Date(at).toISOString(), user_id: me, user_type: 'user', type: 'message',
  username: '', full_name: '', mentions: /** @type {Message['mentions']} */ ([]), reactions: /** @type {Message['reactions']} */ ([]),
  actions: /** @type {Message['actions']} */ ([]), participants: /** @type {Message['participants']} */ ([]), message_count: 0, deleted_at: NEVER, status: 'success', event_name: '', edited: false,
  is_pinned: false, pinned_details: null, position: Infinity, last_reply: NEVER,
})

/**
 * Whether a message goes on where the one before ended.
 *
 * @param {Message | undefined} before
 * @param {Message} message
 */
function belongs(before, message) {
  return before?.user_type === message.user_type && before.user_id === message.user_id && (message.user_id !== '' || before.username === message.username)
    && message.type !== 'thread' && before.message_count === 0
    && Date.parse(message.created_at) - Date.parse(before.created_at) < TOGETHER_MS
}

/**
 * The first message after the last one that was read, unless the person wrote it.
 *
 * @param {readonly Message[]} messages In order.
 * @param {string} lastRead Empty if nothing was read.
 * @param {boolean} isWhole Whether no older messages are missing.
 * @param {string} me
 */
export function firstNewOf(messages, lastRead, isWhole, me) {
  const at = messages.findIndex(each => each.id === lastRead)
  if (at < 0 && (lastRead || !isWhole)) return null
  return messages.slice(at + 1).find(each => each.user_id !== me)?.id ?? null
}
