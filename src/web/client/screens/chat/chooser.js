// A field with a list of choices below it: the arrows move in the list, Enter takes what is marked, and the focus stays in the field.

import { effect, signal } from '../../base/signal.js'
import { h } from '../../view/element.js'

/** @typedef {import('../../view/element.js').Child} Child */

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
 * @param {(event: KeyboardEvent, input: HTMLInputElement) => boolean} [chooser.pressed] Takes keys before the list does.
 */
export function chooser({ label, options, typed, take, pressed = () => false }) {
  const id = `chooser-${choosers += 1}`
  const moved = signal(0)
  const at = () => Math.min(moved.value, options().length - 1)
  /** @type {HTMLInputElement} */
  const input = h('input', {
    type: 'text', id: `${id}-field`, role: 'combobox', autocomplete: 'off', autocapitalize: 'none', spellcheck: 'false', dir: 'auto', enterkeyhint: 'go',
    'aria-label': label, 'aria-autocomplete': 'list', 'aria-controls': id, 'aria-expanded': () => String(options().length > 0),
    'aria-activedescendant': () => options().length > 0 ? `${id}-${at()}` : null,
    oninput: () => {
      moved.value = 0
      typed(input.value)
    },
    onkeydown: (/** @type {KeyboardEvent} */ event) => {
      if (event.isComposing || event.keyCode === 229) return
      const all = options()
      if (pressed(event, input)) event.preventDefault()
      else if (event.key === 'ArrowDown') moved.value = at() + 1 < all.length ? at() + 1 : 0
      else if (event.key === 'ArrowUp') moved.value = at() > 0 ? at() - 1 : Math.max(0, all.length - 1)
      else if (event.key === 'Enter') {
        if (all[at()]) take(all[at()])
      } else return
      event.preventDefault()
    },
  })
  const rows = h('ul', { id, class: 'chooser', role: 'listbox', 'aria-label': label, hidden: () => options().length === 0 },
    () => options().map((option, index) => row(option, `${id}-${index}`, () => at() === index, () => take(option))))
  effect(() => {
    const chosen = rows.querySelector(`#${id}-${at()}`)
    if (chosen && moved.value > 0) chosen.scrollIntoView({ block: 'nearest' })
    else rows.scrollTop = 0
  })
  return { input, rows }
}

/**
 * @param {Option} option
 * @param {string} id
 * @param {() => boolean} isMarked
 * @param {() => void} take
 */
const row = ({ title, beside, sign, count }, id, isMarked, take) => h('li', {
  id, role: 'option', 'aria-selected': () => String(isMarked()),
  // The focus stays in the field.
  onpointerdown: (/** @type {Event} */ event) => event.preventDefault(),
  onclick: take,
},
sign,
h('span', { class: 'title' }, h('bdi', null, title)),
beside && h('span', { class: 'beside-title quiet small' }, h('bdi', null, beside)),
count)
