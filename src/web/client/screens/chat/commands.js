// What begins with a slash: the client's own commands, and those of the organisation, whose programs answer.

import { t } from '../../text/words.js'

/** @typedef {{ channel: string, thread: string | null, text: string }} Call */
/** @typedef {{ name: string, hint: string, about: string }} Offered */

/**
 * What a command does. It may answer the person; `null` says that it could do nothing with what follows its name.
 *
 * @typedef {object} Own
 * @property {string} name
 * @property {() => string} hint
 * @property {() => string} about
 * @property {boolean} [isOfChannels] Whether it means nothing in a direct message.
 * @property {(store: Store, call: Call) => Promise<string | null | void> | string | null | void} run
 */

/** @param {Store} store @param {Call} call @param {string} text */
const post = (store, { channel, thread }, text) => { store.outgoing.post({ channel, thread, text }) }

const menu = () => import('./channel-menu.js')

/** @type {Own[]} */
const OWN = [
  {
    name: 'me', hint: () => t('chat.commandMeHint'), about: () => t('chat.commandMe'),
    run: (store, call) => call.text ? post(store, call, `_${call.text}_`) : null,
  },
  {
    name: 'shrug', hint: () => t('chat.commandShrugHint'), about: () => t('chat.commandShrug'),
    run: (store, call) => post(store, call, `${call.text} ¯\\\\\\_(ツ)\\_/¯`.trim()),
  },
  {
    name: 'topic', hint: () => t('chat.commandTopicHint'), about: () => t('chat.commandTopic'), isOfChannels: true,
    run: async (store, { channel, text }) => {
      await store.api.updateChannel(channel, { topic: text })
      return t('chat.commandTopicDone')
    },
  },
  {
    name: 'invite', hint: () => t('chat.commandInviteHint'), about: () => t('chat.commandInvite'), isOfChannels: true, run: invite,
  },
  {
    name: 'mute', hint: () => '', about: () => t('chat.commandMute'),
    run: async (store, { channel, text }) => {
      if (text) return null
      const isMuted = store.channel(channel)?.is_muted ?? false
      await (isMuted ? store.api.unmuteChannel(channel) : store.api.muteChannel(channel))
      return isMuted ? t('chat.commandUnmuted') : t('chat.commandMuted')
    },
  },
  {
    name: 'status', hint: () => t('chat.commandStatusHint'), about: () => t('chat.commandStatus'),
    run: async (store, { text }) => {
      const { openStatus, sayStatus } = await import('./status.js')
      return text ? sayStatus(store, text === 'clear' ? '' : text) : openStatus(store)
    },
  },
  {
    name: 'remind', hint: () => t('chat.commandRemindHint'), about: () => t('chat.commandRemind'),
    run: async (store, { channel, text }) => {
      const { openReminders, remind } = await import('./reminders.js')
      return text ? remind(store, channel, text) : openReminders(store, { channel })
    },
  },
  {
    name: 'leave', hint: () => '', about: () => t('chat.commandLeave'), isOfChannels: true,
    run: async (store, { channel }) => (await menu()).leave(store, channel, store.channel(channel)?.name ?? ''),
  },
  {
    name: 'archive', hint: () => '', about: () => t('chat.commandArchive'), isOfChannels: true,
    run: async (store, { channel }) => (await menu()).archive(store, { id: channel, name: store.channel(channel)?.name ?? '' }),
  },
  {
    name: 'help', hint: () => '', about: () => t('chat.commandHelp'),
    run: async (store, { channel }) => {
      const lines = [...own(store, channel), ...await ofOrganisation(store).catch(() => [])]
      return lines.map(({ name, hint, about }) => `- **/${name}** ${hint} – ${about}`).join('\n')
    },
  },
]

/** @param {Store} store @param {Call} call */
async function invite(store, { channel, text }) {
  const names = text.split(/[\s,]+/).map(name => name.replace(/^@/, '')).filter(Boolean)
  if (names.length === 0) return null
  const found = await Promise.all(names.map(async name =>
    (await store.findPeople(name)).find(each => each.username.toLowerCase() === name.toLowerCase())))
  const missing = names.filter((_, index) => !found[index])
  if (missing.length > 0) return t('chat.commandNobody', { name: missing.join(', ') })
  await store.api.addChannelMembers(channel, { user_ids: found.map(each => each?.user_id ?? '') })
  return t('chat.commandInvited', { count: found.length })
}

/** Those of the client that can be called there. @param {Store} store @param {string} channel @returns {Offered[]} */
export const own = (store, channel) => OWN.filter(each => !each.isOfChannels || !store.channel(channel)?.is_direct)
  .map(({ name, hint, about }) => ({ name, hint: hint(), about: about() }))

/** Those that the organisation has made. @param {Store} store @returns {Promise<Offered[]>} */
export const ofOrganisation = async store =>
  (await store.commands.list()).map(({ name, hint, description }) => ({ name, hint, about: description }))

/**
 * Calls a command. Its answer for the person alone stands where it was called.
 *
 * @param {Store} store
 * @param {{ name: string, text: string }} command
 * @param {{ channel: string, thread: string | null }} talk
 */
export async function run(store, { name, text }, { channel, thread }) {
  const tell = (/** @type {string} */ answer) => store.commands.tell(thread ?? channel, `/${name}`, answer)
  const mine = OWN.find(each => each.name === name)
  if (mine?.isOfChannels && store.channel(channel)?.is_direct) return tell(t('chat.commandNotHere'))
  if (mine) {
    const answer = await mine.run(store, { channel, thread, text })
    if (answer !== undefined) tell(answer ?? t('chat.commandUse', { command: `/${name} ${mine.hint()}` }))
    return
  }
  const known = await store.commands.list()
  if (!known.some(each => each.name === name)) return tell(t('chat.commandUnknown', { name: `/${name}` }))
  const { data } = await store.api.callCommand(channel, { command: name, text, thread_id: thread ?? undefined })
  if (data.text) tell(data.text)
}
