// A post that the server has not answered yet, or has refused.

import { t } from '../../text/words.js'
import { h, when } from '../../view/element.js'
import { wording } from '../../view/wording.js'
import { face } from '../face.js'
import { prose } from './prose.js'

/**
 * @param {import('../../store/index.js').Store} store
 * @param {() => import('../../store/index.js').Pending} pending
 */
export function pendingRow(store, pending) {
  const me = store.me.peek()
  const person = { user_id: me?.user_id, full_name: me?.fullname, username: me?.username }
  const { id } = pending()
  const edit = () => {
    const { channel, thread } = pending()
    const text = store.outgoing.discard(id)
    const key = thread ?? channel
    const draft = store.drafts.get(key).peek()
    store.drafts.set(key, draft ? `${text}\n${draft}` : text)
  }
  return h('li', { class: 'row-item' }, h('article', { class: 'row first pending', tabindex: -1, 'data-id': id },
    face(person),
    h('div', { class: 'said' },
      h('div', { class: 'text' }, () => prose(store, pending().text, [])),
      when(() => pending().state === 'refused', () => h('p', { class: 'failed error', role: 'alert' },
        () => t('chat.notSent', { why: wording.explain(pending().error) }), ' ',
        h('button', { type: 'button', class: 'link-button', onclick: () => store.outgoing.retry(id) }, t('chat.sendAgain')), ' · ',
        h('button', { type: 'button', class: 'link-button', onclick: edit }, t('common.edit')), ' · ',
        h('button', { type: 'button', class: 'link-button', onclick: () => store.outgoing.discard(id) }, t('chat.discard'))),
      () => h('p', { class: 'quiet small visually-hidden' }, t('chat.sending'))))))
}
