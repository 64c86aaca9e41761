// What `@`, `#`, `:` and `/` may become: people, channels, emoji, commands.

import { batch, effect, onEnd, signal } from '../../base/signal.js'
import { complete, completionAt } from '../../text/mentions.js'
import { t } from '../../text/words.js'
import { h, when } from '../../view/element.js'
import { loadEmojiNames } from '../emoji-names.js'

/** @typedef {import('./choices.js').Choice} Choice */

const PAUSE_MS = 120
let lists = 0

/** What names may become. @type {typeof import('./choices.js') | null} */
let found = null
async function load() {
  found ??= await import('./choices.js')
}

/**
 * @param {import('../../store/index.js').Store} store
 * @param {HTMLTextAreaElement} area
 * @param {() => void} changed Called after a name was put in.
 * @param {() => string} channel
 */
export function completing(store, area, changed, channel) {
  const choices = signal(/** @type {Choice[]} */ ([]))
  const chosen = signal(0)
  const id = `completion-${lists += 1}`
  let asked = 0
  /** What a finger is on. Until it is lifted nothing takes its place. @type {Choice | undefined} */
  let pressed
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let pause
  const close = () => {
    clearTimeout(pause)
    asked += 1
    choices.value = []
  }
  const at = () => area.selectionStart === area.selectionEnd ? completionAt(area.value, area.selectionStart) : null

  const look = () => {
    clearTimeout(pause)
    pressed = undefined
    const number = asked += 1
    // With the first letter, so that it is there when a name begins.
    if (!found) return void load().then(() => { if (number === asked) look() }, () => {})
    const completion = at()
    if (!completion) return close()
    const { channels, commands, emoji, people } = found
    const { sign, query } = completion
    if (sign === ':') {
      chosen.value = 0
      void loadEmojiNames(store).then(() => { if (number === asked) choices.value = emoji(query) }, () => {})
      return
    }
    const { known, find } = sign === '#' ? channels(store, query)
      : sign === '/' ? commands(store, channel(), query) : people(store, channel(), query)
    batch(() => {
      chosen.value = 0
      choices.value = known
    })
    pause = setTimeout(async () => {
      const all = await find().catch(() => null)
      if (all && number === asked && !pressed) replace(all)
    }, known.length > 0 ? PAUSE_MS : 0)
  }
  /** What is marked stays marked. @param {Choice[]} all */
  const replace = all => batch(() => {
    const word = choices.peek()[chosen.peek()]?.word
    choices.value = all
    chosen.value = Math.max(0, all.findIndex(each => each.word === word))
  })
  const take = (/** @type {Choice | undefined} */ choice) => {
    pressed = undefined
    const completion = at()
    close()
    if (!completion || !choice) return
    const made = complete(area.value, completion, choice.word)
    area.value = made.text
    area.setSelectionRange(made.caret, made.caret)
    area.focus()
    changed()
  }
  area.addEventListener('input', look)
  area.addEventListener('blur', close)
  area.addEventListener('click', look)
  onEnd(() => clearTimeout(pause))
  area.setAttribute('aria-autocomplete', 'list')
  effect(() => {
    const isOpen = choices.value.length > 0
    if (isOpen) {
      area.setAttribute('aria-controls', id)
      area.setAttribute('aria-activedescendant', `${id}-${chosen.value}`)
    } else {
      area.removeAttribute('aria-controls')
      area.removeAttribute('aria-activedescendant')
    }
  })

  return {
    /** @param {KeyboardEvent} event @returns {boolean} Whether the key was for the choice. */
    press(event) {
      const { length } = choices.peek()
      if (length === 0) return false
      if (event.key === 'ArrowDown') chosen.value = (chosen.value + 1) % length
      else if (event.key === 'ArrowUp') chosen.value = (chosen.value + length - 1) % length
      else if (event.key === 'Enter' || event.key === 'Tab') take(choices.peek()[chosen.peek()])
      else if (event.key === 'Escape') close()
      else return false
      document.getElementById(`${id}-${chosen.peek()}`)?.scrollIntoView({ block: 'nearest' })
      event.preventDefault()
      event.stopPropagation()
      return true
    },
    node: when(() => choices.value.length > 0, () => h('ul', {
      class: 'choices', id, role: 'listbox', 'aria-label': t('chat.completions'),
      // The focus stays in the field. The list stays as well until the finger is lifted: what is behind it would be pressed.
      onmousedown: (/** @type {Event} */ event) => event.preventDefault(),
      onpointercancel: () => { pressed = undefined },
      onclick: () => take(pressed),
    }, () =>
      choices.value.map((choice, index) => h('li', {
        id: `${id}-${index}`, role: 'option', 'aria-selected': () => String(chosen.value === index),
        onpointerdown: () => { pressed = choice },
        onclick: () => { pressed ??= choice },
      }, choice.sign, h('span', null, h('bdi', null, choice.title)), h('span', { class: 'quiet small' }, h('bdi', null, choice.beside)))))),
  }
}
