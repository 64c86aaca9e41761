// Ctrl-K: one field that leads to each channel, person, the own threads, and to the search for what was typed.

import { computed, signal, untracked } from '../../base/signal.js'
import { folded, rank } from '../../text/mentions.js'
import { number, t } from '../../text/words.js'
import { openDialog } from '../../view/dialog.js'
import { h } from '../../view/element.js'
import { icon } from '../../view/icons.js'
import { go } from '../../view/router.js'
import { wording } from '../../view/wording.js'
import { address, place, searchAddress } from '../addresses.js'
import { face, nameOf } from '../face.js'
import { openChannels } from './browse.js'
import { chooser } from './chooser.js'
import { directMessage, show, until } from './opening.js'
import { finding } from './person-picker.js'
import { mark } from './mark.js'

/** @typedef {import('../../store/index.js').Channel} Channel */
/** @typedef {import('./chooser.js').Option & { open: () => Promise<string> | string }} Destination It opens an id, `threads`, or an address. */
/** @typedef {{ channel: Channel | null, texts: string[] }} Named Null stands for the own threads. */

const MOST_PLACES = 12
const MOST_OPEN = 4
const MOST_PEOPLE = 6
/** The key of the row that leads to the search. */
const SEARCH = 'search'

let isOpen = false

/** @param {Store} store */
export async function openSwitcher(store) {
  if (isOpen) return
  isOpen = true
  /** @type {string | undefined} */
  const goal = await openDialog({ title: t('chat.goTo'), className: 'switcher', body: close => switcher(store, close) })
  isOpen = false
  if (goal?.startsWith('/')) go(goal)
  else if (goal) await show(store, goal)
}

/**
 * @param {Store} store
 * @param {(goal?: string) => void} close
 */
function switcher(store, close) {
  const query = signal('')
  const problem = signal('')
  const isOpening = signal(false)
  const people = finding(store, MOST_PEOPLE + 2)
  const open = openChannels(store)
  const names = computed(() => allNames(store))
  const options = computed(() => {
    const wanted = query.value.trim()
    const known = rank(names.value, wanted, each => each.texts, MOST_PLACES).map(({ channel }) => channel ? asPlace(channel) : threads())
    if (!wanted) return known
    const others = open.rows.value.filter(each => !store.channel(each.id))
    const found = rank(others, wanted, each => [each.name, each.topic, each.description], MOST_OPEN).map(each => asOpen(store, each))
    return [...known, ...found, ...people.rows.value.filter(each => !hasDirect(store, each.user_id)).slice(0, MOST_PEOPLE).map(each => asPerson(store, each)),
      search(store, wanted)]
  })
  const isBusy = () => people.isBusy.value || open.isBusy.value
  const take = async (/** @type {Destination} */ option) => {
    if (isOpening.peek()) return
    isOpening.value = true
    try {
      close(await option.open())
    } catch (error) {
      problem.value = wording.explain(error)
    }
    isOpening.value = false
  }
  /** Enter takes a name that is still being looked up before it takes the search. */
  const takeFirst = async () => {
    const typed = query.peek()
    await until(() => !isBusy())
    if (query.peek() === typed && input.isConnected) await take(options.peek()[0])
  }
  const { input, rows } = chooser({
    label: t('chat.goToLabel'),
    options: () => options.value,
    typed: text => {
      query.value = text
      problem.value = ''
      if (!text.trim()) return
      people.look(text.trim())
      open.typed(text.trim())
    },
    take,
    pressed: event => {
      const again = (event.ctrlKey || event.metaKey) && event.key.toLowerCase() === 'k'
      if (again) close()
      const isEarly = event.key === 'Enter' && options.peek()[0]?.key === SEARCH && untracked(isBusy)
      if (isEarly) void takeFirst()
      return again || isEarly
    },
  })
  input.placeholder = t('chat.goToLabel')
  const state = () => isOpening.value ? t('common.waiting') : problem.value || people.problem.value
  return [input, rows, h('p', { class: 'quiet small', role: 'status' }, state)]
}

/** @returns {Destination} */
const threads = () => ({
  key: 'threads', title: t('talk.myThreads'), sign: () => h('span', { class: 'mark' }, icon('threads')), open: () => 'threads',
})

/** @param {Store} store @param {string} words @returns {Destination} */
const search = (store, words) => ({
  key: SEARCH,
  title: t('chat.searchFor', { words }),
  sign: () => h('span', { class: 'mark' }, icon('search')),
  open: () => searchAddress(store, words),
})

/**
 * What was not read, the own threads, then where something was said last: so that Enter alone leads on. Their names are folded
 * once, not at each key.
 *
 * @param {Store} store
 * @returns {Named[]}
 */
function allNames(store) {
  const here = place().channel
  const all = [...store.channels.value, ...store.directMessages.value].filter(each => each.id !== here)
    .map(channel => ({ channel, weight: weight(channel), texts: [channel.title, ...channel.participants.map(each => each.username)].map(folded) }))
    .sort((one, other) => other.weight - one.weight || (one.channel.last_message_at < other.channel.last_message_at ? 1 : -1))
  const unread = all.filter(each => each.weight > 0).length
  return [...all.slice(0, unread), { channel: null, texts: [folded(t('talk.myThreads'))] }, ...all.slice(unread)]
}

/** How much a channel calls. @param {Channel} channel */
const weight = channel => channel.call_count > 0 ? 2 : Number(channel.is_unread)

/** @param {Channel} channel @returns {Destination} */
const asPlace = channel => ({
  key: channel.id,
  title: channel.title,
  beside: channel.is_direct ? '' : channel.topic,
  sign: () => mark(channel),
  count: () => unread(channel),
  open: () => channel.id,
})

/** @param {Channel} channel */
function unread(channel) {
  if (channel.call_count > 0) return h('span', { class: 'count' }, number(channel.call_count))
  return channel.is_unread && h('span', { class: 'quiet small' }, t('talk.unread'))
}

/**
 * A channel that one isn't in: going there is joining it.
 *
 * @param {Store} store
 * @param {import('./browse.js').OpenChannel} channel
 * @returns {Destination}
 */
const asOpen = (store, channel) => ({
  key: channel.id,
  title: channel.name,
  beside: channel.topic,
  sign: h('span', { class: 'mark' }, icon('hash')),
  count: h('span', { class: 'quiet small' }, t('chat.join')),
  open: async () => {
    await store.api.joinChannel(channel.id, {})
    return channel.id
  },
})

/** @param {Store} store @param {import('../../store/index.js').Person} person @returns {Destination} */
const asPerson = (store, person) => ({
  key: person.user_id,
  title: nameOf(person),
  beside: person.username,
  sign: face(person, { tiny: true }),
  open: () => directMessage(store, [person.user_id]),
})

/** Whether a person is in the list by their conversation already. @param {Store} store @param {string} id */
const hasDirect = (store, id) => store.directMessages.value.some(({ participants }) => participants.length === 1 && participants[0].user_id === id)
