// Choosing people: those who are chosen stand as chips before the field, and whom it finds below.

import { computed, signal } from '../../base/signal.js'
import { rank } from '../../text/mentions.js'
import { t } from '../../text/words.js'
import { delayed } from '../../view/delayed.js'
import { h } from '../../view/element.js'
import { icon } from '../../view/icons.js'
import { list } from '../../view/list.js'
import { paged } from '../../view/paged.js'
import { face, name, nameOf } from '../face.js'
import { chooser } from './chooser.js'

/** @typedef {import('../../store/index.js').Person} Person */

const PAUSE_MS = 120
const MOST_SHOWN = 8

/**
 * People by name, as they are typed: without oneself, and without answers that come too late.
 *
 * @param {Store} store
 * @param {number} limit
 */
export function finding(store, limit) {
  const people = paged(async (/** @type {{ words: string }} */ { words }) => {
    const found = await store.findPeople(words, { limit })
    return { data: found.filter(each => each.user_id !== store.me.peek()?.user_id).map(each => ({ id: each.user_id, ...each })) }
  })
  const { rows, problem, isBusy } = people
  let wanted = ''
  let isFirst = true
  const ask = () => people.ask({ words: wanted })
  const later = delayed(ask, PAUSE_MS)
  return {
    rows, problem, isBusy,
    /** @param {string} words */
    look(words) {
      wanted = words
      people.wait()
      // Enter may come before the answer: it must not take somebody of an older one.
      rows.value = rank(rows.peek(), words, each => [each.full_name, each.username], limit)
      if (isFirst) void ask()
      else later()
      isFirst = false
    },
  }
}

/**
 * @param {Store} store
 * @param {object} options
 * @param {string} options.label
 * @param {number} options.most People at most.
 */
export function personPicker(store, { label, most }) {
  const chosen = signal(/** @type {Person[]} */ ([]))
  const people = finding(store, MOST_SHOWN + most)
  const isFull = () => chosen.value.length >= most
  const options = computed(() => isFull() ? [] : people.rows.value
    .filter(each => chosen.value.every(one => one.user_id !== each.user_id))
    .slice(0, MOST_SHOWN)
    .map(person => ({ key: person.user_id, title: nameOf(person), beside: person.username, sign: face(person, { tiny: true }), person })))
  const remove = (/** @type {Person} */ person) => {
    chosen.value = chosen.peek().filter(each => each.user_id !== person.user_id)
    input.focus()
  }
  const { input, rows } = chooser({
    label,
    options: () => options.value,
    typed: people.look,
    first: -1,
    take: ({ person }) => {
      chosen.value = [...chosen.peek(), person]
      if (input.value) people.look('')
      input.value = ''
      input.focus()
    },
    pressed: (event, field) => {
      const person = chosen.peek().at(-1)
      if (event.key !== 'Backspace' || field.value || !person) return false
      remove(person)
      return true
    },
  })
  people.look('')
  const state = () => {
    if (people.problem.value) return people.problem.value
    if (isFull()) return t('chat.mostPeople', { count: most })
    if (people.isBusy.value || options.value.length > 0) return ''
    return input.value ? t('chat.nobodyFound') : t('chat.nobodyElse')
  }
  const node = h('div', { class: 'person-picker field' },
    h('label', { for: input.id }, label),
    h('div', { class: 'person-box' },
      list(h('ul', { class: 'chips', hidden: () => chosen.value.length === 0 }), () => chosen.value, each => each.user_id, item => chip(item.peek(), remove)),
      input),
    h('div', { class: 'person-found' }, rows, h('p', { class: 'quiet small', role: 'status' }, state)))
  return { node, chosen, input }
}

/**
 * @param {Person} person
 * @param {(person: Person) => void} remove
 */
const chip = (person, remove) => h('li', { class: 'chip' },
  face(person, { tiny: true }),
  h('span', null, name(person)),
  h('button', { type: 'button', 'aria-label': t('chat.takeOut', { name: nameOf(person) }), onclick: () => remove(person) }, icon('close')))
