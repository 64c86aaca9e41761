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
  /** @type {Set<Owner | (() => void)> | null} */
  #held = null
  #outer = owner
  #ended = false
  #last

  /** @param {() => void} [last] Runs once, after all else has ended. */
  constructor(last) {
    this.#last = last
    if (this.#outer) this.#outer.#hold(this)
  }

  /** @param {Owner | (() => void)} end */
  #hold(end) {
    this.#held ??= new Set()
    this.#held.add(end)
  }

  /**
   * Runs a function whose effects belong to this owner, without subscribing whoever runs now.
   *
   * @template T
   * @param {() => T} run
   * @returns {T}
   */
  run(run) {
    return untracked(() => this.enter(run))
  }

  /**
   * Runs a function whose effects belong to this owner.
   *
   * @template T
   * @param {() => T} run
   * @returns {T}
   */
  enter(run) {
    const outer = owner
    owner = this
    try {
      return run()
    } finally {
      owner = outer
    }
  }

  /** @param {() => void} end Runs once, when this owner ends. */
  onEnd(end) {
    if (this.#ended) end()
    else this.#hold(end)
  }

  /** Ends what it holds. It may hold other things then. */
  clear() {
    const held = this.#held
    if (!held) return
    this.#held = null
    for (const each of [...held].reverse()) each instanceof Owner ? each.end() : each()
  }

  end() {
    if (this.#ended) return
    this.#ended = true
    if (this.#outer) this.#outer.#held?.delete(this)
    this.clear()
    this.#last?.()
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
export const signal = initial => new Value(initial)

/** @template T */
class Value extends Source {
  #current

  /** @param {T} initial */
  constructor(initial) {
    super()
    this.#current = initial
  }

  get value() {
    this.noteReader()
    return this.#current
  }

  set value(next) {
    if (Object.is(next, this.#current)) return
    this.#current = next
    this.version += 1
    batch(() => this.tellReaders())
  }

  peek() {
    return this.#current
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
  const made = new Owner(() => {
    inputs.forget()
    waiting.delete(ifStale)
    effects -= 1
  })
  const body = () => made.enter(run)
  const again = () => {
    made.clear()
    inputs.track(body)
  }
  const ifStale = () => {
    if (inputs.isStale()) again()
  }
  const inputs = new Reader(() => {
    waiting.add(ifStale)
    if (batches === 0) flush()
  }, true)
  effects += 1
  again()
  return () => made.end()
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
