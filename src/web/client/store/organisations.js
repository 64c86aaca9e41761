// The user's organisations, and what is known of those that were opened.

import { computed, signal } from '../base/signal.js'

/**
 * @typedef {object} Summary
 * @property {string} id
 * @property {string} name
 * @property {string} organisation_slug
 * @property {string} logo_url
 * @property {string} org_role
 * @property {string} role_name
 * @property {boolean} pinned
 * @property {number} unread_count
 * @property {number} mention_count
 * @property {number} [direct_count] Unread posts in direct messages besides the mentions. Known once the organisation was opened.
 */

/** @typedef {{ role: string, role_name: string, permissions: Record<string, boolean> }} Rights */

/** @param {any} start Its open organisation. @returns {Rights} */
const rightsOf = start => ({ role: start.role, role_name: start.role_name, permissions: start.permissions.permission_list })

/** @param {{ channels: ReturnType<import('./channels.js').createChannels> }} options */
export function createOrganisations({ channels }) {
  /** @type {import('../base/signal.js').Signal<Map<string, Summary>>} */
  const summaries = signal(new Map())
  /**
   * What was opened is kept whole, and counts from its channels.
   *
   * @type {import('../base/signal.js').Signal<Map<string, Rights>>}
   */
  const rights = signal(new Map())
  /** @type {import('../base/signal.js').Signal<string | null>} */
  const opened = signal(/** @type {string | null} */ (null))

  /** @template V @param {Map<string, V>} map @param {string} id @param {V | null} value */
  const changed = (map, id, value) => {
    const next = new Map(map)
    if (value === null) next.delete(id)
    else next.set(id, value)
    return next
  }

  /** @param {Summary} summary @returns {Summary} */
  const counted = summary => {
    if (!rights.value.has(summary.id)) return summary
    const all = channels.of(summary.id)
    return {
      ...summary,
      unread_count: all.reduce((sum, { is_muted, unread_count }) => sum + (is_muted ? 0 : unread_count), 0),
      mention_count: all.reduce((sum, channel) => sum + channel.mention_count, 0),
      direct_count: all.reduce((sum, { is_direct, is_muted, unread_count, mention_count }) =>
        sum + (is_direct && !is_muted ? Math.max(0, unread_count - mention_count) : 0), 0),
    }
  }

  const organisations = computed(() => [...summaries.value.values()].map(counted)
    .sort((one, other) => one.name.localeCompare(other.name) || (one.id < other.id ? -1 : 1)))

  const organisation = computed(() => {
    const id = opened.value
    const [summary, held] = id ? [summaries.value.get(id), rights.value.get(id)] : []
    return summary && held ? { id: summary.id, name: summary.name, organisation_slug: summary.organisation_slug,
      logo_url: summary.logo_url, ...held } : null
  })

  /** @param {string} id */
  const remove = id => {
    summaries.value = changed(summaries.peek(), id, null)
    rights.value = changed(rights.peek(), id, null)
    channels.forget(id)
    if (opened.peek() === id) opened.value = null
  }

  return {
    organisations,
    organisation,
    opened,
    remove,

    /** @param {string} id */
    has: id => summaries.peek().has(id),
    /** Whether its channels are known. @param {string} id */
    isLoaded: id => rights.peek().has(id),
    /** @param {string} id */
    summary: id => summaries.peek().get(id) ?? null,
    /** @param {string} slug */
    bySlug: slug => [...summaries.peek().values()].find(one => one.organisation_slug === slug) ?? null,

    /**
     * @param {any} start
     * @param {Position | null} position
     */
    take(start, position) {
      for (const id of summaries.peek().keys()) {
        if (!start.organisations.some((/** @type {Summary} */ one) => one.id === id)) remove(id)
      }
      summaries.value = new Map(start.organisations.map((/** @type {Summary} */ one) => [one.id, one]))
      if (!start.organisation) return
      rights.value = changed(rights.peek(), start.organisation.id, rightsOf(start.organisation))
      channels.replace(start, start.organisation.id, position)
    },

    /** @param {string} id @param {Partial<Summary>} change */
    update(id, change) {
      const known = summaries.peek().get(id)
      if (known) summaries.value = changed(summaries.peek(), id, { ...known, ...change })
    },

    /** @param {string} id @param {Partial<Rights>} change */
    updateRights(id, change) {
      const known = rights.peek().get(id)
      if (known) rights.value = changed(rights.peek(), id, { ...known, ...change })
    },

    /** Forgets the channels of all organisations but one: they may have changed unheard. @param {string | null} but */
    unload(but) {
      for (const id of rights.peek().keys()) {
        if (id === but) continue
        rights.value = changed(rights.peek(), id, null)
        channels.forget(id)
      }
    },
  }
}
