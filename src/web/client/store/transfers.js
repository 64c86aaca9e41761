// The transfers of uploads: in pieces, two files at once, over cuts and restarts.

import { backoff } from '../base/clock.js'
import { isTransient, Refusal } from '../net/request.js'
import { createUploading } from '../net/uploading.js'

/** Bytes of a request. */
const PIECE = 8 << 20
const AT_ONCE = 2

/** @typedef {import('./uploads.js').Upload} Upload */

/**
 * @param {object} options
 * @param {Parameters<typeof createUploading>[0]} options.server
 * @param {import('../base/clock.js').Clock} options.clock
 * @param {(id: string) => Upload | undefined} options.find
 * @param {(id: string, change: Partial<Upload>) => Promise<void>} options.update Changes what is kept of one.
 * @param {(id: string, change: Partial<Upload>) => void} options.show Changes what is shown of one.
 * @param {(id: string) => Blob | undefined} options.bytesOf
 * @param {(id: string) => import('../base/signal.js').Signal<number>} options.progress
 */
export function createTransfers({ server, clock, find, update, show, bytesOf, progress }) {
  const uploading = createUploading(server)
  /** Those that wait for the network. @type {Set<() => void>} */
  const asleep = new Set()
  /** Those that wait for their turn. @type {(() => void)[]} */
  const queue = []
  let free = AT_ONCE

  /** Runs something when no more than AT_ONCE others are. @param {() => Promise<void>} run */
  const inTurn = async run => {
    if (free === 0) await new Promise(resolve => void queue.push(() => resolve(undefined)))
    else free -= 1
    try {
      await run()
    } finally {
      const next = queue.shift()
      if (next) next()
      else free += 1
    }
  }
  /** @param {number} ms */
  const sleep = ms => new Promise(resolve => {
    const wake = () => {
      cancel()
      asleep.delete(wake)
      resolve(undefined)
    }
    const cancel = clock.after(ms, wake)
    asleep.add(wake)
  })

  /** Sends what the server has not yet. @param {Upload} upload @param {Blob} file @param {AbortSignal} ended */
  const send = async ({ id, name, size, organisation, path: known }, file, ended) => {
    const path = known ?? await uploading.begin({ name, size, organisation })
    if (!find(id)) return void uploading.end(path).catch(() => {})
    if (!known) await update(id, { path })
    const told = progress(id)
    let offset = known ? await uploading.offset(path) : 0
    while (offset < size && !ended.aborted) {
      const from = offset
      told.value = from
      offset = await uploading.append(path, from, file.slice(from, from + PIECE), {
        signal: ended, progress: loaded => { told.value = Math.min(size, from + loaded) },
      })
    }
    if (!ended.aborted) await update(id, { state: 'done', error: null })
  }

  return {
    /** Sends one, and tries again until it is there, is refused, or ends. @param {string} id @param {AbortSignal} ended */
    async run(id, ended) {
      for (let failures = 0; !ended.aborted; failures += 1) {
        const upload = find(id)
        if (!upload || upload.state === 'done' || upload.state === 'refused') return
        const file = bytesOf(id)
        if (!file) return update(id, { state: 'refused', error: { code: 'lost' } })
        try {
          show(id, { state: 'sending' })
          await inTurn(() => send(/** @type {Upload} */ (find(id)), file, ended))
        } catch (error) {
          if (!find(id) || ended.aborted) return
          if (error instanceof Refusal && error.status === 404 && upload.path) await update(id, { path: null, state: 'waiting' })
          else if (isPassing(error)) {
            show(id, { state: 'waiting' })
            const least = error instanceof Refusal ? (error.retryAfter ?? 0) * 1000 : 0
            await sleep(least + backoff(failures, { first: 500, most: 15_000 }))
          } else await update(id, { state: 'refused', error })
        }
      }
    },

    /** Ends one at the server that is not whole. @param {string} path */
    cancel: path => uploading.end(path),

    /** The network is back, or all end. */
    wake: () => [...asleep].forEach(wake => wake()),
  }
}

/** What takes hours to pass is said, and tried again by whoever wants. */
const NOT_SOON = ['bytes_used_up', 'files_disk_full']

/** Whether it may go on later: also where another request goes on with it, and where a session is taken up again. @param {unknown} error */
const isPassing = error => (error instanceof Refusal && NOT_SOON.includes(error.code) ? false
  : isTransient(error) || (error instanceof Refusal && [401, 409].includes(error.status)))
