// What people have written and not sent, by channel or thread, and by `edit/<id>` the edit of a message that is not saved. It is
// kept at once, and is theirs until they send or empty it.
//
// The tabs of a user tell each other what is written. The last text that was written is the draft; fields show it, except that a
// field with the focus keeps its own text.

import { signal } from '../base/signal.js'

/** @typedef {{ key: string, text: string }} Written */

/** The way to the other tabs of the user; null in browsers that have none. @param {string} user */
export const tabsOf = user => typeof BroadcastChannel === 'undefined' ? null : new BroadcastChannel(`tidings-drafts-${user}`)

/**
 * @param {object} options
 * @param {Promise<import('./storage.js').Records>} options.records
 * @param {Promise<BroadcastChannel | null>} options.tabs
 */
export function createDrafts({ records, tabs }) {
  /** @type {Map<string, import('../base/signal.js').Signal<string>>} */
  const drafts = new Map()
  /** Keys that are being written, and whether they changed again. @type {Map<string, boolean>} */
  const writing = new Map()
  const others = tabs.catch(() => null)
  let isClosed = false
  others.then(tab => {
    if (tab) tab.onmessage = ({ data }) => heard(data)
  })

  /** Another tab has written. What is being written here is later. @param {Written} written */
  const heard = ({ key, text }) => {
    const draft = drafts.get(key)
    if (draft && !writing.has(key)) draft.value = text
  }

  /** @param {string} key */
  const keep = async key => {
    if (writing.has(key)) return void writing.set(key, true)
    do {
      writing.set(key, false)
      const tab = await others
      const text = drafts.get(key)?.peek() ?? ''
      if (!isClosed) tab?.postMessage({ key, text })
      const all = await records
      await (text === '' ? all.delete(`draft/${key}`) : all.set(`draft/${key}`, text)).catch(() => {})
    } while (writing.get(key))
    writing.delete(key)
  }

  /** @param {string} key */
  const get = key => {
    const known = drafts.get(key)
    if (known) return known
    const made = signal('')
    drafts.set(key, made)
    records.then(all => all.get(`draft/${key}`)).then(text => {
      if (text && made.peek() === '' && !writing.has(key)) made.value = text
    }, () => {})
    return made
  }

  return {
    get,

    /** @param {string} key @param {string} text */
    set(key, text) {
      get(key).value = text
      keep(key)
    },

    /** Where messages were begun and not sent. Edits don't count: their messages were sent, and stand as they were. */
    async unsent() {
      return (await (await records).list('draft/')).map(([key]) => key.slice('draft/'.length)).filter(key => !key.startsWith('edit/'))
    },

    close() {
      isClosed = true
      others.then(tab => tab?.close())
    },
  }
}
