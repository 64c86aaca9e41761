// Opening an organisation: from what is known, from what an earlier visit has left, or with one request.

import { batch } from '../base/signal.js'
import { keptStart } from './kept.js'
import { soon } from './storage.js'

/**
 * @param {object} parts
 * @param {import('../net/request.js').Api} parts.api
 * @param {import('../base/signal.js').Signal<any>} parts.me
 * @param {ReturnType<typeof import('./organisations.js').createOrganisations>} parts.organisations
 * @param {ReturnType<typeof import('./channels.js').createChannels>} parts.channels
 * @param {ReturnType<typeof import('./people.js').createPeople>} parts.people
 * @param {ReturnType<typeof import('./my-threads.js').createMyThreads>} parts.threads
 * @param {ReturnType<typeof import('./messages.js').createMessages>} parts.messages
 * @param {ReturnType<typeof import('./loading.js').createLoading>} parts.loading
 * @param {ReturnType<typeof import('../net/push.js').createPush>} parts.push
 * @param {ReturnType<typeof import('./outgoing.js').createOutgoing>} parts.outgoing
 * @param {ReturnType<typeof import('./kept.js').createKept>} parts.kept
 * @param {() => boolean} parts.isOver
 * @param {Set<string>} parts.ownNames The names of the user's own streams.
 * @param {() => boolean} parts.isKnown Whether a start was taken in.
 * @param {(start: any) => void} parts.started
 */
export function createOpening({ api, me, organisations, channels, people, threads, messages, loading, push, outgoing, kept, isOver,
  ownNames, isKnown, started }) {
  let isConnected = false
  /** What was asked for last is what is shown. */
  let latest = 0

  /** @param {string} id */
  const show = id => {
    if (organisations.opened.peek() === id) return
    batch(() => {
      organisations.opened.value = id
      people.forget()
      threads.forget()
    })
    threads.loadSoon()
    // The next visit begins here; that it could not be noted harms nobody.
    if (me.peek().current_org !== id) api.switchOrganisation({ current_org: id }).catch(() => {})
  }

  /** @param {string | null} token @param {Iterable<[string, Position | null]>} places */
  const connect = (token, places) => {
    const all = [...places]
    for (const [name] of all) ownNames.add(name.split('/')[0])
    if (isConnected) return
    isConnected = true
    push.start(token, all)
    outgoing.resume()
    kept.keepStart(() => keptStart(me.value, organisations.organisations.value, organisations.organisation.value, channels, push))
  }

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
    const last = isConnected ? null : await soon(kept.last(channel))
    if (!last || isKnown() || (slug && last.start.organisation.organisation_slug !== slug)) return false
    batch(() => {
      started({ ...last.start, tokens: [] })
      organisations.take(last.start, null)
      show(last.start.organisation.id)
    })
    begin(own, last.start.organisation.organisation_slug, channel).catch(() => {
      if (isOver()) return
      // The connection comes back by itself, and goes on from what is kept.
      connect(null, last.start.places)
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
