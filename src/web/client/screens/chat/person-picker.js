// Choosing people: those who are chosen stand as chips before the field, and whom it finds below.

import { computed, onEnd, signal } from '../../base/signal.js'
import { rank } from '../../text/mentions.js'
import { t } from '../../text/words.js'
import { h } from '../../view/element.js'
import { icon } from '../../view/icons.js'
import { list } from '../../view/list.js'
import { wording } from '../../view/wording.js'
import { face, name, nameOf } from '../face.js'
import { chooser } from './chooser.js'

/** @typedef {import('../../store/index.js').Store} Store */
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
  const found = signal(/** @type {Person[]} */ ([]))
  const problem = signal('')
  const isBusy = signal(false)
  let last = 0
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let pause
  onEnd(() => clearTimeout(pause))
  const ask = async (/** @type {string} */ query, /** @type {number} */ turn) => {
    try {
      const people = await store.findPeople(query, { limit })
      if (turn !== last) return
      found.value = people.filter(each => each.user_id !== store.me.peek()?.user_id)
      problem.value = ''
    } catch (error) {
      if (turn === last) problem.value = wording.explain(error)
    }
    if (turn === last) isBusy.value = false
  }
  return {
    found, problem, isBusy,
    /** @param {string} query */
    look(query) {
      const turn = last += 1
      isBusy.value = true
      // Enter may come before the answer: it must not take somebody of an older one.
      found.value = rank(found.peek(), query, each => [each.full_name, each.username], limit)
      clearTimeout(pause)
      pause = setTimeout(ask, last === 1 ? 0 : PAUSE_MS, query, turn)
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
  const options = computed(() => isFull() ? [] : people.found.value
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
