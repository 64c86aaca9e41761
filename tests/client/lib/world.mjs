// What people do at random in an organisation, by the API alone. What is refused changes nothing.
import { Refusal } from '../../../src/web/client/net/request.js'

/** How often each thing is done. */
const THINGS = {
  post: 30, reply: 14, edit: 8, erase: 6, react: 8, unreact: 4, pin: 3, unpin: 2, read: 8, unread: 3,
  readThread: 4, unreadThread: 1, status: 1,
  create: 2, join: 3, leave: 2, add: 3, expel: 2, rename: 2, archive: 1, restore: 1, star: 2, unstar: 1, direct: 2, nickname: 1,
  profile: 2, promote: 1, role: 1, organisation: 1, another: 0.3, remove: 0.5, invite: 1,
}
const WORDS = ['fog', 'buoy', 'anchor', '@ada look', '@grace @bob', '@channel all hands', 'tide', 'knot', 'pilot', 'lantern']
const EMOJI = ['tada', 'eyes', '+1']

export function createWorld({ chance, people, organisation, channel, tell }) {
  const [owner] = people
  const channels = [channel]
  const directs = new Set()
  /** Messages as { id, thread, channel, by }. */
  const messages = []
  let made = 0
  let role = null
  /** By person, the channels that they have left lately, or tried to. */
  const left = new Map(people.map(({ id }) => [id, new Set()]))
  const text = () => `${chance.pick(WORDS)} ${made += 1}`
  const recent = () => messages[messages.length - 1 - chance.below(Math.min(messages.length, 12))]
  const some = () => chance.pick([recent, () => chance.pick(messages)])()
  const other = by => chance.pick(people.filter(person => person !== by))
  /** A channel that the person is about to leave. */
  const leftBy = ({ id }) => {
    const channel = chance.pick(channels)
    left.get(id).add(channel)
    return channel
  }
  const note = (by, data) => messages.push({ id: data.id, thread: data.thread_id, channel: data.channel_id, by })

  const things = {
    async post(by) {
      note(by, (await by.api.createMessage(chance.pick(channels), { content: text() })).data)
    },
    async reply(by) {
      const { thread, channel } = some()
      note(by, (await by.api.createMessage(channel, { content: text(), thread_id: thread })).data)
    },
    edit: by => {
      const { id, channel, by: author } = some()
      return (author ?? by).api.updateMessage(channel, { message_id: id, content: text() })
    },
    erase: by => {
      const { id, channel, by: author } = some()
      return (author ?? by).api.deleteMessage(channel, id)
    },
    react: by => {
      const { id, channel } = recent()
      return by.api.addReaction(channel, id, chance.pick(EMOJI))
    },
    unreact: by => {
      const { id, channel } = recent()
      return by.api.removeReaction(channel, id, chance.pick(EMOJI))
    },
    pin: by => {
      const { id, channel } = some()
      return by.api.pinMessage(channel, id)
    },
    unpin: by => {
      const { id, channel } = some()
      return by.api.unpinMessage(channel, id)
    },
    read: by => by.api.markChannelRead(chance.pick(channels), {}),
    unread: by => {
      const { thread, channel } = some()
      return by.api.markChannelRead(channel, { unread_from: thread })
    },
    readThread: by => by.api.markThreadRead(some().thread, {}),
    unreadThread: by => {
      const { id, thread } = some()
      return by.api.markThreadRead(thread, { unread_from: id })
    },
    follow: by => by.api.followThread(some().thread),
    leaveThread: by => by.api.leaveThread(some().thread),
    status: by => {
      const { thread, channel } = some()
      return by.api.updateThread(thread, channel, { status: chance.pick(['completed', 'pending']) })
    },
    async create(by) {
      const { data } = await by.api.createChannel({
        name: `channel ${made += 1}`, organisation_id: organisation, userIds: [other(by).id], is_private: chance.below(2) === 0,
      })
      channels.push(data.id)
    },
    join: by => by.api.joinChannel(chance.pick(channels), {}),
    leave: by => by.api.leaveChannel(leftBy(by)),
    add: by => by.api.addChannelMembers(chance.pick(channels), { user_ids: [other(by).id] }),
    expel: by => {
      const guest = other(by)
      return by.api.removeChannelMember(leftBy(guest), guest.id)
    },
    rename: by => by.api.updateChannel(chance.pick(channels), { name: `channel ${made += 1}`, topic: text() }),
    archive: by => by.api.archiveChannel(chance.pick(channels), { archived: true }),
    restore: by => by.api.archiveChannel(chance.pick(channels), { archived: false }),
    star: by => by.api.starChannel(chance.pick(channels)),
    unstar: by => by.api.unstarChannel(chance.pick(channels)),
    async direct(by) {
      const all = people.filter(person => person !== by).map(({ id }) => id)
      const { data } = await by.api.openDirectMessage(organisation, { user_ids: chance.below(2) ? all : [other(by).id] })
      if (!channels.includes(data.channels_id)) channels.push(data.channels_id)
      directs.add(data.channels_id)
    },
    // Of a name in a direct message, only those hear who have it open.
    nickname: by => {
      const named = channels.filter(id => !directs.has(id))
      return by.api.updateChannelUsername(chance.pick(named), { username: `${by.name}-${made += 1}` })
    },
    profile: by => by.api.updateProfile({ first_name: chance.pick(WORDS).replace(/@/g, ''), last_name: `${made += 1}` }),
    promote: () => {
      const role_id = chance.pick(['member', 'manager', role ?? 'guest'])
      return owner.api.updateOrganisationMember(organisation, other(owner).id, { role_id })
    },
    async role() {
      const name = `role ${made += 1}`
      if (role === null) await owner.api.createRole(organisation, { name, permission_list: { 'post:messages': true } })
      else if (chance.below(2)) await owner.api.updateRole(organisation, role, { name })
      else {
        const permission_list = { 'create:channels': chance.below(2) === 0 }
        return owner.api.updateRolePermissions(organisation, role, { permission_list })
      }
      role = name
    },
    organisation: () => owner.api.updateOrganisation(organisation, { name: `Engines ${made += 1}` }),
    async another(by) {
      const { data } = await by.api.createOrganisation({ name: `Looms ${made += 1}`, email: 'looms@example.org' })
      const guest = other(by)
      const invited = await by.api.createInvitations({ org_id: data.id, emails: [`${guest.name}@example.org`] })
      await guest.join(invited.data.invitations[0].invite_token)
      const { data: own } = await by.api.listOwnChannels(data.id)
      channels.push(own[0].id)
    },
    remove: () => owner.api.removeOrganisationMember(organisation, other(owner).id),
    async invite() {
      const guest = other(owner)
      const { data } = await owner.api.createInvitations({ org_id: organisation, emails: [`${guest.name}@example.org`] })
      const token = data.invitations[0]?.invite_token
      if (token) await guest.join(token)
    },
  }

  return {
    channels,
    messages,
    left,

    /** Does one thing; answers whether it was not refused. */
    async act() {
      const by = chance.pick(people)
      const thing = messages.length === 0 ? 'post' : chance.weighed(THINGS)
      try {
        await things[thing](by)
        tell(`${by.name}: ${thing}`)
        return true
      } catch (error) {
        if (error instanceof Refusal && error.status < 500) return false
        throw error
      }
    },

    /** Everybody is a member again, so that there is something to compare. */
    async restoreMembers() {
      for (const guest of people.slice(1)) {
        const invited = owner.api.createInvitations({ org_id: organisation, emails: [`${guest.name}@example.org`] })
        const { data } = await invited.catch(() => ({ data: null }))
        const token = data?.invitations?.[0]?.invite_token
        if (token) await guest.join(token).catch(() => {})
      }
    },

    /** More publications than one recovery holds. */
    async burst(count) {
      const [channel] = channels
      await owner.api.archiveChannel(channel, { archived: false }).catch(() => {})
      await owner.api.joinChannel(channel, {}).catch(() => {})
      const { data } = await owner.api.createMessage(channel, { content: 'a burst' })
      note(owner, data)
      for (let at = 0; at < count; at += 1) {
        await owner.api[at % 2 ? 'removeReaction' : 'addReaction'](channel, data.id, 'tada')
      }
      tell(`${count} publications`)
    },
  }
}
