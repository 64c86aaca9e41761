// Dialogs, on the browser's own element: it keeps the focus inside, and gives it back.

import { mount, h } from './element.js'
import { icon } from './icons.js'
import { wording } from './wording.js'

let titles = 0

/**
 * Opens a dialog.
 *
 * @template T
 * @param {object} dialog
 * @param {import('./element.js').Child} dialog.title
 * @param {(close: (result?: T) => void) => import('./element.js').Child} dialog.body
 * @param {boolean} [dialog.wide]
 * @param {string} [dialog.className]
 * @returns {Promise<T | undefined>} What it was closed with; nothing if the person left it.
 */
export function openDialog({ title, body, wide = false, className = '' }) {
  return new Promise(resolve => {
    const back = document.activeElement
    const id = `dialog-${titles += 1}`
    const element = h('dialog', { class: `dialog ${wide ? 'wide' : ''} ${className}`, 'aria-labelledby': id })
    /** @type {T | undefined} */
    let result
    /** @param {T} [given] */
    const close = given => {
      result = given
      element.close()
    }
    const unmount = mount(element, () => [
      h('header', { class: 'dialog-head' },
        h('h2', { id }, title),
        h('button', { type: 'button', class: 'icon-button', 'aria-label': wording.close(), onclick: () => close() }, icon('close'))),
      h('div', { class: 'dialog-body' }, body(close)),
    ])
    element.addEventListener('close', () => {
      unmount()
      element.remove()
      if (back instanceof HTMLElement && back.isConnected) {
        // After a press Chromium has brought the focus back by itself, but not the caret: what is typed would go nowhere.
        if (back === document.activeElement && back.matches('input, textarea')) back.blur()
        back.focus()
      }
      resolve(result)
    })
    // A press on the backdrop closes; one that began inside, as when text is selected, doesn't.
    element.addEventListener('pointerdown', event => {
      if (event.target === element && !inside(element, event)) close()
    })
    document.body.append(element)
    element.showModal()
    const first = element.querySelector('[autofocus]')
      ?? element.querySelector('.dialog-body input, .dialog-body textarea, .dialog-body select, .dialog-body button')
    if (first instanceof HTMLElement) first.focus()
  })
}

/**
 * @param {Element} element
 * @param {PointerEvent} event
 */
function inside(element, { clientX: x, clientY: y }) {
  const box = element.getBoundingClientRect()
  return x >= box.left && x <= box.right && y >= box.top && y <= box.bottom
}

/**
 * Asks before something is done.
 *
 * @param {{ title: string, text?: import('./element.js').Child, action: string, danger?: boolean }} question
 * @returns {Promise<boolean>}
 */
export async function confirm({ title, text, action, danger = false }) {
  const answer = await openDialog({
    title,
    body: close => [
      text && h('p', null, text),
      h('div', { class: 'dialog-buttons' },
        h('button', { type: 'button', class: 'button', onclick: () => close(false) }, wording.cancel()),
        h('button', { type: 'button', class: `button ${danger ? 'danger' : 'primary'}`, onclick: () => close(true) }, action)),
    ],
  })
  return answer === true
}
