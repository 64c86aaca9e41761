// Handing the organisation over to another member.

import { h } from '../../view/element.js'
import { openDialog } from '../../view/dialog.js'
import { form } from '../../view/form.js'
import { say } from '../../view/toast.js'
import { t } from '../../text/words.js'
import { memberPicker } from './member-picker.js'

/** @typedef {import('#api').components['schemas']['Organisation']} Organisation */

/**
 * @param {Store} store
 * @param {Organisation} organisation
 */
export async function transfer(store, organisation) {
  const isDone = await openDialog({
    title: t('settings.transferTitle', { name: organisation.name }),
    body: close => form({
      danger: true,
      button: t('settings.transferAction'),
      beside: h('button', { type: 'button', class: 'button', onclick: () => close() }, t('common.cancel')),
      submit: async values => {
        await store.api.changeOrganisationOwner(organisation.id, { user_id: String(values.get('user_id')) })
        close(true)
      },
      children: [h('p', null, t('settings.transferWarning')), memberPicker(store, organisation.id)],
    }),
  })
  // What the former owner may still do arrives by push.
  if (isDone) say(t('settings.transferred'))
}
