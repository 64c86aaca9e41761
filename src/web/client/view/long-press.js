// A finger that rests on something, which stands for the second button of a mouse. Not every browser tells of it by itself.

/** Sooner than browsers select text, or open menus of their own. */
const AFTER_MS = 450
/** Pixels that a finger moves without meaning to. */
const STILL = 10

/**
 * Handlers for an element.
 *
 * @param {(element: HTMLElement) => void} run
 */
export function longPress(run) {
  let [x, y] = [0, 0]
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let waiting
  const stop = () => clearTimeout(waiting)
  return {
    onpointerdown: (/** @type {PointerEvent} */ event) => {
      stop()
      if (event.pointerType !== 'touch' || !event.isPrimary) return
      const element = /** @type {HTMLElement} */ (event.currentTarget);
      [x, y] = [event.clientX, event.clientY]
      waiting = setTimeout(() => {
        addEventListener('click', swallow, true)
        addEventListener('pointerdown', () => removeEventListener('click', swallow, true), { capture: true, once: true })
        run(element)
      }, AFTER_MS)
    },
    onpointermove: (/** @type {PointerEvent} */ { clientX, clientY }) => { if (Math.hypot(clientX - x, clientY - y) > STILL) stop() },
    onpointerup: stop,
    // The browser takes the finger for scrolling.
    onpointercancel: stop,
    oncontextmenu: (/** @type {Event} */ event) => {
      if ('pointerType' in event && event.pointerType === 'touch') event.preventDefault()
    },
  }
}

/** What lay under the finger is not pressed when it is lifted. @param {Event} event */
function swallow(event) {
  event.preventDefault()
  event.stopPropagation()
}
