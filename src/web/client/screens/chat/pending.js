// What became of a post that the server has not answered yet: nothing to say while it waits, the reason if it was refused.

import { t } from '../../text/words.js'
import { h, when } from '../../view/element.js'
import { wording } from '../../view/wording.js'
import { attachments } from './attachments.js'

/**
 * @param {import('../../store/index.js').Store} store
 * @param {() => import('../../store/index.js').Pending | null} pending
 */
export function pendingNote(store, pending) {
  const id = () => pending()?.id ?? ''
  const edit = () => {
    const now = pending()
    if (!now) return
    const text = store.outgoing.discard(now.id)
    const key = now.thread ?? now.channel
    store.uploads.move(now.files, key)
    const draft = store.drafts.get(key).peek()
    store.drafts.set(key, draft ? `${text}\n${draft}` : text)
  }
  const discard = () => {
    pending()?.files.forEach(each => store.uploads.remove(each, true))
    store.outgoing.discard(id())
  }
  const takeOut = (/** @type {string} */ file) => {
    const now = pending()
    store.uploads.remove(file, true)
    if (now) store.outgoing.takeOut(now, file)
  }
  const arriving = () => store.uploads.named(pending()?.files ?? []).filter(each => each.state !== 'done')
  return [
    attachments(store, arriving, { takeOut }),
    when(() => pending()?.state === 'refused', () => h('p', { class: 'failed error', role: 'alert' },
      () => t('chat.notSent', { why: wording.explain(pending()?.error) }), ' ',
      h('button', { type: 'button', class: 'link-button', onclick: () => store.outgoing.retry(id()) }, t('chat.sendAgain')), ' · ',
      h('button', { type: 'button', class: 'link-button', onclick: edit }, t('common.edit')), ' · ',
      h('button', { type: 'button', class: 'link-button', onclick: discard }, t('chat.discard')))),
    when(() => pending() && pending()?.state !== 'refused', () => h('span', { class: 'visually-hidden' }, t('chat.sending'))),
  ]
}
