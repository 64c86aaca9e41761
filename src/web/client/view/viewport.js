// What can be seen of the page. Most browsers make the page lower when a keyboard opens; in Safari on iOS it covers the page.

/** Whether a finger points: there is no hover, and a field with the focus raises a keyboard. */
export const isTouch = matchMedia('(pointer: coarse)')

/** The sizes are rounded differently. */
const ROUNDED = 1

/** Tells the style sheet in `--height` and `--top` what a keyboard leaves of the page, while one covers it. Called once. */
export function followViewport() {
  const seen = globalThis.visualViewport
  if (!seen) return
  const page = document.documentElement
  const fit = () => {
    // Who zooms in sees a part of the page, too, and reaches the rest.
    const isCovered = Math.abs(seen.scale - 1) < 0.01 && page.clientHeight - seen.height > ROUNDED
    for (const [name, value] of /** @type {const} */ ([['--height', seen.height], ['--top', seen.offsetTop]])) {
      if (isCovered) page.style.setProperty(name, `${value}px`)
      else page.style.removeProperty(name)
    }
  }
  seen.addEventListener('resize', fit)
  seen.addEventListener('scroll', fit)
}
