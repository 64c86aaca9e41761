// Values that tell who reads them when they change.
//
// A signal holds a value; reading it inside a computed value or an effect makes these depend on it. Effects run again after the
// outermost change is done. Every effect belongs to the owner that is current when it is made, and dies with it.

import { Reader, Source, untracked } from './reading.js'

export { untracked }

/**
 * @template T
 * @typedef {object} Signal
 * @property {T} value Reading it subscribes the reader; writing it tells the readers, unless the value is the same.
 * @property {() => T} peek The value, without subscribing the reader.
 */

/**
 * @template T
 * @typedef {{ readonly value: T, peek: () => T }} Computed
 */

/** @type {Owner | null} */
let owner = null
let batches = 0
/** Effects that have to run when the outermost batch ends. @type {Set<() => void>} */
const waiting = new Set()

/** Holds what ends together: effects, other owners, and functions that clean up. */
export class Owner {
  /** @type {Set<() => void>} */
  #ends = new Set()
  #outer = owner
  #ended = false

  constructor() {
    if (this.#outer) this.#outer.#ends.add(this.end)
  }

  /**
   * Runs a function whose effects belong to this owner, without subscribing whoever runs now.
   *
   * @template T
   * @param {() => T} run
   * @returns {T}
   */
  run(run) {
    const outer = owner
    owner = this
    try {
      return untracked(run)
    } finally {
      owner = outer
    }
  }

  /** @param {() => void} end Runs once, when this owner ends. */
  onEnd(end) {
    if (this.#ended) end()
    else this.#ends.add(end)
  }

  end = () => {
    if (this.#ended) return
    this.#ended = true
    if (this.#outer) this.#outer.#ends.delete(this.end)
    const ends = [...this.#ends].reverse()
    this.#ends.clear()
    for (const end of ends) end()
  }
}

/**
 * Runs a function whose effects belong to nobody: they live as long as the page.
 *
 * @template T
 * @param {() => T} run
 * @returns {T}
 */
export function alone(run) {
  const outer = owner
  owner = null
  try {
    return untracked(run)
  } finally {
    owner = outer
  }
}

/** @param {() => void} end Runs when the current owner ends. */
export const onEnd = end => owner?.onEnd(end)

/** The current owner, for work that goes on later. */
export const currentOwner = () => owner

/**
 * @template T
 * @param {T} initial
 * @returns {Signal<T>}
 */
export function signal(initial) {
  const source = new Source()
  let current = initial
  return {
    get value() {
      source.noteReader()
      return current
    },
    set value(next) {
      if (Object.is(next, current)) return
      current = next
      source.version += 1
      batch(() => source.tellReaders())
    },
    peek: () => current,
  }
}

/**
 * A value made of signals. It is made again at the first reading after one of them has changed, and tells its readers only if it
 * is another one then. While nobody listens to it, it listens to nothing, so that what lives long does not hold what was made of it.
 *
 * @template T
 * @param {() => T} make
 * @returns {Computed<T>}
 */
export function computed(make) {
  const source = new Source()
  /** @type {T} */
  let current
  let state = /** @type {'new' | 'stale' | 'fresh'} */ ('new')
  const inputs = new Reader(() => {
    if (state !== 'fresh') return
    state = 'stale'
    source.tellReaders()
  }, false)
  source.heard = isHeard => { inputs.listens = isHeard }
  source.refresh = () => {
    if ((state === 'fresh' && inputs.listens) || (state !== 'new' && !inputs.isStale())) {
      state = 'fresh'
      return
    }
    const next = inputs.track(make)
    if (state === 'new' || !Object.is(next, current)) source.version += 1
    current = next
    state = 'fresh'
  }
  return {
    get value() {
      source.refresh()
      source.noteReader()
      return current
    },
    peek() {
      source.refresh()
      return current
    },
  }
}

/**
 * Runs a function now, and again whenever a signal that it read has changed. What it makes (effects, cleaning up by `onEnd`) ends
 * before it runs again.
 *
 * @param {() => void} run
 * @returns {() => void} Ends the effect.
 */
export function effect(run) {
  const whole = new Owner()
  /** @type {Owner | null} */
  let made = null
  const again = () => {
    made?.end()
    made = whole.run(() => new Owner())
    const body = made
    inputs.track(() => {
      const outer = owner
      owner = body
      try {
        run()
      } finally {
        owner = outer
      }
    })
  }
  const ifStale = () => {
    if (inputs.isStale()) again()
  }
  const inputs = new Reader(() => {
    waiting.add(ifStale)
    if (batches === 0) flush()
  }, true)
  whole.onEnd(() => {
    inputs.forget()
    waiting.delete(ifStale)
    effects -= 1
  })
  effects += 1
  again()
  return whole.end
}

let effects = 0

/** How many effects live: a test compares it before and after a day of work. */
export const liveEffects = () => effects

/**
 * Makes many changes, and runs the effects once at the end.
 *
 * @template T
 * @param {() => T} change
 * @returns {T}
 */
export function batch(change) {
  batches += 1
  try {
    return change()
  } finally {
    batches -= 1
    if (batches === 0) flush()
  }
}

/**
 * An effect that fails harms no other, nor whoever changed what it read: its error is reported like any that nobody caught.
 *
 * @param {() => void} run
 */
function attempt(run) {
  try {
    run()
  } catch (error) {
    queueMicrotask(() => { throw error })
  }
}

/** Runs the effects that wait, and those that they cause: at most 100 rounds, since a circle of effects never ends. */
function flush() {
  batches += 1
  try {
    for (let round = 0; waiting.size > 0; round += 1) {
      const now = [...waiting]
      waiting.clear()
      if (round === 100) throw new Error('effects cause each other without end')
      for (const run of now) attempt(run)
    }
  } finally {
    batches -= 1
  }
}
