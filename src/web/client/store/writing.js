// What a person writes and the server does not have yet: drafts, the files in them, and posts. They lie in a database of the user's
// own, and are theirs when they sign in again.

import { createDrafts } from './drafts.js'
import { createOutgoing } from './outgoing.js'
import { createUploads } from './uploads.js'

/**
 * @param {object} options
 * @param {string} options.base
 * @param {Record<string, string>} [options.headers]
 * @param {typeof XMLHttpRequest} options.XMLHttpRequest
 * @param {import('../net/request.js').Api} options.api
 * @param {() => string} options.myId
 * @param {Promise<string>} options.user
 * @param {import('./storage.js').Storage} options.storage
 * @param {import('../base/clock.js').Clock} options.clock
 * @param {LockManager} [options.locks]
 * @param {typeof import('./drafts.js').tabsOf} options.tabs
 * @param {(message: any, pending: import('./outgoing.js').Pending) => void} options.confirmed
 */
export function createWriting({ base, headers, XMLHttpRequest, api, myId, user, storage, clock, locks, tabs, confirmed }) {
  const records = user.then(id => storage.open(`tidings-${id}`))
  const drafts = createDrafts({ records, tabs: user.then(tabs) })
  const uploads = createUploads({ server: { base, XMLHttpRequest, getUser: myId, headers }, api, records, clock, locks, arrived: () => void outgoing.go() })
  const outgoing = createOutgoing({ api, user: myId, records, clock, locks, files: uploads, confirmed })
  const end = () => {
    outgoing.end()
    uploads.end()
  }
  return {
    drafts, uploads, outgoing, end,

    resume() {
      void uploads.readKept()
      outgoing.resume()
    },
    /** The network is back. */
    wake() {
      uploads.wake()
      outgoing.wake()
    },
    /** How many drafts and posts there are. */
    unsent: async () => new Set([...await drafts.unsent(), ...uploads.drafts()]).size + outgoing.all.peek().length,

    /** Erases all of it. */
    async forget() {
      end()
      await (await records).clear()
    },
    close() {
      end()
      drafts.close()
    },
  }
}
