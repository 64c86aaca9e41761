// A field that shows a draft.

import { effect, untracked } from '../../base/signal.js'

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
