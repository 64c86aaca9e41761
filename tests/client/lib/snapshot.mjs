// What a store knows, as plain values that two stores can be compared by.

const pick = (from, names) => Object.fromEntries(names.split(' ').map(name => [name, from[name]]))
const by = name => (one, other) => (one[name] < other[name] ? -1 : 1)

const USER = 'id username email first_name last_name fullname phone avatar_url current_org is_verified is_onboarded'
const ORGANISATION = 'id name organisation_slug logo_url org_role role_name unread_count mention_count'
const THREAD = 'thread_id channel_id unread_count mention_count message_count last_read_id last_reply participant_count'
const PERSON = 'user_id username full_name avatar_url role role_name status'
/** Names in a message are those of its time, and what a client shows comes from the people. */
const MESSAGE = `id thread_id channel_id position user_id content mentions created_at updated_at edited current_status is_pinned
  message_count last_reply participant_count deleted_at type`.replace(/\s+/g, ' ')

const message = row => ({
  ...pick(row, MESSAGE),
  reactions: row.reactions.map(one => pick(one, 'emoji count users')),
  participants: row.participants.map(({ user_id }) => user_id),
  pinned_details: row.pinned_details && pick(row.pinned_details, 'user_id pinned_at'),
})

/** All but the talks and the people. */
export const snapshot = store => ({
  me: pick(store.me.peek(), USER),
  organisation: store.organisation.peek(),
  channels: store.channels.peek().map(channelOf).sort(by('id')),
  directMessages: store.directMessages.peek().map(channelOf).sort(by('id')),
  // After what their sums are made of: the first difference is the one that is told.
  organisations: store.organisations.peek().map(one => pick(one, ORGANISATION)).sort(by('id')),
  threads: store.threads.rows.peek().map(row => pick(row, THREAD)).sort(by('thread_id')),
  threadsUnread: store.threadsUnread.peek(),
})

/** People in a direct message, and so its title, have no order. */
const channelOf = channel => ({
  ...channel,
  title: channel.title.split(', ').sort().join(', '),
  participants: channel.participants.map(one => pick(one, 'user_id username full_name avatar_url')).sort(by('user_id')),
})

export const personOf = (store, id) => pick(store.person(id), PERSON)

/** The piece of a talk from one position to another, and where it ends. */
export const piece = (talk, from = 0, to = Infinity) => ({
  root: talk.root.peek() && { ...message(talk.root.peek()), ...pick(talk.root.peek(), 'unread_count mention_count last_read_id') },
  rows: talk.rows.peek().filter(({ position }) => position >= from && position <= to).map(message),
})

/** The first difference between two values, by its path. */
export function difference(found, expected, path = '') {
  if (Object.is(found, expected)) return null
  const isPair = [found, expected].every(one => one !== null && typeof one === 'object')
  if (!isPair || (Array.isArray(found) && found.length !== expected.length)) {
    return `${path}: ${JSON.stringify(found)} instead of ${JSON.stringify(expected)}`
  }
  for (const key of new Set([...Object.keys(found), ...Object.keys(expected)])) {
    const deeper = difference(found[key], expected[key], `${path}/${key}`)
    if (deeper) return deeper
  }
  return null
}
