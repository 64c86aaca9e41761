// The messages of a talk in the order of their positions: one piece of it without gaps, and what is known of each as of which
// position.

import { signal } from '../base/signal.js'
import { includes } from './positions.js'

/** @typedef {import('#api').components['schemas']['Message']} Message */

export const NEVER = '0001-01-01T00:00:00Z'

/** At most so many rows are held; past that, those at the other end are dropped. */
const MOST_ROWS = 300
/** So many are left then. When rows above go, the browser lays out and draws all others anew: too dear to be done for each post. */
const LEFT_ROWS = 250

/** @param {Message[]} rows */
const sorted = rows => rows.sort((one, other) => one.position - other.position)

export function createRows() {
  const rows = signal(/** @type {Message[]} */ ([]))
  /** As of which position a row is known. @type {Map<string, Position>} */
  const positions = new Map()
  /** Ids of rows that are gone: an answer that comes late doesn't bring them back. @type {Set<string>} */
  const gone = new Set()

  /** @param {string} id */
  const find = id => rows.peek().find(row => row.id === id)

  return {
    rows,
    find,

    /** A page alone. @param {Message[]} page @param {Position | null} position */
    replace(page, position) {
      positions.clear()
      gone.clear()
      for (const { id } of page) if (position) positions.set(id, position)
      rows.value = sorted([...page])
    },

    /** A page that goes on from what is there. @param {Message[]} page @param {Position | null} position */
    join(page, position) {
      const fresh = page.filter(({ id }) => !gone.has(id))
      const ids = new Set(fresh.map(({ id }) => id))
      for (const id of ids) if (position) positions.set(id, position)
      rows.value = sorted([...rows.peek().filter(({ id }) => !ids.has(id)), ...fresh])
    },

    /** A message that was posted. @param {Message} message @param {Position | null} position Null if only an answer told of it. */
    add(message, position) {
      if (gone.has(message.id) || (position && includes(positions.get(message.id), position))) return
      const known = find(message.id)
      if (known && !position) return
      const others = rows.peek().filter(row => row !== known)
      rows.value = sorted([...others, message])
    },

    /**
     * Changes a row by an event, unless what is known includes it.
     *
     * @param {string} id
     * @param {Position} position
     * @param {(row: Message) => Message | null} change Null removes it.
     */
    change(id, position, change) {
      const known = find(id)
      if (!known || includes(positions.get(id), position)) return
      const next = change(known)
      if (next === null) this.remove(id)
      else rows.value = rows.peek().map(row => (row === known ? next : row))
    },

    /** @param {string} id */
    remove(id) {
      gone.add(id)
      if (!find(id)) return
      positions.delete(id)
      rows.value = rows.peek().filter(row => row.id !== id)
    },

    /** Drops rows at one end past the bound. @param {'oldest' | 'newest'} end @returns {boolean} Whether some were dropped. */
    trim(end) {
      const all = rows.peek()
      if (all.length <= MOST_ROWS) return false
      const kept = end === 'oldest' ? all.slice(-LEFT_ROWS) : all.slice(0, LEFT_ROWS)
      const ids = new Set(kept.map(({ id }) => id))
      for (const { id } of all) if (!ids.has(id)) positions.delete(id)
      rows.value = kept
      return true
    },
  }
}
