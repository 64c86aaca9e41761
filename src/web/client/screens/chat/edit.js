// Editing a message in its place. What was written is kept as a draft until it is saved or given up.

import { computed, signal } from '../../base/signal.js'
import { t } from '../../text/words.js'
import { h } from '../../view/element.js'
import { wording } from '../../view/wording.js'
import { completing } from './completion.js'
import { mediaOf } from './media.js'
import { grow, isSending, showDraft } from './text-field.js'

/** The message that is being edited; null if none is. */
export const editing = signal(/** @type {string | null} */ (null))

/**
 * Browsers show the focus after a key. Whoever began with the pointer would find a frame around a row to which they went by no key.
 *
 * @param {HTMLElement} row
 * @param {boolean} isByPointer
 */
function focusRow(row, isByPointer) {
  const loud = () => {
    delete row.dataset.quiet
    row.removeEventListener('keydown', loud)
    row.removeEventListener('blur', loud)
  }
  if (isByPointer) {
    row.dataset.quiet = ''
    row.addEventListener('keydown', loud)
    row.addEventListener('blur', loud)
  }
  row.focus()
}

/**
 * @param {import('../../store/index.js').Store} store
 * @param {() => import('../../store/index.js').Message} message
 * @param {() => void} close
 */
export function editMessage(store, message, close) {
  const { id, channel_id: channel } = message()
  const content = computed(() => message().content)
  const problem = h('p', { class: 'error', role: 'alert', hidden: true })
  // The focus goes back to where the editing began: the field in which Up was pressed, or the row.
  const from = document.activeElement instanceof HTMLTextAreaElement ? document.activeElement : null
  const isByPointer = !document.activeElement?.matches(':focus-visible')
  const key = `edit/${id}`
  const area = h('textarea', {
    rows: 1, dir: 'auto', 'aria-label': t('chat.editLabel'),
    oninput: () => { changed() },
  })
  const changed = () => {
    store.drafts.set(key, area.value === content.peek() ? '' : area.value)
    grow(area)
  }
  const completion = completing(store, area, changed, () => channel)
  showDraft(area, store.drafts.get(key), () => content.value, () => grow(area))
  let waits = false
  const save = async () => {
    const text = area.value.trim()
    if (text === content.peek() || (!text && mediaOf(message()).length === 0)) return leave()
    if (waits) return
    waits = true
    try {
      await store.api.updateMessage(channel, { message_id: id, content: text })
      leave()
    } catch (error) {
      problem.textContent = wording.explain(error)
      problem.hidden = false
    }
    waits = false
  }
  const leave = () => {
    const row = area.closest('.row')
    store.drafts.set(key, '')
    close()
    if (from?.isConnected) from.focus()
    else if (row instanceof HTMLElement) focusRow(row, isByPointer)
  }
  area.addEventListener('keydown', event => {
    if (event.isComposing || event.keyCode === 229 || completion.press(event)) return
    if (event.key === 'Escape') leave()
    else if (isSending(event)) void save()
    else return
    event.preventDefault()
    event.stopPropagation()
  })
  queueMicrotask(() => {
    area.focus()
    area.setSelectionRange(area.value.length, area.value.length)
  })
  return h('form', { class: 'edit', onsubmit: (/** @type {Event} */ event) => { event.preventDefault(); void save() } },
    area, completion.node, problem,
    h('div', { class: 'form-buttons' },
      h('button', { type: 'button', class: 'button', onclick: leave }, t('common.cancel')),
      h('button', { class: 'button primary' }, t('common.save'))))
}
