// What is fetched behind a person's back: until it succeeds, and as often as it is needed.

import { backoff, pause } from '../base/clock.js'
import { isTransient, Refusal } from '../net/request.js'

/** @typedef {(name: string, run: () => Promise<unknown>) => Promise<void>} Retrying */

/**
 * @param {object} options
 * @param {import('../base/clock.js').Clock} options.clock
 * @param {() => boolean} options.isOver
 * @returns {Retrying} Calls `run` until it succeeds or is refused. Called with the same name meanwhile, it calls `run` once more after that.
 */
export function createRetrying({ clock, isOver }) {
  /** What is under way, by name, and whether it has to be done once more. @type {Map<string, boolean>} */
  const running = new Map()
  return async (name, run) => {
    if (running.has(name)) return void running.set(name, true)
    do {
      running.set(name, false)
      // What a frame brings asks once.
      await Promise.resolve()
      for (let attempt = 0; !isOver(); attempt += 1) {
        try {
          await run()
          break
        } catch (error) {
          if (!isTransient(error)) break
          const least = error instanceof Refusal ? (error.retryAfter ?? 0) * 1000 : 0
          await pause(clock, least + backoff(attempt))
        }
      }
    } while (running.get(name) && !isOver())
    running.delete(name)
  }
}
