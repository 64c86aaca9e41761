// Going to a channel of which the server has just told.

import { Owner, effect } from '../../base/signal.js'
import { go } from '../../view/router.js'
import { address } from '../addresses.js'
import { focusTalk } from '../focus.js'

/** Milliseconds in which a push comes, if the connection lives. Without it the talk opens all the same, and is named later. */
const PUSH_MS = 3_000

/** The last of what was to be opened: one that was overtaken while it waited leads nobody back. */
let latest = 0

/**
 * Opens a channel, a direct message, or the own threads, and puts the focus where one writes.
 *
 * @param {Store} store
 * @param {string} channel An id, or `threads`.
 */
export async function show(store, channel) {
  const turn = latest += 1
  if (channel !== 'threads') await arrived(store, channel)
  if (turn !== latest) return
  go(address(store, { channel }))
  requestAnimationFrame(() => focusTalk())
}

/**
 * Waits until the store knows of a channel that the caller has made or joined. Dialogs stay open for it, and so show that they wait.
 *
 * @param {Store} store
 * @param {string} channel
 */
export const arrived = (store, channel) => until(() => store.channel(channel) !== null)

/**
 * Waits until something holds of the store, though not for ever.
 *
 * @param {() => boolean} holds
 * @returns {Promise<void>}
 */
export function until(holds) {
  return new Promise(resolve => {
    const owner = new Owner()
    const done = () => {
      clearTimeout(late)
      resolve()
      // The effect is still running when it finds that this holds.
      queueMicrotask(() => owner.end())
    }
    const late = setTimeout(done, PUSH_MS)
    owner.run(() => effect(() => { if (holds()) done() }))
  })
}

/**
 * The direct message with these people, which is made if there is none.
 *
 * @param {Store} store
 * @param {string[]} people
 * @returns {Promise<string>} Its id.
 */
export async function directMessage(store, people) {
  const { data } = await store.api.openDirectMessage(store.organisation.peek()?.id ?? '', { user_ids: people })
  await arrived(store, data.id)
  return data.id
}
