// Where one writes: it grows with its text, keeps its draft, and sends.

import { signal, untracked } from '../../base/signal.js'
import { MOST as MOST_FILES } from '../../store/uploads.js'
import { commandIn } from '../../text/mentions.js'
import { t } from '../../text/words.js'
import { h, when } from '../../view/element.js'
import { icon } from '../../view/icons.js'
import { say } from '../../view/toast.js'
import { wording } from '../../view/wording.js'
import { addFiles, attachments, chooseFiles, pasting, takesFiles } from './attachments.js'
import { answers } from './command-answers.js'
import { completing } from './completion.js'
import { editing } from './edit.js'
import { grow, isSending, sendsByEnter, showDraft } from './text-field.js'

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
function composer(options) {
  const { store, channel, thread } = options
  const field = fieldOf(options)
  const { area, changed, left, isEmpty, files } = field
  const completion = completing(store, area, changed, channel)
  area.addEventListener('keydown', event => {
    if (event.isComposing || event.keyCode === 229 || completion.press(event)) return
    const isPlain = !event.ctrlKey && !event.metaKey && !event.altKey
    if (isSending(event)) {
      event.preventDefault()
      send(options, field)
    } else if (event.key === 'ArrowUp' && area.value === '' && isPlain) {
      const last = lastOwn(store, channel(), thread())
      if (!last) return
      event.preventDefault()
      editing.value = last
    } else if (event.key === 'Escape' && isPlain && !document.querySelector('.beside')) leave(area)
  })
  const submit = (/** @type {Event} */ event) => {
    event.preventDefault()
    send(options, field)
  }
  const add = (/** @type {File[]} */ added) => {
    addFiles(store, field.key, added)
    area.focus()
  }
  area.addEventListener('paste', pasting(add))
  const takeOut = (/** @type {string} */ id) => {
    store.uploads.remove(id)
    area.focus()
  }
  return [answers(store, field.key), h('form', { class: 'composer', onsubmit: submit, ref: (/** @type {Element} */ form) => takesFiles(form, add) },
    h('div', { class: 'composer-box' },
      attachments(store, () => files.value, { takeOut, describes: true }),
      area, chooseFiles(add), emojiButton(store, field),
      h('button', {
        class: 'send', 'aria-label': t('chat.send'), title: t('chat.send'), 'aria-disabled': () => String(isEmpty.value && files.value.length === 0),
      }, icon('send'))),
    completion.node,
    when(() => left.value < NEAR, () => h('p', { class: () => left.value < 0 ? 'error' : 'quiet small', role: 'status' },
      () => t('chat.left', { count: left.value }))))]
}

/** @typedef {ReturnType<typeof fieldOf>} Field */

/**
 * What is written, which is the draft.
 *
 * @param {Options} options
 */
function fieldOf({ store, channel, thread, label }) {
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
  return {
    key, area, left, isEmpty, changed, files: store.uploads.of(key),

    /** @param {string} text */
    write(text) {
      area.value = text
      changed()
    },

    /** What was written is on its way. What another tab has written meanwhile stays. */
    posted() {
      if (draft.peek() === area.value) store.drafts.set(key, '')
      area.value = draft.peek()
      measure()
    },
  }
}

/** @param {Options} options @param {Field} field */
function send(options, field) {
  const { store, channel, thread, sent } = options
  const text = field.area.value.trim()
  const files = field.files.peek()
  if ((!text && files.length === 0) || [...text].length > MOST) return
  const command = commandIn(field.area.value)
  if (command) return void call(options, field, command)
  if (files.some(each => each.state === 'refused')) return say(t('chat.filesFirst'))
  // Those of a post that was taken back stand with them.
  if (files.length > MOST_FILES) return say(t('chat.mostFiles', { count: MOST_FILES }))
  const ids = files.map(each => each.id)
  store.uploads.move(ids)
  store.outgoing.post({ channel: channel(), thread: thread(), text, files: ids })
  field.posted()
  sent()
  field.area.focus()
}

/**
 * A command that fails stands in the field again, unless something else does.
 *
 * @param {Options} options
 * @param {Field} field
 * @param {{ name: string, text: string }} command
 */
async function call({ store, channel, thread }, field, command) {
  const written = field.area.value
  field.write('')
  try {
    const { run } = await import('./commands.js')
    await run(store, command, { channel: channel(), thread: thread() })
  } catch (error) {
    store.commands.tell(field.key, `/${command.name}`, wording.explain(error))
    if (field.area.value === '' && field.area.isConnected) field.write(written)
  }
}

/** Puts an emoji at the caret, which the field keeps while it has no focus. @param {Store} store @param {Field} field */
function emojiButton(store, { area, changed }) {
  const title = t('chat.emojiTitle')
  const add = async (/** @type {Event} */ { currentTarget }) => {
    const { pickEmoji } = await import('./emoji-picker.js')
    const emoji = await pickEmoji(store, /** @type {HTMLElement} */ (currentTarget))
    if (!emoji || !area.isConnected) return
    area.setRangeText(emoji, area.selectionStart, area.selectionEnd, 'end')
    changed()
    area.focus()
  }
  return h('button', { type: 'button', class: 'icon-button', 'aria-label': title, title, onclick: add }, icon('face'))
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
