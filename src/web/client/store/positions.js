// Positions in the server's log, and what was heard while something was being fetched.
//
// What is fetched is the state at one position. A publication at that position or before it is older, and changes nothing; one after it
// that was heard before the answer came has to be applied again, since the answer doesn't know of it.

/** @typedef {{ channel: string, data: any, position: Position }} Heard */

/** @param {Position | null | undefined} known @param {Position} event Whether what is known as of `known` includes the event. */
export const includes = (known, event) => Boolean(known && known.epoch === event.epoch && event.offset <= known.offset)

/** @param {(heard: Heard) => void} apply */
export function createRecorder(apply) {
  /** @type {Heard[]} */
  let log = []
  let fetching = 0
  return {
    /** @param {Heard} heard */
    note(heard) {
      if (fetching > 0) log.push(heard)
    },

    /**
     * Fetches something, and then takes the answer in together with all that was heard meanwhile.
     *
     * @template {{ position: Position | null }} A
     * @template T
     * @param {() => Promise<A>} fetch
     * @param {(answer: A) => T} take
     * @returns {Promise<T>}
     */
    async fetch(fetch, take) {
      fetching += 1
      const start = log.length
      try {
        const answer = await fetch()
        const taken = take(answer)
        for (const heard of log.slice(start)) if (!includes(answer.position, heard.position)) apply(heard)
        return taken
      } finally {
        fetching -= 1
        if (fetching === 0) log = []
      }
    },
  }
}
