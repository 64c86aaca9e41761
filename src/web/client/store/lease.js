// One tab at a time: whoever holds the lease does something that all tabs of a user share.

/** A tab that was closed in the middle gives way after this. */
const LEASE_MS = 15_000
const RETRY_MS = 1000

/**
 * Runs something while no other tab does. Browsers without locks, and pages over plain http, take turns by a record that runs out.
 *
 * @param {object} options
 * @param {() => string} options.name
 * @param {Promise<import('./storage.js').Records>} options.records
 * @param {import('../base/clock.js').Clock} options.clock
 * @param {LockManager | undefined} [options.locks]
 * @returns {(run: () => Promise<void>) => Promise<void>}
 */
export function createLease({ name, records, clock, locks = globalThis.navigator?.locks }) {
  const own = Math.random().toString(36).slice(2)
  const isMine = (/** @type {any} */ lease) => lease?.owner === own

  const take = async () => {
    const all = await records
    const lease = await all.update(`lease/${name()}`, known =>
      (!known || isMine(known) || known.until < clock.now() || known.until > clock.now() + LEASE_MS
        ? { owner: own, until: clock.now() + LEASE_MS } : known))
    return isMine(lease)
  }

  /** @param {() => Promise<void>} run */
  const byRecord = async run => {
    while (!(await take())) await new Promise(resolve => void clock.after(RETRY_MS, () => resolve(undefined)))
    let isOver = false
    const renew = () => void clock.after(LEASE_MS / 3, () => {
      if (isOver) return
      take()
      renew()
    })
    renew()
    try {
      await run()
    } finally {
      isOver = true
      await (await records).update(`lease/${name()}`, known => (isMine(known) ? undefined : known))
    }
  }

  return async run => {
    if (locks) await locks.request(`tidings/${name()}`, run)
    else await byRecord(run)
  }
}
