// What `@`, `#` and `:` may become: people, channels, emoji.

import { effect, onEnd, signal } from '../../base/signal.js'
import { findEmoji } from '../../text/emoji.js'
import { complete, completionAt, rank } from '../../text/mentions.js'
import { t } from '../../text/words.js'
import { h, when } from '../../view/element.js'
import { icon } from '../../view/icons.js'
import { loadEmojiNames } from '../emoji-names.js'
import { face } from '../face.js'

/** @typedef {import('../../store/index.js').Store} Store */
/** @typedef {{ word: string, title: string, beside: string, sign: import('../../view/element.js').Child }} Choice */

const MOST = 8
const PAUSE_MS = 120
let lists = 0

/**
 * @param {Store} store
 * @param {HTMLTextAreaElement} area
 * @param {() => void} changed Called after a name was put in.
 * @param {() => string} channel
 */
export function completing(store, area, changed, channel) {
  const choices = signal(/** @type {Choice[]} */ ([]))
  const chosen = signal(0)
  const id = `completion-${lists += 1}`
  let asked = 0
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let pause
  const close = () => {
    asked += 1
    choices.value = []
  }
  const at = () => area.selectionStart === area.selectionEnd ? completionAt(area.value, area.selectionStart) : null

  const look = () => {
    clearTimeout(pause)
    const completion = at()
    const number = asked += 1
    if (!completion) return close()
    chosen.value = 0
    if (completion.sign === '#') choices.value = channels(store, completion.query)
    else if (completion.sign === ':') {
      void loadEmojiNames(store).then(() => { if (number === asked) choices.value = emoji(completion.query) }, () => {})
    } else {
      pause = setTimeout(async () => {
        const people = await store.findPeople(completion.query, { channel: channel(), limit: MOST }).catch(() => [])
        if (number === asked) choices.value = people.map(asChoice)
      }, choices.peek().length > 0 ? PAUSE_MS : 0)
    }
  }
  const take = (/** @type {Choice | undefined} */ choice) => {
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
      event.preventDefault()
      event.stopPropagation()
      return true
    },
    node: when(() => choices.value.length > 0, () => h('ul', { class: 'choices', id, role: 'listbox', 'aria-label': t('chat.completions') }, () =>
      choices.value.map((choice, index) => h('li', {
        id: `${id}-${index}`, role: 'option', 'aria-selected': () => String(chosen.value === index),
        onpointerdown: (/** @type {Event} */ event) => { event.preventDefault(); take(choice) },
      }, choice.sign, h('span', null, h('bdi', null, choice.title)), h('span', { class: 'quiet small' }, h('bdi', null, choice.beside)))))),
  }
}

/** @param {import('../../store/index.js').Person} person @returns {Choice} */
const asChoice = person => ({
  word: `@${person.username}`, title: person.full_name || person.username, beside: person.username, sign: face(person, { tiny: true }),
})

/** @param {Store} store @param {string} query @returns {Choice[]} */
const channels = (store, query) => rank(store.channels.peek(), query, each => [each.name], MOST)
  .map(each => ({ word: `#${each.name}`, title: each.name, beside: each.topic ?? '', sign: icon(each.is_private ? 'lock' : 'hash') }))

/** @param {string} query @returns {Choice[]} */
const emoji = query => findEmoji(query, MOST).map(each => ({ word: each.emoji, title: each.names[0], beside: '', sign: h('span', null, each.emoji) }))
