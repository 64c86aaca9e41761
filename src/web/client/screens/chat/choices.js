// What a name that is being written may become: what is known at once, and then what the server finds.

import { emojiNameFor, findEmoji } from '../../text/emoji.js'
import { EVERYBODY, folded, rank } from '../../text/mentions.js'
import { t } from '../../text/words.js'
import { h } from '../../view/element.js'
import { icon } from '../../view/icons.js'
import { face } from '../face.js'
import { ofOrganisation, own } from './commands.js'

/** @typedef {import('../../store/index.js').Person} Person */
/** @typedef {{ word: string, title: string, beside: string, sign: import('../../view/element.js').Child }} Choice */
/** @typedef {{ known: Choice[], find: () => Promise<Choice[]> }} Choices `find` answers the known ones with what was found. */

const MOST = 8
/** The client's own commands leave room for those of the organisation. */
const MOST_COMMANDS = 20
/** The server looks in topics as well, so that it finds more channels than are offered. */
const MOST_OPEN = 50

/**
 * People, and the names for everybody.
 *
 * @param {Store} store
 * @param {string} channel
 * @param {string} query
 * @returns {Choices}
 */
export function people(store, channel, query) {
  const known = store.knownPeople().filter(each => isCalled(each, query))
  const all = everybody(query)
  const choices = (/** @type {Person[]} */ found) => {
    const ranked = rank(found, query, each => [each.username, each.full_name, each.email], MOST - all.length).map(asPerson)
    return all[0]?.title === folded(query) ? [...all, ...ranked] : [...ranked, ...all]
  }
  return {
    known: choices(known),
    find: async () => {
      const found = await store.findPeople(query, { channel, limit: 2 * MOST })
      const ids = new Set(found.map(each => each.user_id))
      // A short answer has all who are in the channel, and others can't be mentioned there.
      const rest = found.length < MOST ? known.filter(each => ids.has(each.user_id)) : known
      return choices([...rest, ...found.filter(each => !rest.some(one => one.user_id === each.user_id))])
    },
  }
}

/**
 * Whether a part of a person's name begins so, as the server takes it.
 *
 * @param {Person} person
 * @param {string} query
 */
const isCalled = (person, query) => [person.username, person.full_name].some(name => parts(name).includes(parts(query)))

/** @param {string} name Each part of it follows a space. */
const parts = name => ` ${folded(name).replace(/[\s._-]+/g, ' ')}`

/**
 * All names for everybody mean the same, so that one of them is offered for a mere `@`.
 *
 * @param {string} query
 * @returns {Choice[]}
 */
const everybody = query => EVERYBODY.filter(name => name.startsWith(folded(query))).slice(0, query ? undefined : 1)
  .map(name => ({ word: `@${name}`, title: name, beside: t('chat.mentionsAll'), sign: icon('people') }))

/** @param {Person} person @returns {Choice} */
const asPerson = person => ({
  word: `@${person.username}`, title: person.full_name || person.username,
  beside: person.user_type === 'bot' ? `${person.username} · ${t('common.bot')}` : person.username,
  sign: face(person, { tiny: true }),
})

/**
 * The own channels, and those that one may join.
 *
 * @param {Store} store
 * @param {string} query
 * @returns {Choices}
 */
export function channels(store, query) {
  const own = store.channels.peek()
  /** @typedef {{ name: string, topic: string, is_private?: boolean }} Named */
  const choices = (/** @type {Named[]} */ all) => rank(all, query, each => [each.name], MOST).map(asChannel)
  return {
    known: choices(own),
    find: async () => {
      const asked = query ? { q: query, limit: MOST_OPEN } : { limit: MOST_OPEN }
      const { data } = await store.api.listOpenChannels(store.organisation.peek()?.id ?? '', asked)
      return choices([...own, ...data.filter(each => !own.some(({ id }) => id === each.id))])
    },
  }
}

/** @param {{ name: string, topic: string, is_private?: boolean }} channel @returns {Choice} */
const asChannel = ({ name, topic, is_private: isPrivate }) => ({
  word: `#${name}`, title: name, beside: topic, sign: icon(isPrivate ? 'lock' : 'hash'),
})

/**
 * Commands, the client's own first.
 *
 * @param {Store} store
 * @param {string} channel
 * @param {string} query
 * @returns {Choices}
 */
export function commands(store, channel, query) {
  const mine = own(store, channel)
  const choices = (/** @type {import('./commands.js').Offered[]} */ all) => rank(all, query, each => [each.name], MOST_COMMANDS).map(asCommand)
  return { known: choices(mine), find: async () => choices([...mine, ...await ofOrganisation(store)]) }
}

/** @param {import('./commands.js').Offered} command @returns {Choice} */
const asCommand = ({ name, hint, about }) => ({
  word: `/${name}`, title: `/${name} ${hint}`.trim(), beside: about, sign: icon('slash'),
})

/** @param {string} query @returns {Choice[]} */
export const emoji = query => findEmoji(query, MOST)
  .map(each => ({ word: each.emoji, title: emojiNameFor(each, query), beside: '', sign: h('span', null, each.emoji) }))
