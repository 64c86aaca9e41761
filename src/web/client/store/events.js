// What is pushed, and what it changes: one function for each kind of publication of docs/events.md. Nothing else applies pushes.
//
// Each may be applied again: it says what something is now, and what is known as of a later position is left alone.

import { batch } from '../base/signal.js'
import { NEVER } from './rows.js'

const BUILT_IN = new Set(['admin', 'manager', 'project-lead', 'member', 'guest'])

/** @typedef {(store: import('./session.js').Parts, publication: any, position: Position, channel: string) => void} Apply */

/**
 * Changes a message wherever it is shown.
 *
 * @param {import('./session.js').Parts} store
 * @param {any} ids
 * @param {Position} position
 * @param {(row: any) => any} change
 */
const change = ({ messages, threads }, ids, position, change) => {
  for (const talk of messages.inChannel(ids.channel_id)) talk.change(ids.message_id, position, change)
  if (ids.message_id === ids.thread_id) threads.change(ids.thread_id, position, change)
}

/** A post that is deleted keeps its place for its replies, and goes with the last of them. @param {any} row */
const unlessEmpty = row => (row.deleted_at !== NEVER && row.message_count === 0 ? null : row)

/**
 * Applies the counts of a thread.
 *
 * @param {import('./session.js').Parts} store
 * @param {any} ids
 * @param {Position} position
 * @param {any} counts
 */
const recount = (store, ids, position, counts) => {
  const { message_count, last_reply, participant_count, participants } = counts
  const root = { channel_id: ids.channel_id, thread_id: ids.thread_id, message_id: ids.thread_id }
  change(store, root, position, row => unlessEmpty({ ...row, message_count, last_reply, participant_count, participants }))
}

/** @type {Apply} A new post, or on its thread's own stream a reply. */
export const posted = ({ messages }, message, position) => {
  const thread = message.id === message.thread_id ? null : message.thread_id
  messages.peek(message.channel_id, thread)?.posted(message, position)
}

