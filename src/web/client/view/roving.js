// One row of a list is reached by Tab, the others by the arrows.

/**
 * @param {HTMLElement} parent
 * @param {string} selector Of what takes the focus.
 */
export function roving(parent, selector) {
  const rows = () => /** @type {HTMLElement[]} */ ([...parent.querySelectorAll(selector)])
  const choose = (/** @type {HTMLElement} */ row) => {
    for (const other of parent.querySelectorAll(`${selector}[tabindex="0"]`)) other.setAttribute('tabindex', '-1')
    row.setAttribute('tabindex', '0')
  }
  parent.addEventListener('focusin', event => {
    const row = event.target instanceof Element ? event.target.closest(selector) : null
    if (row instanceof HTMLElement) choose(row)
  })
  parent.addEventListener('keydown', event => {
    if (!(event.target instanceof HTMLElement) || !event.target.matches(selector)) return
    const all = rows()
    const at = all.indexOf(event.target)
    const to = /** @type {Record<string, number>} */ ({ ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: all.length - 1 })[event.key]
    const row = to == null ? null : all[to]
    if (!row) return
    event.preventDefault()
    row.focus()
  })
}
