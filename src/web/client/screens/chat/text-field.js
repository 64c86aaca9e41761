// What the composer and the editing of a message have in common: their field shows a draft, grows, and sends by a key.

import { effect, untracked } from '../../base/signal.js'
import { isTouch } from '../../view/viewport.js'
import { enterSends } from '../browser-settings.js'

/** Whether Enter sends here, or Ctrl+Enter, for those who want Enter to begin a new line. On touch it begins one always. */
export const sendsByEnter = () => !isTouch.matches && enterSends.value

/** @param {KeyboardEvent} event */
export function isSending(event) {
  if (event.key !== 'Enter' || event.altKey) return false
  return event.ctrlKey || event.metaKey || (sendsByEnter() && !event.shiftKey)
}

/** Browsers without `field-sizing` are told the height that a field's text needs. @param {HTMLTextAreaElement} area */
export function grow(area) {
  if (CSS.supports('field-sizing', 'content')) return
  area.style.setProperty('height', 'auto')
  area.style.setProperty('height', `${area.scrollHeight}px`)
}

/**
 * Shows a draft in its field, also when it comes later: from storage, from a message that was taken back, or from another tab. A
 * field with the focus keeps what was written into it. The next key makes that the draft; if there is none, the field shows the
 * other text when it loses the focus.
 *
 * @param {HTMLTextAreaElement} area
 * @param {import('../../base/signal.js').Signal<string>} draft
 * @param {() => string} without What stands in the field if there is no draft.
 * @param {() => void} shown
 */
export function showDraft(area, draft, without, shown) {
  const show = () => {
    const text = draft.value || without()
    if (text === area.value || (hasFocus(area) && area.value !== untracked(without))) return
    area.value = text
    shown()
  }
  area.value = draft.peek() || untracked(without)
  // Its height can be told once it stands in the page.
  queueMicrotask(shown)
  effect(show)
  area.addEventListener('blur', () => { if (draft.peek()) show() })
}

/** Whether keys go to a field: not in a tab or a window behind another. @param {Element} area */
const hasFocus = area => document.hasFocus() && document.activeElement === area
