// Where the focus goes when something opens, or when what had it is gone.

import { isTouch } from '../view/viewport.js'

/**
 * Puts the focus where one writes. On touch that would bring up the keyboard, and where nobody may write there is no field: then the
 * talk takes it. A dialog or menu that is open keeps it, and so does what is beside.
 *
 * @param {'.main' | '.beside'} [column]
 */
export function focusTalk(column = '.main') {
  if (document.querySelector('dialog[open], .menu') || document.activeElement?.closest(`.beside:not(${column})`)) return
  const field = isTouch.matches ? null : document.querySelector(`${column} .composer textarea`)
  const to = field ?? document.querySelector(`${column} .talk`)
  if (to instanceof HTMLElement) to.focus()
}
