// Work that waits a moment.

import { onEnd } from '../base/signal.js'

/**
 * Runs a function once the calls have paused, so that a search doesn't ask at every key.
 *
 * @param {() => unknown} run
 * @param {number} [pause] Milliseconds.
 */
export function delayed(run, pause = 200) {
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let waiting
  onEnd(() => clearTimeout(waiting))
  return () => {
    clearTimeout(waiting)
    waiting = setTimeout(run, pause)
  }
}

/** Runs a function right after the next frame has been drawn. @param {() => void} run */
export const afterPaint = run => requestAnimationFrame(() => setTimeout(run))
