// Time, as what waits takes it: tests bring a clock of their own.

/**
 * @typedef {object} Clock
 * @property {() => number} now Milliseconds since 1970.
 * @property {(ms: number, run: () => void) => () => void} after Runs something once, later; the answer cancels it.
 */

/** @type {Clock} */
export const clock = {
  now: () => Date.now(),
  after: (ms, run) => {
    // A longer time would end at once.
    const timer = setTimeout(run, Math.min(ms, 0x7fff_ffff))
    return () => clearTimeout(timer)
  },
}

/** @param {Clock} clock @param {number} ms @returns {Promise<void>} */
export const pause = (clock, ms) => new Promise(resolve => void clock.after(ms, resolve))

/**
 * How long to wait before another attempt: anything up to a bound that doubles, so that the tabs of a server that restarts don't
 * come back together.
 *
 * @param {number} attempt 0 for the first.
 * @param {{ first?: number, most?: number, random?: () => number }} [bounds]
 */
export const backoff = (attempt, { first = 1000, most = 20_000, random = Math.random } = {}) =>
  random() * Math.min(most, first * 2 ** Math.min(attempt, 16))
