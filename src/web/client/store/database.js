// Storage in IndexedDB: one database a name, one object store in it, whose keys are texts.

import { memoryStorage } from './storage.js'

const RECORDS = 'records'

/** @template T @param {IDBRequest<T>} request @returns {Promise<T>} */
const done = request => new Promise((resolve, reject) => {
  request.onsuccess = () => resolve(request.result)
  request.onerror = () => reject(request.error)
})

/** @param {IDBTransaction} transaction @returns {Promise<void>} */
const committed = transaction => new Promise((resolve, reject) => {
  transaction.oncomplete = () => resolve()
  transaction.onabort = transaction.onerror = () => reject(transaction.error)
})

/** @param {string} prefix All keys that begin so. */
const within = prefix => IDBKeyRange.bound(prefix, `${prefix}\uffff`)

/**
 * Falls back to memory where the browser refuses, as some do in private windows.
 *
 * @param {IDBFactory | undefined} factory
 * @returns {import('./storage.js').Storage}
 */
export function databaseStorage(factory = factoryOfPage()) {
  const memory = memoryStorage()
  if (!factory) return memory
  const storage = {
    lasts: true,
    /** @param {string} name */
    open: async name => {
      try {
        return records(await opened(factory, name))
      } catch {
        storage.lasts = false
        return memory.open(name)
      }
    },
    names: async () => {
      try {
        return (await factory.databases()).map(({ name }) => name ?? '')
      } catch {
        return memory.names()
      }
    },
  }
  return storage
}

/** Where storage is forbidden, even its name can't be used. */
function factoryOfPage() {
  try {
    return globalThis.indexedDB
  } catch {
    return undefined
  }
}

/** @param {IDBFactory} factory @param {string} name @returns {Promise<IDBDatabase>} */
const opened = (factory, name) => new Promise((resolve, reject) => {
  const request = factory.open(name, 1)
  request.onupgradeneeded = () => void request.result.createObjectStore(RECORDS)
  request.onsuccess = () => {
    // A newer client that wants another form of it must not wait for this tab.
    request.result.onversionchange = () => request.result.close()
    resolve(request.result)
  }
  request.onerror = () => reject(request.error)
  request.onblocked = () => reject(new Error('blocked'))
})

/** @param {IDBDatabase} database @returns {import('./storage.js').Records} */
function records(database) {
  /** @param {IDBTransactionMode} mode */
  const store = mode => database.transaction(RECORDS, mode).objectStore(RECORDS)
  /** @param {(store: IDBObjectStore) => void} change */
  const write = change => {
    const transaction = database.transaction(RECORDS, 'readwrite')
    change(transaction.objectStore(RECORDS))
    return committed(transaction)
  }
  return {
    get: async key => done(store('readonly').get(key)),
    set: async (key, value) => write(all => all.put(value, key)),
    delete: async key => write(all => all.delete(key)),
    list: async prefix => {
      const all = store('readonly')
      const [keys, values] = await Promise.all([done(all.getAllKeys(within(prefix))), done(all.getAll(within(prefix)))])
      return keys.map((key, at) => [String(key), values[at]])
    },
    update: async (key, change) => {
      /** @type {any} */
      let next
      await write(all => {
        const request = all.get(key)
        request.onsuccess = () => {
          next = change(request.result)
          if (next === undefined) all.delete(key)
          else all.put(next, key)
        }
      })
      return next
    },
    clear: async () => write(all => all.clear()),
  }
}
