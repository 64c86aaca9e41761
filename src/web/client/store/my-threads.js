// The threads that the user follows, latest first, in the open organisation.

import { computed, signal } from '../base/signal.js'
import { isTransient } from '../net/request.js'
import { includes } from './positions.js'

const PAGE = 50
/** The first screen does not wait for them. */
const SOON_MS = 800
/** Replies that are shown with each. */
const REPLIES = 2

/** A thread as the other operations have it. The organisation's list has the participants under another name. @param {any} row */
const shownRow = ({ thread_participants: participants, ...row }) => ({ ...row, participants })

/** @param {any[]} rows */
const sorted = rows => rows.sort((one, other) => (one.last_reply === other.last_reply
  ? other.position - one.position : one.last_reply < other.last_reply ? 1 : -1))

/**
 * @param {object} options
 * @param {import('../net/request.js').Api} options.api
 * @param {() => string | null} options.organisation
 * @param {ReturnType<import('./positions.js').createRecorder>} options.recorder
 * @param {import('../base/clock.js').Clock} options.clock
 * @param {import('./retrying.js').Retrying} options.retrying
 * @param {(message: any) => void} options.seen
 */
export function createMyThreads({ api, organisation, recorder, clock, retrying, seen }) {
  const rows = signal(/** @type {any[]} */ ([]))
  const state = signal(/** @type {'loading' | 'current' | 'failed'} */ ('loading'))
  const hasMore = signal(false)
  /** @type {Map<string, Position | null>} */
  const positions = new Map()
  let before = 0
  let run = 0

  /** @param {any[]} page @param {Position | null} position */
  const note = (page, position) => {
    for (const row of page) {
      positions.set(row.thread_id, position)
      seen(row)
      row.messages.forEach(seen)
    }
  }

  const load = async () => {
    const id = organisation()
    if (!id) return
    run += 1
    const own = run
    await retrying(`threads ${own}`, async () => {
      if (own !== run) return
      try {
        await recorder.fetch(() => api.listOrganisationThreads(id, { mine: true, messages: REPLIES, limit: PAGE }), answer => {
          if (own !== run) return
          positions.clear()
          const listed = answer.data.map(shownRow)
          note(listed, answer.position)
          rows.value = sorted(listed)
          before = Number(answer.next?.before ?? 0)
          hasMore.value = before > 0
          state.value = 'current'
        })
      } catch (failure) {
        if (own !== run) return
        state.value = 'failed'
        throw failure
      }
    })
  }

  /** @param {string} thread */
  const fetch = thread => {
    const own = run
    retrying(`thread ${own} ${thread}`, async () => {
      if (own !== run) return
      try {
        await recorder.fetch(() => api.getThread(thread, { messages: REPLIES }), ({ data, position }) => {
          if (own !== run) return
          note([data], position)
          const others = rows.peek().filter(row => row.thread_id !== thread)
          // Its last reply may have been deleted since, or the user has left it.
          rows.value = data.message_count === 0 || !data.is_followed ? others : sorted([...others, data])
        })
      } catch (failure) {
        if (own !== run) return
        // Its channel is not the user's any more.
        if (!isTransient(failure)) rows.value = rows.peek().filter(row => row.thread_id !== thread)
        throw failure
      }
    })
  }

  return {
    rows: /** @type {import('../base/signal.js').Computed<any[]>} */ (rows),
    state,
    hasMore,
    load,

    /** Loads them when what people look at first stands. */
    loadSoon() {
      const own = run
      clock.after(SOON_MS, () => own === run && load())
    },

    async more() {
      const id = organisation()
      if (!id || !hasMore.peek()) return
      const own = run
      const query = { mine: true, messages: REPLIES, limit: PAGE, before }
      await recorder.fetch(() => api.listOrganisationThreads(id, query), answer => {
        if (own !== run) return
        const known = new Set(rows.peek().map(row => row.thread_id))
        const fresh = answer.data.map(shownRow).filter(row => !known.has(row.thread_id))
        note(fresh, answer.position)
        rows.value = sorted([...rows.peek(), ...fresh])
        before = Number(answer.next?.before ?? 0)
        hasMore.value = before > 0
      })
    },

    /** @param {any} data Of a `thread_unread`. @param {Position} position */
    unreadChanged(data, position) {
      if (state.peek() === 'loading' || data.organisation_id !== organisation()) return
      const known = rows.peek().find(row => row.thread_id === data.thread_id)
      if (data.message_count === 0 || !data.is_followed) {
        rows.value = rows.peek().filter(row => row !== known)
      } else if (!known) {
        fetch(data.thread_id)
      } else if (!includes(positions.get(data.thread_id), position)) {
        const { unread_count, mention_count, last_read_id, message_count, participant_count, participants, last_reply } = data
        const counts = { unread_count, mention_count, last_read_id, message_count, participant_count }
        const next = { ...known, ...counts, participants, last_reply }
        rows.value = sorted([...rows.peek().filter(row => row !== known), next])
        if (known.last_reply !== last_reply || known.message_count !== message_count) fetch(data.thread_id)
      }
    },

    /** Changes the post that began a thread. @param {string} thread @param {Position} position @param {(row: any) => any} change */
    change(thread, position, change) {
      const known = rows.peek().find(row => row.thread_id === thread)
      if (!known || includes(positions.get(thread), position)) return
      const next = change(known)
      rows.value = rows.peek().flatMap(row => (row === known ? (next ? [{ ...known, ...next }] : []) : [row]))
    },

    /** @param {string} channel The user is out of it. */
    dropChannel(channel) {
      if (rows.peek().some(row => row.channel_id === channel)) rows.value = rows.peek().filter(row => row.channel_id !== channel)
    },

    /** Another organisation is opened. */
    forget() {
      run += 1
      rows.value = []
      positions.clear()
      hasMore.value = false
      state.value = 'loading'
    },
  }
}
