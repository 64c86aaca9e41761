// The results of a search on the server, page by page.

import { batch, onEnd, signal } from '../base/signal.js'
import { wording } from './wording.js'

/**
 * Holds the results of the last query. Answers to earlier queries are dropped, and a row that is on two pages is kept once.
 *
 * @template {{ id: string }} T
 * @template {object} Q
 * @param {(query: Q) => Promise<{ data: T[], next?: any, total?: number }>} fetchPage
 */
export function paged(fetchPage) {
  const rows = signal(/** @type {T[]} */ ([]))
  /** The query of the next page; null after the last one. */
  const next = signal(/** @type {Q | null} */ (null))
  /** The number of results on all pages; null until the first answer. */
  const total = signal(/** @type {number | null} */ (null))
  const isBusy = signal(false)
  const problem = signal('')
  let turn = 0
  onEnd(() => { turn += 1 })

  /** @param {Q} query @param {T[]} before */
  const load = async (query, before) => {
    const own = turn += 1
    isBusy.value = true
    try {
      const answer = await fetchPage(query)
      if (own !== turn) return
      const known = new Set(before.map(each => each.id))
      batch(() => {
        rows.value = [...before, ...answer.data.filter(each => !known.has(each.id))]
        next.value = answer.next ?? null
        total.value = answer.total ?? rows.peek().length
        problem.value = ''
        isBusy.value = false
      })
    } catch (error) {
      if (own !== turn) return
      batch(() => {
        if (before.length === 0) clear()
        problem.value = wording.explain(error)
        isBusy.value = false
      })
    }
  }
  const clear = () => batch(() => {
    turn += 1
    rows.value = []
    next.value = total.value = null
    isBusy.value = false
    problem.value = ''
  })
  return {
    rows, next, total, isBusy, problem, clear,
    /** Drops the answer that is on its way, because another query follows. */
    wait() {
      turn += 1
      isBusy.value = true
    },
    /** @param {Q} query */
    ask: query => load(query, []),
    more: async () => {
      const query = next.peek()
      if (query && !isBusy.peek()) await load(query, rows.peek())
    },
  }
}
