// What is kept of uploads in the browser, which the tabs of a user share: a record of each, and its bytes as long as all of them together
// are no more than KEPT.

import { signal } from '../base/signal.js'

/** Bytes that are kept in the browser. */
const KEPT = 100 * 1_000_000

/** @typedef {import('./uploads.js').Upload} Upload */

const recordOf = (/** @type {string} */ id) => `upload/${id}`
const bytesOf = (/** @type {string} */ id) => `bytes/${id}`

/** @param {Promise<import('./storage.js').Records>} records */
export function createUploadRecords(records) {
  /** Those whose bytes the browser does not keep. */
  const unkept = signal(/** @type {ReadonlySet<string>} */ (new Set()))
  /** Those whose records were written or read here: where one is gone, another tab is done with it. @type {Set<string>} */
  const stored = new Set()
  /** How many writes of a record are under way. @type {Map<string, number>} */
  const writing = new Map()

  return {
    /** Whether the record of one was there. @param {string} id */
    isStored: id => stored.has(id),
    /** Whether this tab has something newer on its way to storage. @param {string} id */
    isWriting: id => (writing.get(id) ?? 0) > 0,
    /** Whether one outlives the tab. Reactive. @param {string} id */
    isKept: id => !unkept.value.has(id),

    /** @param {Upload} upload */
    async set(upload) {
      const { id } = upload
      const state = upload.state === 'sending' ? 'waiting' : upload.state
      writing.set(id, (writing.get(id) ?? 0) + 1)
      try {
        await (await records).set(recordOf(id), { ...upload, state, error: plain(upload.error) })
        stored.add(id)
      } catch {
        // It goes on while the page is open.
      } finally {
        writing.set(id, (writing.get(id) ?? 1) - 1)
      }
    },

    /** @param {string} id @param {Blob} file @param {readonly Upload[]} others */
    async setBytes(id, file, others) {
      const taken = others.filter(each => each.id !== id && !unkept.peek().has(each.id))
      try {
        if (taken.reduce((sum, { size }) => sum + size, file.size) > KEPT) throw new RangeError('too many bytes')
        await (await records).set(bytesOf(id), file)
      } catch {
        unkept.value = new Set([...unkept.peek(), id])
      }
    },

    /** @param {string} id @returns {Promise<Upload | undefined>} */
    get: async id => (await records).get(recordOf(id)).catch(() => undefined),
    /** @param {string} id @returns {Promise<Blob | undefined>} */
    bytes: async id => (await records).get(bytesOf(id)).catch(() => undefined),

    /** All that is kept, and which of those that were are gone. @returns {Promise<{ kept: Upload[], gone: string[] }>} */
    async read() {
      const before = [...stored]
      const kept = (await (await records).list('upload/').catch(() => [])).map(([, upload]) => /** @type {Upload} */ (upload))
      const ids = new Set(kept.map(({ id }) => id))
      for (const id of ids) stored.add(id)
      return { kept, gone: before.filter(id => !ids.has(id) && !this.isWriting(id)) }
    },

    /** @param {string} id */
    async delete(id) {
      const all = await records
      await Promise.all([all.delete(recordOf(id)), all.delete(bytesOf(id))]).catch(() => {})
    },
  }
}

/** An error as it can be kept. @param {any} error */
const plain = error => error && { status: error.status, code: error.code, message: error.message, fields: error.fields, limit: error.limit }
