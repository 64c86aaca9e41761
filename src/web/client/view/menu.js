// Menus: a list of actions beside the control that opened it.

import { h } from './element.js'
import { icon } from './icons.js'

/**
 * @typedef {object} Item
 * @property {string} label
 * @property {string} [icon]
 * @property {boolean} [danger]
 * @property {boolean} [checked] Shows a mark; for choices of which one holds.
 * @property {() => unknown} run
 */

/** @type {(() => void) | null} */
let closeOpen = null

/**
 * Opens a menu at its control, by keyboard and pointer alike.
 *
 * @param {HTMLElement} anchor
 * @param {(Item | false | null | undefined)[]} items
 * @param {{ label?: string, head?: import('./element.js').Child }} [options] The head is for the eyes: what it says belongs into the
 *   label as well.
 */
export function openMenu(anchor, items, { label, head } = {}) {
  closeOpen?.()
  const shown = items.filter(item => !!item)
  const menu = h('div', { class: 'menu', role: 'menu', 'aria-label': label ?? anchor.getAttribute('aria-label') },
    head && h('div', { class: 'menu-head', 'aria-hidden': 'true' }, head),
    shown.map(item => h('button', {
      type: 'button',
      role: item.checked == null ? 'menuitem' : 'menuitemradio',
      'aria-checked': item.checked == null ? null : String(item.checked),
      tabindex: -1,
      class: item.danger ? 'danger' : '',
      onclick: () => {
        close(true)
        item.run()
      },
    }, item.icon && icon(item.icon), h('span', null, item.label), item.checked && icon('check'))))
  const buttons = /** @type {HTMLElement[]} */ ([...menu.querySelectorAll('button')])
  const close = (/** @type {boolean} */ back) => {
    closeOpen = null
    menu.remove()
    removeEventListener('pointerdown', outside, true)
    removeEventListener('resize', leave)
    tell(anchor, false)
    if (back && anchor.isConnected) anchor.focus()
  }
  const leave = () => close(false)
  const outside = (/** @type {Event} */ event) => {
    if (event.target instanceof Node && !menu.contains(event.target)) close(false)
  }
  menu.addEventListener('keydown', event => {
    const at = buttons.indexOf(/** @type {HTMLElement} */ (document.activeElement))
    const to = /** @type {Record<string, number>} */ ({ ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: -1 })[event.key]
    if (to != null) buttons.at(to % buttons.length)?.focus()
    else if (event.key === 'Escape' || event.key === 'Tab') close(true)
    else return
    event.preventDefault()
    event.stopPropagation()
  })
  closeOpen = leave
  // What is outside of a modal dialog can't be reached, and who jumps from landmark to landmark misses what is outside of all.
  const around = anchor.closest('dialog, main, nav, [role="main"], [role="navigation"], [role="complementary"]') ?? document.body
  around.append(menu)
  putBeside(menu, anchor)
  tell(anchor, true)
  addEventListener('pointerdown', outside, true)
  addEventListener('resize', leave)
  buttons[0]?.focus()
}

/**
 * Tells whether what a control opened is open. A row that was pressed for long is none.
 *
 * @param {HTMLElement} anchor
 * @param {boolean} isOpen
 */
export function tell(anchor, isOpen) {
  if (anchor.matches('button')) anchor.setAttribute('aria-expanded', String(isOpen))
}

/**
 * Below the anchor, or above it where there is no room; to the side that has more of it; always within the window.
 *
 * @param {HTMLElement} menu
 * @param {HTMLElement} anchor
 */
export function putBeside(menu, anchor) {
  const [at, size] = [anchor.getBoundingClientRect(), menu.getBoundingClientRect()]
  const left = at.left + at.right < innerWidth ? at.left : at.right - size.width
  const top = at.bottom + size.height + 8 > innerHeight ? at.top - size.height - 4 : at.bottom + 4
  menu.style.setProperty('left', `${Math.max(8, Math.min(left, innerWidth - size.width - 8))}px`)
  menu.style.setProperty('top', `${Math.max(8, Math.min(top, innerHeight - size.height - 8))}px`)
}
