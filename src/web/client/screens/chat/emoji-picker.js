// Choosing an emoji: a small dialog at the control that asks for one, and a sheet at the bottom on a phone.

import { computed, effect, onEnd, signal } from '../../base/signal.js'
import { USUAL, emojiGroups, emojiLabel, findEmoji } from '../../text/emoji.js'
import { t } from '../../text/words.js'
import { h, mount } from '../../view/element.js'
import { icon } from '../../view/icons.js'
import { putBeside, tell } from '../../view/menu.js'
import { isTouch } from '../../view/viewport.js'
import { wording } from '../../view/wording.js'
import { loadEmojiNames } from '../emoji-names.js'
import { inGrid } from './emoji-keys.js'

/** @param {Store} store Those of its user. */
const placeOfRecent = store => `tidings-recent-emoji-${store.me.peek()?.id ?? ''}`
/** Recently used ones that are kept: two lines. */
const MOST_RECENT = 16
/** Found ones that are shown: more than anybody looks through. */
const MOST_FOUND = 64

/** @type {Record<string, () => string>} */
const GROUPS = {
  SmileysAndEmotion: () => t('chat.emojiSmileys'),
  PeopleAndBody: () => t('chat.emojiPeople'),
  AnimalsAndNature: () => t('chat.emojiNature'),
  FoodAndDrink: () => t('chat.emojiFood'),
  TravelAndPlaces: () => t('chat.emojiTravel'),
  Activities: () => t('chat.emojiActivities'),
  Objects: () => t('chat.emojiObjects'),
  Symbols: () => t('chat.emojiSymbols'),
  Flags: () => t('chat.emojiFlags'),
}

/**
 * Lets the person choose an emoji.
 *
 * @param {Store} store
 * @param {HTMLElement} anchor
 * @returns {Promise<string | null>} Null if none was chosen.
 */
export function pickEmoji(store, anchor) {
  return new Promise(resolve => {
    /** @type {string | null} */
    let chosen = null
    const element = h('dialog', { class: 'emoji-picker', 'aria-label': t('chat.emojiTitle') })
    const choose = (/** @type {string} */ emoji) => {
      chosen = emoji
      element.close()
    }
    const unmount = mount(element, () => choice(store, choose, () => element.close()))
    const follow = () => putBeside(element, anchor)
    element.addEventListener('close', () => {
      removeEventListener('resize', follow)
      unmount()
      element.remove()
      tell(anchor, false)
      if (anchor.isConnected) anchor.focus()
      if (chosen) remember(store, chosen)
      resolve(chosen)
    })
    // What is in the dialog covers it, so that a press on the dialog itself is one beside it.
    element.addEventListener('pointerdown', event => { if (event.target === element) element.close() })
    document.body.append(element)
    tell(anchor, true)
    element.showModal()
    follow()
    addEventListener('resize', follow)
    // On a phone the field would bring up the keyboard, over the choice.
    const first = isTouch.matches ? '.emoji' : 'input'
    const focused = element.querySelector(first)
    if (focused instanceof HTMLElement) focused.focus()
  })
}

/**
 * @param {Store} store
 * @param {(emoji: string) => void} choose
 * @param {() => void} close
 */
