// Which key sends: Enter, or Ctrl+Enter for those who want Enter to begin a new line. On touch Enter always does.

import { isTouch } from '../../view/viewport.js'
import { enterSends } from '../browser-settings.js'

/** Whether Enter sends here. */
export const sendsByEnter = () => !isTouch.matches && enterSends.value

/** @param {KeyboardEvent} event */
export function isSending(event) {
  if (event.key !== 'Enter' || event.altKey) return false
  return event.ctrlKey || event.metaKey || (sendsByEnter() && !event.shiftKey)
}
