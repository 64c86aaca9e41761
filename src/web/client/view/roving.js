// One row of a list is reached by Tab, the others by the arrows. What is in a row is reached by Tab from the row.

/** What takes the focus by itself. */
const CONTROLS = 'a, button, textarea, [tabindex]'

/**
 * The last row is reached first, as long as nobody is in the list: from below, where one writes, that is the nearest.
 *
 * @param {HTMLElement} parent
 * @param {string} selector Of what takes the focus.
 */
export function roving(parent, selector) {
  const rows = () => /** @type {HTMLElement[]} */ ([...parent.querySelectorAll(selector)])
  /** The row of an element. @param {EventTarget | null} target @returns {HTMLElement | null} */
  const around = target => target instanceof Element && parent.contains(target) ? target.closest(selector) : null
  /** Puts an element, and what is in it, into the order of Tab, or out of it. @param {Element} within @param {0 | -1} order */
  const put = (within, order) => {
    for (const each of [within, ...within.querySelectorAll(CONTROLS)]) {
      if (each instanceof HTMLElement && each.matches(CONTROLS) && !each.matches(selector)) each.setAttribute('tabindex', String(order))
    }
  }
  const chosen = () => parent.querySelectorAll(`${selector}[tabindex="0"]`)
  const choose = (/** @type {HTMLElement} */ row) => {
    for (const other of chosen()) {
      other.setAttribute('tabindex', '-1')
      put(other, -1)
    }
    row.setAttribute('tabindex', '0')
  }
  /** @type {HTMLElement | undefined} */
  let last
  const follow = () => {
    const newest = rows().at(-1)
    if (newest && (newest !== last || chosen().length === 0) && !around(document.activeElement)) choose(newest)
    last = newest
  }
  put(parent, -1)
  follow()
  new MutationObserver(records => {
    const busy = around(document.activeElement)
    for (const { addedNodes } of records) {
      for (const node of addedNodes) if (node instanceof Element && !busy?.contains(node)) put(node, -1)
    }
    if (records.some(({ target }) => target === parent)) follow()
  }).observe(parent, { childList: true, subtree: true })

  parent.addEventListener('focusin', event => {
    const row = around(event.target)
    if (!row) return
    choose(row)
    put(row, 0)
  })
  parent.addEventListener('focusout', event => {
    const row = around(event.target)
    if (row && row !== around(event.relatedTarget)) put(row, -1)
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
