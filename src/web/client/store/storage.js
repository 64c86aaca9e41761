// Where the client keeps things between visits: records by name, in a database by name. This is the one in memory, for tests and
// for browsers that refuse to keep anything; database.js has the one that lasts.

/**
 * @typedef {object} Records
 * @property {(key: string) => Promise<any>} get Undefined if there is none.
 * @property {(key: string, value: any) => Promise<void>} set
 * @property {(key: string) => Promise<void>} delete
 * @property {(prefix: string) => Promise<[string, any][]>} list By key.
 * @property {(key: string, change: (value: any) => any) => Promise<any>} update Reads and writes with nobody in between, or
 *   deletes where nothing is to stand; answers what stands then.
 * @property {() => Promise<void>} clear
 */

/**
 * @typedef {object} Storage
 * @property {boolean} lasts Whether it outlives the tab.
 * @property {(name: string) => Promise<Records>} open
 * @property {() => Promise<string[]>} names Of the databases that there are, as far as the browser tells.
 */

const PATIENCE_MS = 1_500

/**
 * What an earlier visit has kept, or nothing if storage takes too long: it keeps nobody from what the server has.
 *
 * @template T
 * @param {Promise<T | null>} kept
 * @returns {Promise<T | null>}
 */
export const soon = kept => Promise.race([kept, new Promise(resolve => void setTimeout(resolve, PATIENCE_MS, null))])

/** @returns {Storage} */
export function memoryStorage() {
  /** @type {Map<string, Map<string, any>>} */
  const databases = new Map()
  return {
    lasts: false,
    open: async name => {
      const records = databases.get(name) ?? new Map()
      databases.set(name, records)
      return {
        get: async key => structuredClone(records.get(key)),
        set: async (key, value) => void records.set(key, structuredClone(value)),
        delete: async key => void records.delete(key),
        list: async prefix => {
          const found = [...records].filter(([key]) => key.startsWith(prefix))
          return structuredClone(found).sort(([one], [other]) => (one < other ? -1 : 1))
        },
        update: async (key, change) => {
          const next = change(structuredClone(records.get(key)))
          if (next === undefined) records.delete(key)
          else records.set(key, structuredClone(next))
          return next
        },
        clear: async () => records.clear(),
      }
    },
    names: async () => [...databases.keys()],
  }
}
