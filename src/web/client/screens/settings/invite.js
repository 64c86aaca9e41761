// Inviting people by their addresses.

import { signal } from '../../base/signal.js'
import { h } from '../../view/element.js'
import { field, form } from '../../view/form.js'
import { say } from '../../view/toast.js'
import { wording } from '../../view/wording.js'
import { t } from '../../text/words.js'
import { copyable } from './copyable.js'
import { roleChoice } from './rights.js'

/** @typedef {import('#api').components['schemas']['InvitationList']} Result */

/** @param {string} text Addresses as people paste them: by lines, commas or blanks, with names before `<…>`. */
export const addresses = text => [...new Set([...text.matchAll(/[^\s,;<>"]+@[^\s,;<>"]+/g)].map(([address]) => address))]

/**
 * @param {Store} store
 * @param {string} id The organisation.
 * @param {import('#api').components['schemas']['Role'][]} roles
 * @param {() => Promise<void>} newest Shows the newest of those that were sent.
 */
export function invite(store, id, roles, newest) {
  const result = signal(/** @type {Result | null} */ (null))
  const emails = h('textarea', {
    name: 'emails', rows: 3, required: true, dir: 'ltr', autocomplete: 'off', spellcheck: 'false', inputmode: 'email',
  })
  return h('div', { class: 'stack' },
    form({
      button: t('settings.inviteSend'),
      submit: async values => {
        result.value = null
        const found = addresses(emails.value)
        const { data } = await store.api.createInvitations({
          org_id: id, emails: found.length ? found : [emails.value.trim()], role: Number(values.get('role')),
        })
        // What could not be invited stays, to be mended.
        emails.value = data.refused.map(({ email }) => email).join('\n')
        result.value = data
        if (data.invitations.length) say(t('settings.inviteSent', { count: data.invitations.length }))
        await newest()
      },
      children: [
        field(t('settings.inviteAddresses'), emails, t('settings.inviteAddressesHint')),
        field(t('settings.role'), roleChoice(roles)),
      ],
    }),
    h('div', { role: 'status' }, () => result.value && outcome(result.value)))
}

/** @param {Result} result */
const outcome = ({ invitations, refused }) => [
  refused.length > 0 && h('div', { class: 'notice' },
    h('p', null, t('settings.inviteRefused', { count: refused.length })),
    h('ul', null, refused.map(({ email, code }) =>
      h('li', null, h('bdi', null, email), ': ', wording.explain(Object.assign(new Error(code), { code })))))),
  invitations.length > 0 && h('details', { class: 'more' },
    h('summary', null, t('settings.inviteLinks')),
    h('p', { class: 'quiet small' }, t('settings.inviteLinksHint')),
    invitations.map(({ email, invitation_link: link }) => copyable(email, () => link))),
]