function choice(store, choose, close) {
  const query = signal('')
  const problem = signal('')
  const named = signal('')
  loadEmojiNames(store).catch(error => { problem.value = wording.explain(error) })
  const found = computed(() => query.value.trim() ? findEmoji(query.value.trim(), MOST_FOUND) : [])
  const input = h('input', {
    type: 'text', inputmode: 'search', autocomplete: 'off', spellcheck: 'false', 'aria-label': t('chat.emojiSearch'), placeholder: t('chat.emojiSearch'),
    oninput: () => { query.value = input.value },
    onkeydown: (/** @type {KeyboardEvent} */ event) => {
      if (event.isComposing) return
      const first = /** @type {HTMLElement | null} */ (grid.querySelector(':scope > :not([hidden]) .emoji'))
      if (event.key === 'ArrowDown') first?.focus()
      else if (event.key === 'Enter' && query.peek().trim() && first) choose(first.dataset.emoji ?? '')
      else return
      event.preventDefault()
    },
  })
  const isNone = () => query.value.trim() !== '' && found.value.length === 0
  const state = () => {
    if (problem.value || !isNone()) return problem.value
    return emojiGroups().size > 0 ? t('chat.emojiNone') : t('common.loading')
  }
  const tell = (/** @type {Event} */ event) => { named.value = cellOf(event)?.getAttribute('aria-label') ?? '' }
  const grid = h('div', {
    class: 'emoji-grid',
    onclick: (/** @type {Event} */ event) => {
      const emoji = cellOf(event)?.dataset.emoji
      if (emoji) choose(emoji)
    },
    onfocusin: tell,
    onpointerover: tell,
  },
  everything(store, () => query.value.trim() !== ''),
  h('div', { hidden: () => query.value.trim() === '' },
    () => found.value.length > 0 && group(t('chat.emojiFound'), found.value.map((each, index) => cell(each.emoji, spoken(each), index)))))
  inGrid(grid, '.emoji', input)
  return h('div', { class: 'emoji-inside' },
    h('div', { class: 'emoji-head' }, input,
      h('button', { type: 'button', class: 'icon-button', 'aria-label': t('common.close'), onclick: close }, icon('close'))),
    grid,
    h('p', { class: 'emoji-foot quiet small' },
      h('span', { role: 'status' }, state),
      h('span', { 'aria-hidden': 'true' }, () => problem.value || isNone() ? '' : named.value)))
}

/**
 * The usual ones, the recently used ones, and all others by group.
 *
 * @param {Store} store
 * @param {() => boolean} isHidden
 */
function everything(store, isHidden) {
  const known = recent(store)
  const element = h('div', { hidden: isHidden },
    group(t('chat.emojiUsual'), USUAL.map((each, index) => cell(each, () => emojiLabel(each), index))),
    known.length > 0 && group(t('chat.emojiRecent'), known.map(each => cell(each, () => emojiLabel(each)))))
  /** @type {number} */
  let next = 0
  onEnd(() => cancelAnimationFrame(next))
  effect(() => {
    const rest = [...emojiGroups()]
    // One group a frame: all 1,800 at once would hold up the typing.
    const more = () => {
      const [name, emoji] = rest.shift() ?? []
      if (!name || !emoji) return
      element.append(group(GROUPS[name]?.() ?? name, emoji.map(each => cell(each.emoji, spoken(each)))))
      next = requestAnimationFrame(more)
    }
    more()
  })
  return element
}

/**
 * @param {string} title
 * @param {Node[]} cells
 */
const group = (title, cells) => h('section', { 'aria-label': title }, h('h3', { class: 'quiet small' }, title), h('div', { class: 'emoji-cells' }, cells))

/**
 * @param {string} emoji
 * @param {string | (() => string)} name
 * @param {number} [index] The first of the choice is reached by Tab.
 */
const cell = (emoji, name, index) => h('button', { type: 'button', class: 'emoji', tabindex: index === 0 ? 0 : -1, 'data-emoji': emoji, 'aria-label': name }, emoji)

/** @param {import('../../text/emoji.js').Emoji} emoji */
const spoken = ({ names }) => names[0].replaceAll('_', ' ')

/** @param {Event} event */
const cellOf = event => /** @type {HTMLElement | null} */ (event.target instanceof Element ? event.target.closest('.emoji') : null)

/** @param {Store} store @returns {string[]} */
function recent(store) {
  try {
    const kept = JSON.parse(localStorage.getItem(placeOfRecent(store)) ?? '[]')
    return Array.isArray(kept) ? kept.filter(each => typeof each === 'string').slice(0, MOST_RECENT) : []
  } catch {
    return []
  }
}

/** @param {Store} store @param {string} emoji */
function remember(store, emoji) {
  try {
    localStorage.setItem(placeOfRecent(store), JSON.stringify([emoji, ...recent(store).filter(each => each !== emoji)].slice(0, MOST_RECENT)))
  } catch {
    // Without storage there are the usual ones.
  }
}