/** @type {Record<string, Apply>} */
export const kinds = {
  reply_count_change: (store, { data, modification_ids: ids, update_change: counts }, position) => {
    store.messages.peek(ids.channel_id, ids.thread_id)?.posted(data, position)
    recount(store, ids, position, counts)
  },

  updated: (store, { data, modification_ids: ids }, position) => change(store, ids, position, row => ({ ...row, ...data })),

  updated_media: (store, { data, modification_ids: ids }, position) => change(store, ids, position, row => ({ ...row, ...data })),

  deleted: (store, { data, modification_ids: ids, update_change: counts }, position) => {
    const isPost = ids.message_id === ids.thread_id
    const erased = (/** @type {any} */ row) => ({ ...row, ...blank, deleted_at: data.deleted_at, ...countsOf(counts, row) })
    change(store, ids, position, row => (isPost ? unlessEmpty(erased(row)) : null))
    if (!isPost) recount(store, ids, position, counts)
  },

  status_update: (store, { data, modification_ids: ids }, position) => {
    const root = { ...ids, message_id: data.thread_id, thread_id: data.thread_id }
    change(store, root, position, row => ({ ...row, current_status: data.current_status }))
  },

  reaction_event: (store, { reactions, modification_ids: ids }, position) =>
    change(store, ids, position, row => ({ ...row, reactions })),

  pinned_message_event: (store, { pinned_details, modification_ids: ids }, position) =>
    change(store, ids, position, row => ({ ...row, is_pinned: true, pinned: true, pinned_details })),

  unpinned_message_event: (store, { modification_ids: ids }, position) =>
    change(store, ids, position, row => ({ ...row, is_pinned: false, pinned: false, pinned_details: null })),

  channel_update: (store, { data }, position) => {
    const { channels, organisations } = store
    const [id, organisation] = [data.channels_id, data.organisation_id]
    // A channel that goes takes its unread messages with it, and one that comes back brings them.
    if (!organisations.isLoaded(organisation)) return store.fetchCounts(organisation)
    if (channels.includes(id, position)) return
    const isOut = data.action === 'left' && data.user_id === store.me.peek()?.id
    if (data.action === 'deleted' || isOut || data.archived) return store.leave(id, data.action === 'deleted' || isOut)
    if (data.action === 'joined' && data.user_id === store.me.peek()?.id) store.came(id)
    if (data.action === 'renamed') channels.rename(channel => channel.id === id, data.user_id, { username: data.username })
    if (channels.peek(id)) return channels.update(id, { name: data.name, topic: data.topic, is_private: data.is_private })
    // Recovery tells the user's stream the latest change alone, and the channel's all: what one took away, either may give back.
    store.fetchChannel(id, organisation)
  },

  unread_thread_change: (store, { data }, position) => {
    const { channels, organisations } = store
    const [id, organisation] = [data.channels_id, data.organisation_id]
    if (!organisations.isLoaded(organisation)) return store.fetchCounts(organisation)
    if (channels.includes(id, position) || data.archived) return
    if (!channels.peek(id)) return store.fetchChannel(id, organisation)
    channels.update(id, {
      unread_count: data.thread_count,
      mention_count: data.mention_count,
      last_read_id: data.last_read_id,
      last_message_at: data.last_message_at,
    })
  },

  thread_unread: ({ threads, messages }, { data }, position) => {
    threads.unreadChanged(data, position)
    const { thread_id: id, unread_count, mention_count, last_read_id, is_followed } = data
    const own = { unread_count, mention_count, last_read_id, is_followed }
    messages.peek(data.channels_id, id)?.change(id, position, root => ({ ...root, ...own }))
  },

  channel_star: ({ channels }, { data }, position) => {
    if (!channels.includes(data.channels_id, position)) channels.update(data.channels_id, { is_starred: data.is_starred })
  },

  channel_mute: (store, { data }, position) => {
    const { channels, organisations } = store
    if (!organisations.isLoaded(data.organisation_id)) return store.fetchCounts(data.organisation_id)
    if (!channels.includes(data.channels_id, position)) channels.update(data.channels_id, { is_muted: data.is_muted })
  },

  // The counts are told beside it.
  channel_mention: (store, { data }) => store.people.hint(data),

  member_update: (store, { data }) => {
    const { organisations, channels, people } = store
    const isMe = data.user_id === store.me.peek()?.id
    if (data.organisation_id === organisations.opened.peek()) people.update(data)
    if (isMe && (data.action === 'removed' || data.status === 'deactivated')) return store.leaveOrganisation(data.organisation_id)
    const { organisation_id: id, full_name, avatar_url, custom_status } = data
    channels.rename(channel => channel.organisation_id === id, data.user_id, { full_name, avatar_url, custom_status })
    if (!isMe) return
    const before = organisations.summary(data.organisation_id)
    if (!before || (before.org_role === data.role && before.role_name === data.role_name)) return
    organisations.update(data.organisation_id, { org_role: data.role, role_name: data.role_name })
    // Which rights the other role has, only a list of roles or a start tells.
    store.fetchStart(data.organisation_id)
  },

  role_update: (store, { data }) => {
    const summary = store.organisations.summary(data.organisation_id)
    if (data.action === 'updated' && summary?.id === store.organisations.opened.peek()) store.people.roleChanged(data)
    // The owner has all rights, and the roles that are built in don't change.
    if (!summary || summary.role_name === 'Owner' || BUILT_IN.has(summary.org_role) || data.action !== 'updated') return
    // A role that was renamed has another key, and is known by no other name.
    if (summary.org_role !== data.key) return store.fetchStart(summary.id)
    store.organisations.update(summary.id, { role_name: data.name })
    store.organisations.updateRights(summary.id, { role_name: data.name, permissions: data.permissions.permission_list })
  },

  organisation_update: (store, { data }) => {
    if (data.action === 'deleted') return store.leaveOrganisation(data.organisation_id)
    const { name, organisation_slug, logo_url } = data
    store.organisations.update(data.organisation_id, { name, organisation_slug, logo_url })
  },

  membership_update: (store, { data }) => {
    if (data.action === 'left') store.leaveOrganisation(data.organisation_id)
    else if (!store.organisations.has(data.organisation_id)) store.refresh()
  },

  // The connection of a session that ended is closed as well, and the next request is refused.
  session_update: () => {},

  profile_update: (store, { data }) => {
    const me = store.me.peek()
    if (me) store.me.value = { ...me, ...data }
    store.people.rename(data)
  },

  reminder_update: ({ reminders }, { data }) => reminders.changed(data),

  // A recovery, or what was heard while something was fetched, may tell of one again.
  notification: ({ notified }, { data }) => notified.hear(data),

  command_answer: ({ commands }, { data }) => commands.told(data),

  // Webhooks are read where they are managed.
  webhook_update: () => {},
}

const blank = { content: '', message: '', media: [], mentions: [], reactions: [], is_pinned: false, pinned: false, pinned_details: null }

/** @param {any} counts @param {any} row */
const countsOf = (counts, row) => (counts ? { message_count: counts.message_count, last_reply: counts.last_reply,
  participant_count: counts.participant_count, participants: counts.participants } : row)

/** @type {Apply} Other programs publish what they like: what fails here harms nothing else, and is reported. */
export const apply = (store, publication, position, channel) => {
  try {
    batch(() => {
      const kind = publication?.notification_type
      if (typeof kind === 'string') Object.hasOwn(kinds, kind) && kinds[kind](store, publication, position, channel)
      else if (publication?.id && publication.thread_id && publication.channel_id) posted(store, publication, position, channel)
    })
  } catch (error) {
    queueMicrotask(() => { throw error })
  }
}
