// The arrows in a grid whose lines are where they are shown, whatever groups they stand in.

/**
 * One cell is reached by Tab, the others by the arrows.
 *
 * @param {HTMLElement} grid
 * @param {string} selector Of the cells.
 * @param {HTMLElement} above Where "up" leads from the first line.
 */
export function inGrid(grid, selector, above) {
  const cells = () => /** @type {HTMLElement[]} */ ([...grid.querySelectorAll(`:scope > :not([hidden]) ${selector}`)])
  grid.addEventListener('focusin', event => {
    if (!(event.target instanceof HTMLElement) || !event.target.matches(selector)) return
    for (const other of grid.querySelectorAll(`${selector}[tabindex="0"]`)) other.setAttribute('tabindex', '-1')
    event.target.setAttribute('tabindex', '0')
  })
  grid.addEventListener('keydown', event => {
    const all = cells()
    const at = all.indexOf(/** @type {HTMLElement} */ (event.target))
    if (at < 0) return
    const forward = document.documentElement.dir === 'rtl' ? -1 : 1
    /** @type {Record<string, () => HTMLElement | undefined>} */
    const ways = {
      ArrowRight: () => all[at + forward],
      ArrowLeft: () => all[at - forward],
      ArrowDown: () => inLine(all, at, 1),
      ArrowUp: () => inLine(all, at, -1) ?? above,
      Home: () => all[0],
      End: () => all[all.length - 1],
    }
    const way = ways[event.key]
    if (!way) return
    event.preventDefault()
    way()?.focus()
  })
}

/**
 * The cell of the next line that is nearest to one.
 *
 * @param {HTMLElement[]} cells
 * @param {number} at
 * @param {1 | -1} step
 */
function inLine(cells, at, step) {
  const from = cells[at].getBoundingClientRect()
  /** @type {{ cell: HTMLElement, top: number, far: number } | undefined} */
  let best
  for (let index = at + step; cells[index]; index += step) {
    const { top, left } = cells[index].getBoundingClientRect()
    if (Math.abs(top - from.top) < 2) continue
    if (best && Math.abs(top - best.top) >= 2) break
    const far = Math.abs(left - from.left)
    if (!best || far < best.far) best = { cell: cells[index], top, far }
  }
  return best?.cell
}
