// The people of the open organisation, by their id. Those who are needed and not known are asked for together, once.

import { pause } from '../base/clock.js'
import { signal } from '../base/signal.js'

/** Ids in one request. */
const MOST = 100
/** Until then, what messages say of their authors stands. */
const SOON_MS = 150
/** So many are asked for again; others, when they are drawn. */
const MOST_AGAIN = 200

/** @typedef {{ emoji: string, text: string, until: string | null }} Status What somebody says that they do now. */

/**
 * @typedef {object} Person
 * @property {string} user_id
 * @property {string} username
 * @property {string} full_name
 * @property {string} avatar_url
 * @property {string} [user_type] `bot` for a program; otherwise a person.
 * @property {string} [email]
 * @property {string} [role]
 * @property {string} [role_name]
 * @property {number} [role_id]
 * @property {Status | null} [custom_status]
 * @property {string} [status] `removed` for somebody who has left.
 * @property {boolean} isKnown False while only a message told of them.
 */

/** @param {any} from @returns {Person} */
const person = from => ({
  user_id: from.user_id ?? from.id,
  username: from.username ?? '',
  full_name: from.full_name ?? from.fullname ?? '',
  avatar_url: from.avatar_url ?? from.profile_url ?? '',
  user_type: from.user_type,
  email: from.email,
  role: from.role_key,
  role_name: from.role_name,
  role_id: from.role_id,
  status: from.status,
  custom_status: from.custom_status ?? null,
  isKnown: true,
})

/**
 * @param {object} options
 * @param {import('../net/request.js').Api} options.api
 * @param {() => string | undefined} options.organisation
 * @param {ReturnType<import('./positions.js').createRecorder>} options.recorder
 * @param {import('../base/clock.js').Clock} options.clock
 */
export function createPeople({ api, organisation, recorder, clock }) {
  /** @type {Map<string, import('../base/signal.js').Signal<Person>>} */
  const people = new Map()
  /** @type {Set<string>} */
  const unknown = new Set()
  let isAsking = false

  /** @param {string} id */
  const record = id => {
    const known = people.get(id)
    if (known) return known
    const made = signal(/** @type {Person} */ ({ user_id: id, username: '', full_name: '', avatar_url: '', isKnown: false }))
    people.set(id, made)
    return made
  }

  const ask = async () => {
    if (isAsking) return
    isAsking = true
    // All that is drawn in one go is asked for at once, and the talk goes first.
    await pause(clock, SOON_MS)
    const [id, ids] = [organisation(), [...unknown].slice(0, MOST)]
    try {
      if (!id || ids.length === 0) return
      for (const each of ids) unknown.delete(each)
      await recorder.fetch(() => api.listOrganisationMembers(id, { ids: ids.join(',') }), ({ data }) => {
        if (id === organisation()) for (const each of data) put(each)
      })
    } catch {
      // What a message says of its author stays until somebody asks again.
      for (const each of ids) asked.delete(each)
      return
    } finally {
      isAsking = false
    }
    if (unknown.size > 0) ask()
  }

  /** @type {Set<string>} */
  const asked = new Set()
  /** Who is known to be of the open organisation. @type {Set<string>} */
  const here = new Set()

  /** @param {any} from */
  const put = from => {
    const next = person(from)
    asked.add(next.user_id)
    here.add(next.user_id)
    unknown.delete(next.user_id)
    record(next.user_id).value = next
  }

  return {
    put,

    /** @param {string} id @returns {Person} Reactive. */
    person(id) {
      const found = record(id)
      if (id && !asked.has(id)) {
        asked.add(id)
        unknown.add(id)
        ask()
      }
      return found.value
    },

    /** Who can be named without asking the server. @returns {Person[]} */
    known: () => [...here].map(id => record(id).peek())
      .filter(each => each.username && each.status !== 'removed' && each.status !== 'deactivated'),

    /** What a message says of its author stands until the person is known. What a webhook posts has a name of its own. @param {any} from */
    hint(from) {
      if (!from.user_id || from.user_type === 'webhook') return
      here.add(from.user_id)
      const found = record(from.user_id)
      if (!found.peek().isKnown && !found.peek().username) found.value = { ...person(from), isKnown: false }
    },

    /** @param {any} data Of a `member_update`. */
    update(data) {
      if (people.has(data.user_id)) put({ ...data, status: data.action === 'removed' ? 'removed' : data.status })
    },

    /** A role has another name. @param {any} role Of a `role_update`. */
    roleChanged(role) {
      for (const each of people.values()) {
        if (each.peek().role_id === role.id) each.value = { ...each.peek(), role: role.key, role_name: role.name }
      }
    },

    /** @param {string} q @param {{ channel?: string, limit?: number }} [options] @returns {Promise<Person[]>} */
    async find(q, { channel, limit = 8 } = {}) {
      const id = organisation()
      if (!id) return []
      return recorder.fetch(() => api.listOrganisationMembers(id, { q, channel_id: channel, limit }), ({ data }) => {
        for (const each of data) put(each)
        return data.filter(each => each.status !== 'deactivated').map(person)
      })
    },

    /** The user's own names and status, wherever they are. @param {any} user */
    rename(user) {
      const known = record(user.user_id)
      const { username, full_name, avatar_url, email, custom_status } = person(user)
      known.value = { ...known.peek(), username, full_name, avatar_url, email, custom_status }
    },

    /** Another organisation shows other roles, or what happened here was not heard: who is known is asked for again. */
    forget() {
      const known = [...asked].slice(-MOST_AGAIN)
      asked.clear()
      here.clear()
      unknown.clear()
      for (const id of known) {
        asked.add(id)
        unknown.add(id)
      }
      ask()
    },
  }
}
