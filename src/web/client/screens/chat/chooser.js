// A field with a list of choices below it: the arrows move in the list, Enter takes what is marked, and the focus stays in the field.

import { effect, signal } from '../../base/signal.js'
import { h } from '../../view/element.js'
import { list } from '../../view/list.js'

/**
 * @template T
 * @typedef {import('../../base/signal.js').Signal<T>} Signal
 */

/**
 * @typedef {object} Option
 * @property {string} key
 * @property {string} title
 * @property {string} [beside] A quiet word behind the title.
 * @property {Child} [sign] Before the title.
 * @property {Child} [count] At the end.
 */

let choosers = 0

/**
 * @template {Option} O
 * @param {object} chooser
 * @param {string} chooser.label
 * @param {() => readonly O[]} chooser.options
 * @param {(text: string) => void} chooser.typed
 * @param {(option: O) => void} chooser.take
 * @param {number} [chooser.first] What is marked while the field is empty: -1 for nothing, so that Enter sends the form.
 * @param {(event: KeyboardEvent, input: HTMLInputElement) => boolean} [chooser.pressed] Takes keys before the list does.
 */
export function chooser({ label, options, typed, take, first = 0, pressed = () => false }) {
  const id = `chooser-${choosers += 1}`
  const moved = signal(first)
  const at = () => Math.min(moved.value, options().length - 1)
  const marked = () => options()[at()]?.key
  const choose = (/** @type {O} */ option) => {
    take(option)
    moved.value = input.value ? 0 : first
  }
  /** @type {HTMLInputElement} */
  const input = h('input', {
    type: 'text', id: `${id}-field`, role: 'combobox', autocomplete: 'off', autocapitalize: 'none', spellcheck: 'false', dir: 'auto', enterkeyhint: 'go',
    'aria-label': label, 'aria-autocomplete': 'list', 'aria-controls': id, 'aria-expanded': () => String(options().length > 0),
    'aria-activedescendant': () => marked() === undefined ? null : `${id}-${marked()}`,
    oninput: () => {
      moved.value = input.value ? 0 : first
      typed(input.value)
    },
    onkeydown: (/** @type {KeyboardEvent} */ event) => {
      if (event.isComposing || event.keyCode === 229) return
      const all = options()
      if (pressed(event, input)) event.preventDefault()
      else if (event.key === 'ArrowDown') moved.value = at() + 1 < all.length ? at() + 1 : 0
      else if (event.key === 'ArrowUp') moved.value = at() > 0 ? at() - 1 : Math.max(0, all.length - 1)
      else if (event.key === 'Enter') {
        if (at() < 0 && input.value === '') return
        if (all[at()]) choose(all[at()])
      } else return
      event.preventDefault()
    },
  })
  const listbox = h('ul', { id, class: 'chooser', role: 'listbox', 'aria-label': label, hidden: () => options().length === 0 })
  // A choice keeps its row while others come and go, so that one that is being pressed is not taken from under the pointer.
  const rows = list(listbox, options, each => each.key, (option, key) =>
    row(option, `${id}-${key}`, () => marked() === key, () => choose(option.peek())))
  effect(() => {
    const chosen = rows.children[at()]
    if (chosen && moved.value > 0) chosen.scrollIntoView({ block: 'nearest' })
    else rows.scrollTop = 0
  })
  return { input, rows }
}

/**
 * @param {Signal<Option>} option
 * @param {string} id
 * @param {() => boolean} isMarked
 * @param {() => void} take
 */
const row = (option, id, isMarked, take) => h('li', {
  id, role: 'option', 'aria-selected': () => String(isMarked()),
  // The focus stays in the field.
  onpointerdown: (/** @type {Event} */ event) => event.preventDefault(),
  onclick: take,
},
() => option.value.sign,
h('span', { class: 'title' }, h('bdi', null, () => option.value.title)),
() => option.value.beside && h('span', { class: 'beside-title quiet small' }, h('bdi', null, option.value.beside)),
() => option.value.count)
