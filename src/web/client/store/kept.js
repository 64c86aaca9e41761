// What was shown last, kept for the next visit: the lists of the open organisation, and the newest page of the talks that were read
// last.
//
// It paints the first screen before the server has answered. None of it counts as current: the start replaces the lists, and each
// talk recovers from its position in the log. It is erased when the session ends, and when another version wrote it.

import { effect } from '../base/signal.js'
import { databaseStorage } from './database.js'
import { soon } from './storage.js'

const VERSION = 1
/** What the names of the databases of talk begin with; the user's id follows. */
const KEPT = 'tidings-kept-'
/** Rows of a talk, and talks. */
const ROWS = 50
const TALKS = 20
/** What changes often is written once in a while. */
const DELAY_MS = 1000

/**
 * @typedef {{ rows: any[], position: import('../net/request.js').Position, hasOlder: boolean, organisation: string, at: number }}
 *   KeptTalk
 */

/**
 * @param {object} options
 * @param {import('./storage.js').Storage} options.storage
 * @param {import('../base/clock.js').Clock} options.clock
 */
export function createKept({ storage, clock }) {
  const whose = storage.open('tidings')
  /** @type {Promise<import('./storage.js').Records> | null} */
  let records = null
  /** The talk that `last` has read along with the lists, until it is asked for. @type {{ channel: string, talk: KeptTalk | null } | null} */
  let ahead = null
  /** What waits to be written, by key. @type {Map<string, () => any>} */
  const waiting = new Map()
  /** Whose visit this is. */
  let owner = ''
  let isEnded = false
  let isPlanned = false

  const write = async () => {
    isPlanned = false
    const all = await records
    const now = [...waiting]
    waiting.clear()
    for (const [key, make] of now) {
      const value = isEnded ? null : make()
      if (all && value) await all.set(key, value).catch(() => {})
    }
  }
  /** @param {string} key @param {() => any} make */
  const plan = (key, make) => {
    if (isEnded || !records) return
    waiting.set(key, make)
    if (isPlanned) return
    isPlanned = true
    clock.after(DELAY_MS, write)
  }

  return {
    /**
     * Who used this browser last, with what they saw.
     *
     * @param {string} [channel] Its talk is read at the same time, so that both are painted at once.
     * @returns {Promise<{ user: string, start: any } | null>}
     */
    async last(channel) {
      const last = await (await whose).get('last').catch(() => null)
      // Whoever didn't wait for it has begun with what the server answered.
      if (last?.version !== VERSION || records) return null
      owner = last.user
      records = storage.open(KEPT + owner)
      const all = await records
      const read = (/** @type {string} */ key) => all.get(key).catch(() => null)
      const [start, talk] = await Promise.all([read('start'), channel ? read(`talk/${channel}`) : null])
      if (channel) ahead = { channel, talk: talk ?? null }
      return start ? { user: last.user, start } : null
    },

    /** @param {string} user */
    async begin(user) {
      // The talk that was read belongs to the user of the last visit.
      if (user !== owner) ahead = null
      owner = user
      records = storage.open(KEPT + user)
      const last = await (await whose).get('last').catch(() => null)
      // Of another version, or of another person, nothing is read.
      if (last?.version !== VERSION || last.user !== user) await forgetVisit(storage)
      if (!isEnded) await (await whose).set('last', { user, version: VERSION }).catch(() => {})
    },

    /** @param {() => any} start Reads signals; null while there is nothing to keep. */
    keepStart: start => effect(() => {
      if (start()) plan('start', start)
    }),

    /** @param {import('./talk.js').Talk} talk @param {() => string | undefined} organisation */
    keepTalk: (talk, organisation) => effect(() => {
      if (talk.rows.value.length === 0 || talk.state.value !== 'current') return
      plan(`talk/${talk.id}`, () => {
        const [page, id] = [talk.page(ROWS), organisation()]
        return page && id ? { ...page, organisation: id, at: clock.now() } : null
      })
    }),

    /** @param {string} channel @returns {Promise<KeptTalk | null>} */
    async talk(channel) {
      const known = ahead
      ahead = null
      if (known?.channel === channel) return known.talk
      return records ? (await (await records).get(`talk/${channel}`).catch(() => null)) ?? null : null
    },

    /**
     * Erases what the user may not see any more, and the oldest.
     *
     * @param {(channel: string, organisation: string) => boolean} isListed
     */
    async prune(isListed) {
      const all = await records
      if (!all) return
      const talks = await all.list('talk/').catch(() => [])
      const latest = talks.map(([, { at }]) => at).sort((one, other) => other - one)[TALKS - 1] ?? 0
      for (const [key, talk] of talks) {
        const isGone = !isListed(key.slice('talk/'.length), talk.organisation)
        if (isGone || talk.at < latest) await all.delete(key).catch(() => {})
      }
    },

    /** The user is out of a channel. @param {string} channel */
    async drop(channel) {
      waiting.delete(`talk/${channel}`)
      ahead = null
      await (await records)?.delete(`talk/${channel}`).catch(() => {})
    },

    async forget() {
      waiting.clear()
      ahead = null
      await (await records)?.clear().catch(() => {})
    },

    /** The tab has nothing more to keep. */
    stop() {
      isEnded = true
    },

    /** The session ended: talk is erased. */
    async end() {
      this.stop()
      await this.forget()
      const notes = await whose
      // Meanwhile somebody else may have signed in, in another tab.
      const last = await notes.get('last').catch(() => null)
      if (last?.user === owner) await notes.delete('last').catch(() => {})
    },
  }
}

/**
 * What is kept of the lists, in the form of a start.
 *
 * @param {any} user
 * @param {any[]} organisations
 * @param {any} organisation
 * @param {ReturnType<import('./channels.js').createChannels>} channels
 * @param {ReturnType<import('../net/push.js').createPush>} push
 */
export function keptStart(user, organisations, organisation, channels, push) {
  if (!user || !organisation) return null
  const all = channels.of(organisation.id)
    .map(({ unread_count: thread_count, title, is_unread, call_count, ...channel }) => ({ ...channel, thread_count }))
  return {
    user,
    organisations,
    organisation: { ...organisation, permissions: { permission_list: organisation.permissions } },
    channels: all.filter(channel => !channel.is_direct),
    direct_messages: all.filter(channel => channel.is_direct),
    positions: push.own(),
  }
}

/**
 * Erases what visits have left of talk: where somebody signs in, perhaps another person. Drafts and unsent posts stay for whom they
 * belong to.
 *
 * @param {import('./storage.js').Storage} storage
 */
async function forgetVisit(storage) {
  const whose = await storage.open('tidings')
  const last = await whose.get('last').catch(() => null)
  await whose.delete('last').catch(() => {})
  // The note may be gone, or another visit's: the databases tell by their names whatever was left.
  const names = new Set((await storage.names()).filter(name => name.startsWith(KEPT)))
  if (last) names.add(KEPT + last.user)
  await Promise.all([...names].map(async name => (await storage.open(name)).clear().catch(() => {})))
}

/** [`forgetVisit`] for the screens that sign somebody in or out: a storage that doesn't answer holds nobody up. */
export const forgetLastVisit = (storage = databaseStorage()) => soon(forgetVisit(storage).then(() => null, () => null))
