// Where one writes: it grows with its text, keeps its draft, and sends.

import { signal, untracked } from '../../base/signal.js'
import { t } from '../../text/words.js'
import { h, when } from '../../view/element.js'
import { icon } from '../../view/icons.js'
import { wording } from '../../view/wording.js'
import { answers } from './command-answers.js'
import { commandIn, run } from './commands.js'
import { completing } from './completion.js'
import { showDraft } from './draft-field.js'
import { editing } from './edit.js'
import { grow } from './grow.js'
import { isSending, sendsByEnter } from './enter.js'

/** Characters of a message at most; the server counts the same. */
const MOST = 40_000
/** Characters left at which the composer says how many. */
const NEAR = 500

/**
 * @typedef {object} Options
 * @property {Store} store
 * @property {() => string} channel
 * @property {() => string | null} thread
 * @property {() => string} label
 * @property {() => void} sent Shows the end of the talk, where what was written stands.
 */

/**
 * The composer of a listed channel, or of a thread in it; or, for people who may not write there, the reason.
 *
 * @param {Options} options
 */
export const composerOrReason = options => when(() => options.store.organisation.value?.permissions.can_post_messages,
  () => composer(options), () => h('p', { class: 'notice read-only' }, t('talk.readOnly')))

/** @param {Options} options */
function composer({ store, channel, thread, label, sent }) {
  const key = untracked(() => thread() ?? channel())
  const draft = store.drafts.get(key)
  const left = signal(MOST)
  const isEmpty = signal(true)
  const area = h('textarea', {
    rows: 1, dir: 'auto', 'aria-label': label, placeholder: label, enterkeyhint: sendsByEnter() ? 'send' : 'enter', autocomplete: 'off',
    oninput: () => { changed() },
  })
  const measure = () => {
    left.value = MOST - [...area.value].length
    isEmpty.value = area.value.trim() === ''
    grow(area)
  }
  const changed = () => {
    store.drafts.set(key, area.value)
    measure()
  }
  showDraft(area, draft, () => '', measure)
  /** A command that fails stands in the field again, unless something else does. @param {{ name: string, text: string }} command */
  const call = async command => {
    const written = area.value
    area.value = ''
    changed()
    try {
      await run(store, command, { channel: channel(), thread: thread() })
    } catch (error) {
      store.commands.tell(key, `/${command.name}`, wording.explain(error))
      if (area.value !== '' || !area.isConnected) return
      area.value = written
      changed()
    }
  }
  const send = () => {
    const text = area.value.trim()
    if (!text || [...text].length > MOST) return
    const command = commandIn(area.value)
    if (command) return void call(command)
    store.outgoing.post({ channel: channel(), thread: thread(), text })
    // What another tab has written meanwhile stays.
    if (draft.peek() === area.value) store.drafts.set(key, '')
    area.value = draft.peek()
    measure()
    sent()
    area.focus()
  }
  /** Puts an emoji at the caret, which the field keeps while it has no focus. @param {Event} event */
  const addEmoji = async ({ currentTarget }) => {
    const { pickEmoji } = await import('./emoji-picker.js')
    const emoji = await pickEmoji(store, /** @type {HTMLElement} */ (currentTarget))
    if (!emoji || !area.isConnected) return
    area.setRangeText(emoji, area.selectionStart, area.selectionEnd, 'end')
    changed()
    area.focus()
  }
  const completion = completing(store, area, changed, channel)
  area.addEventListener('keydown', event => {
    if (event.isComposing || event.keyCode === 229 || completion.press(event)) return
    const isPlain = !event.ctrlKey && !event.metaKey && !event.altKey
    if (isSending(event)) {
      event.preventDefault()
      send()
    } else if (event.key === 'ArrowUp' && area.value === '' && isPlain) {
      const last = lastOwn(store, channel(), thread())
      if (!last) return
      event.preventDefault()
      editing.value = last
    } else if (event.key === 'Escape' && isPlain && !document.querySelector('.beside')) leave(area)
  })
  return [answers(store, key), h('form', { class: 'composer', onsubmit: (/** @type {Event} */ event) => { event.preventDefault(); send() } },
    h('div', { class: 'composer-box' }, area,
      h('button', { type: 'button', class: 'icon-button', 'aria-label': t('chat.emojiTitle'), title: t('chat.emojiTitle'), onclick: addEmoji }, icon('face')),
      h('button', { class: 'send', 'aria-label': t('chat.send'), title: t('chat.send'), 'aria-disabled': () => String(isEmpty.value) }, icon('send'))),
    completion.node,
    when(() => left.value < NEAR, () => h('p', { class: () => left.value < 0 ? 'error' : 'quiet small', role: 'status' },
      () => t('chat.left', { count: left.value }))))]
}

/** To what was said last: a focus that is only let go is nowhere. @param {HTMLElement} area */
function leave(area) {
  const column = area.closest('.column')
  const to = [...column?.querySelectorAll('.row') ?? []].at(-1) ?? column?.querySelector('.talk')
  if (to instanceof HTMLElement) to.focus()
}

/**
 * The newest message that the person wrote where they write now.
 *
 * @param {Store} store
 * @param {string} channel
 * @param {string | null} thread
 */
function lastOwn(store, channel, thread) {
  const rows = (thread ? store.thread(channel, thread) : store.talk(channel)).rows.peek()
  const me = store.me.peek()?.user_id
  return rows.findLast(each => each.user_id === me && each.user_type === 'user' && each.deleted_at.startsWith('0001'))?.id ?? null
}
