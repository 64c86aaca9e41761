// The channels and direct messages that the user is in, of each organisation that was opened.

import { computed, signal } from '../base/signal.js'
import { includes } from './positions.js'

/** @typedef {{ user_id: string, username: string, full_name: string, avatar_url: string, custom_status?: import('./people.js').Status | null }} Participant */

/**
 * @typedef {object} Channel
 * @property {string} id
 * @property {string} organisation_id
 * @property {string} name
 * @property {string} title The name, or the names of the others in a direct message.
 * @property {string} topic
 * @property {boolean} is_private
 * @property {boolean} is_direct
 * @property {boolean} is_starred
 * @property {boolean} is_muted Its posts call only those whom they mention.
 * @property {number} unread_count Top-level posts.
 * @property {number} mention_count Also those in replies.
 * @property {string} last_read_id The newest post that was read, where others are unread; otherwise empty.
 * @property {string} last_message_at
 * @property {Participant[]} participants The others in a direct message.
 * @property {boolean} is_unread Whether it stands out in lists.
 * @property {number} call_count What is counted beside its name.
 */

/** @param {Participant} one */
const nameOf = one => one.full_name || one.username

/** @param {Omit<Channel, 'title' | 'is_unread' | 'call_count'>} channel @returns {Channel} */
const completed = channel => ({
  ...channel,
  last_read_id: channel.unread_count > 0 ? channel.last_read_id : '',
  title: channel.is_direct && channel.participants.length > 0 ? channel.participants.map(nameOf).join(', ') : channel.name,
  is_unread: channel.mention_count > 0 || (channel.unread_count > 0 && !channel.is_muted),
  call_count: channel.is_direct && !channel.is_muted ? Math.max(channel.unread_count, channel.mention_count) : channel.mention_count,
})

/**
 * @param {any} from A row of a list, or a channel by itself.
 * @param {string} organisation
 * @param {boolean} isDirect
 * @param {string} me
 */
const channelOf = (from, organisation, isDirect, me) => completed({
  id: from.id ?? from.channels_id,
  organisation_id: organisation,
  name: from.name,
  topic: from.topic ?? '',
  is_private: from.is_private ?? isDirect,
  is_direct: isDirect,
  is_starred: from.is_starred,
  is_muted: from.is_muted ?? false,
  unread_count: from.thread_count,
  mention_count: from.mention_count,
  last_read_id: from.last_read_id ?? '',
  last_message_at: from.last_message_at,
  participants: isDirect ? (from.participants ?? []).filter((/** @type {Participant} */ one) => one.user_id !== me) : [],
})

/** Names order as people expect them, numbers in them by their size. */
const byName = new Intl.Collator(undefined, { numeric: true, sensitivity: 'base' })

/**
 * @param {{ me: () => string, came: (channel: string, isNew: boolean) => void }} options `came` is told of each channel that is
 *   listed.
 */
export function createChannels({ me, came }) {
  /** @type {Map<string, { record: import('../base/signal.js').Signal<Channel>, at: Position | null }>} */
  const channels = new Map()
  /** Counts up when a channel comes or goes. */
  const comings = signal(0)
  const changed = () => void (comings.value = comings.peek() + 1)

  /** @param {any} from @param {string} organisation @param {boolean} isDirect @param {Position | null} position */
  const put = (from, organisation, isDirect, position) => {
    const channel = channelOf(from, organisation, isDirect, me())
    const known = channels.get(channel.id)
    if (known) {
      known.record.value = channel
      known.at = position
    } else {
      channels.set(channel.id, { record: signal(channel), at: position })
      changed()
    }
    came(channel.id, !known)
  }
  /** @param {string} id */
  const remove = id => {
    if (channels.delete(id)) changed()
  }
  /** @param {string} organisation @returns {Channel[]} */
  const of = organisation => {
    comings.value
    return [...channels.values()].map(({ record }) => record.value).filter(channel => channel.organisation_id === organisation)
  }

  return {
    put,
    remove,
    of,

    /** @param {string} id @returns {Channel | null} Reactive. */
    channel(id) {
      comings.value
      return channels.get(id)?.record.value ?? null
    },

    /** @param {string} id */
    peek: id => channels.get(id)?.record.peek() ?? null,

    /** Whether what is known of a channel includes an event. @param {string} id @param {Position} event */
    includes: (id, event) => includes(channels.get(id)?.at, event),

    /** @param {string} id @param {Partial<Channel>} change */
    update(id, change) {
      const record = channels.get(id)?.record
      if (record) record.value = completed({ ...record.peek(), ...change })
    },

    /**
     * All channels of an organisation, as of a position in the log.
     *
     * @param {any} start
     * @param {string} organisation
     * @param {Position | null} position
     */
    replace(start, organisation, position) {
      const listed = new Set([...start.channels, ...start.direct_messages].map(({ id }) => id))
      for (const { id } of of(organisation)) if (!listed.has(id)) remove(id)
      for (const each of start.channels) put(each, organisation, false, position)
      for (const each of start.direct_messages) put(each, organisation, true, position)
    },

    /** @param {string} organisation */
    forget(organisation) {
      for (const { id } of of(organisation)) remove(id)
    },

    /**
     * Somebody has another name, in an organisation or in one channel.
     *
     * @param {(channel: Channel) => boolean} where
     * @param {string} user
     * @param {Partial<Participant>} change
     */
    rename(where, user, change) {
      for (const { record } of channels.values()) {
        const channel = record.peek()
        if (!where(channel) || !channel.participants.some(one => one.user_id === user)) continue
        const participants = channel.participants.map(one => (one.user_id === user ? { ...one, ...change } : one))
        record.value = completed({ ...channel, participants })
      }
    },

    /** @param {() => string | null} opened The open organisation. */
    lists(opened) {
      const listed = computed(() => of(opened() ?? '').filter(channel => !channel.is_direct)
        .sort((one, other) => byName.compare(one.name, other.name)))
      return {
        channels: listed,
        /** A text may name thousands. Of channels with the same name it means the first. */
        channelsByName: computed(() => new Map([...listed.value].reverse().map(channel => [channel.name, channel]))),
        directMessages: computed(() => of(opened() ?? '').filter(channel => channel.is_direct)
          .sort((one, other) => (one.last_message_at < other.last_message_at ? 1 : -1))),
      }
    },
  }
}
