// Opening an organisation: from what is known, from what an earlier visit has left, or with one request.

import { batch } from '../base/signal.js'
import { soon } from './storage.js'

/**
 * @param {object} options
 * @param {Pick<import('./session.js').Parts, 'organisations' | 'channels' | 'messages'>} options.parts
 * @param {ReturnType<typeof import('./loading.js').createLoading>} options.loading
 * @param {ReturnType<typeof import('./kept.js').createKept>} options.kept
 * @param {() => boolean} options.isOver
 * @param {() => boolean} options.isKnown Whether a start was taken in.
 * @param {(start: any) => void} options.started
 * @param {(organisation: string) => void} options.show
 * @param {(token: string | null, positions: [string, Position | null][]) => void} options.connect
 *   The first call connects; a later one only adds the names of the user's own streams.
 */
export function createOpening({ parts: { organisations, channels, messages }, loading, kept, isOver, isKnown, started, show, connect }) {
  /** What was asked for last is what is shown. */
  let latest = 0

  /**
   * Fetches the start, and connects with what it gives. Where nothing is shown yet, the channel's first page is asked for at the
   * same time.
   *
   * @param {number} own
   * @param {string} [slug]
   * @param {string} [channel]
   */
  const begin = async (own, slug, channel) => {
    const starting = loading.fetchStart(slug, channel)
    const use = channel && !isKnown() ? messages.ask(channel) : null
    const { start, position } = await starting
    // The session may have changed between the two: nobody is shown what somebody else could read.
    if (channel && channels.peek(channel)) use?.()
    if (start.organisation && own === latest) show(start.organisation.id)
    connect(start.connection_token, start.streams.map((/** @type {string} */ name) => [name, position]))
  }

  /**
   * Shows what an earlier visit has left, if that is what is asked for, while the start is on its way.
   *
   * @param {number} own
   * @param {string} [slug]
   * @param {string} [channel]
   * @returns {Promise<boolean>}
   */
  const restore = async (own, slug, channel) => {
    const last = isKnown() ? null : await soon(kept.last(channel))
    if (!last || isKnown() || (slug && last.start.organisation.organisation_slug !== slug)) return false
    batch(() => {
      started({ ...last.start, tokens: [] })
      organisations.take(last.start, null)
      show(last.start.organisation.id)
    })
    begin(own, last.start.organisation.organisation_slug, channel).catch(() => {
      if (isOver()) return
      // The connection comes back by itself, and goes on from what is kept.
      connect(null, last.start.positions)
      loading.refresh()
    })
    return true
  }

  return {
    /**
     * Opens an organisation: with one request if its channels are not known, and from what an earlier visit has left meanwhile.
     *
     * @param {{ slug?: string, channel?: string }} [place] Without a slug, where the user was last.
     */
    async open({ slug, channel } = {}) {
      latest += 1
      const own = latest
      const known = slug ? organisations.bySlug(slug) : null
      if (known && organisations.isLoaded(known.id)) show(known.id)
      else if (!await restore(own, slug, channel)) await begin(own, slug, channel)
    },
  }
}
