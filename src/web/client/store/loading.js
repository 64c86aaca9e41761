// What is fetched behind a person's back: the start again, channels that came, and organisations that something happened in.

import { batch } from '../base/signal.js'
import { Refusal } from '../net/request.js'

/**
 * @param {object} options
 * @param {import('../net/request.js').Api} options.api
 * @param {import('./retrying.js').Retrying} options.retrying
 * @param {ReturnType<import('./positions.js').createRecorder>} options.recorder
 * @param {ReturnType<import('./channels.js').createChannels>} options.channels
 * @param {ReturnType<import('./organisations.js').createOrganisations>} options.organisations
 * @param {(start: any) => void} options.started Takes the rest of a start in.
 * @param {() => void} options.listed The channels of an organisation are known.
 */
export function createLoading({ api, retrying, recorder, channels, organisations, started, listed }) {
  /** The position of the latest start that was taken in. @type {import('../net/request.js').Position | null} */
  let latest = null

  /** @param {string} [slug] @param {string} [channel] @returns {Promise<any>} The start and its position. */
  const fetchStart = async (slug, channel) => {
    const taken = await recorder.fetch(() => api.start({ slug, channel }), ({ data, position }) => {
      // One that was overtaken on its way is older than what is known, and what happened between may have been heard already.
      if (latest && position && position.epoch === latest.epoch && position.offset < latest.offset) return null
      latest = position
      batch(() => {
        started(data)
        organisations.take(data, position)
      })
      if (data.organisation) listed()
      return { start: data, position }
    })
    return taken ?? fetchStart(slug, channel)
  }

  return {
    fetchStart,

    /** Fetches an organisation whose channels or rights are unknown. @param {string} id */
    organisation(id) {
      retrying(id, async () => {
        const summary = organisations.summary(id)
        if (summary) await fetchStart(summary.organisation_slug)
      })
    },

    /** Fetches the account, the list of organisations and the open one again. */
    refresh: () => retrying('start', async () => {
      const id = organisations.opened.peek()
      try {
        await fetchStart((id && organisations.summary(id)?.organisation_slug) || undefined)
      } catch (error) {
        if (!(error instanceof Refusal && error.status === 404)) throw error
        // The open organisation is not the user's any more.
        await fetchStart()
      }
    }),

    /** @param {string} id @param {string} organisation */
    channel(id, organisation) {
      retrying(id, () => recorder.fetch(() => api.getChannel(id, { users: 0 }), ({ data, position }) => {
        if (data.archived || !data.access || !organisations.isLoaded(organisation)) return
        channels.put(data, organisation, data.is_dm, position)
      }))
    },
  }
}
