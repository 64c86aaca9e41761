// The invitations that were sent: their state, sending them again, and cancelling them.

import { signal } from '../../base/signal.js'
import { h, when } from '../../view/element.js'
import { list } from '../../view/list.js'
import { say } from '../../view/toast.js'
import { t } from '../../text/words.js'
import { pager } from './pager.js'
import { badge, deed, time } from './parts.js'
import { roleTitle } from './rights.js'

/** @typedef {import('#api').components['schemas']['SentInvitation']} Sent */
/** @typedef {Awaited<ReturnType<typeof sentPage>>} Page */

/** @param {Store} store @param {string} id The organisation. @param {number} number */
export async function sentPage(store, id, number) {
  const { data, next } = await store.api.listInvitations(id, { page: number, page_size: 20 })
  return { invitations: data.invitations, page: number, hasLater: next !== null }
}

/**
 * @param {Store} store
 * @param {string} id
 * @param {Page} first
 */
export function sentInvitations(store, id, first) {
  const shown = signal(first)
  const open = async (/** @type {number} */ number) => {
    shown.value = await sentPage(store, id, number)
  }
  return {
    newest: () => open(1),
    nodes: [
      h('p', { class: 'quiet', hidden: () => shown.value.invitations.length > 0 }, t('settings.invitedNobody')),
      list(h('ul', { class: 'items' }), () => shown.value.invitations, each => each.id, sent =>
        row(store, id, sent, () => open(shown.peek().page))),
      pager(() => shown.value, open),
    ],
  }
}

/** @type {Record<string, () => HTMLElement>} */
const STATES = {
  invited: () => badge(t('settings.invitationOpen')),
  accepted: () => badge(t('settings.invitationAccepted'), 'good'),
  expired: () => badge(t('settings.invitationExpired'), 'bad'),
}

/**
 * @param {Store} store
 * @param {string} id
 * @param {import('../../base/signal.js').Signal<Sent>} sent
 * @param {() => Promise<void>} again
 */
function row(store, id, sent, again) {
  const { id: invitation, email } = sent.peek()
  const describedBy = `invitation-${invitation}`
  return h('li', { class: 'item' },
    h('div', { class: 'item-text', id: describedBy },
      h('p', { class: 'row-line' }, h('bdi', { class: 'address' }, email), () => STATES[sent.value.status]?.()),
      h('p', { class: 'quiet small' }, () =>
        [roleTitle(sent.value.role, sent.value.role_name), ' · ', t('settings.invitationSent'), ' ', time(sent.value.sent_at)])),
    h('div', { class: 'item-buttons' }, when(() => sent.value.status !== 'accepted', () => [
      deed(t('settings.invitationResend'), async () => {
        await store.api.resendInvitations({ org_id: id, emails: [email] })
        await again()
        say(t('settings.inviteSent', { count: 1 }))
      }, { describedBy }),
      deed(t('settings.invitationCancel'), async () => {
        await store.api.cancelInvitation(invitation)
        await again()
      }, { describedBy }),
    ])))
}
