// What people have written and not sent, by channel or thread, and by `edit/<id>` the edit of a message that is not saved. It is kept
// at once, and is theirs until they send or empty it.

import { signal } from '../base/signal.js'

/** @param {{ records: Promise<import('./storage.js').Records> }} options */
export function createDrafts({ records }) {
  /** @type {Map<string, import('../base/signal.js').Signal<string>>} */
  const drafts = new Map()
  /** Keys that are being written, and whether they changed again. @type {Map<string, boolean>} */
  const writing = new Map()

  /** @param {string} key */
  const keep = async key => {
    if (writing.has(key)) return void writing.set(key, true)
    do {
      writing.set(key, false)
      const text = drafts.get(key)?.peek() ?? ''
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

    /** How many messages were begun and not sent. Edits don't count: their messages were sent, and stand as they were. */
    async unsent() {
      return (await (await records).list('draft/')).filter(([key]) => !key.startsWith('draft/edit/')).length
    },
  }
}
