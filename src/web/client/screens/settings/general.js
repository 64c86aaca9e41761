// What the organisation is called and says of itself; handing it over, and ending it.

import { h, when } from '../../view/element.js'
import { openDialog } from '../../view/dialog.js'
import { field, form } from '../../view/form.js'
import { go } from '../../view/router.js'
import { say } from '../../view/toast.js'
import { t } from '../../text/words.js'
import { badge } from '../face.js'
import { faceSetting } from './face-setting.js'
import { fetched } from './fetched.js'
import { part, section } from './parts.js'
import { isOwner, may } from './rights.js'
import { transfer } from './transfer.js'

/** @typedef {import('#api').components['schemas']['Organisation']} Organisation */
/** @typedef {import('../../base/signal.js').Signal<Organisation>} Kept */

/** @param {Store} store @param {string} id The organisation. */
export const general = (store, id) => part(t('settings.general'), null,
  fetched(async () => (await store.api.getOrganisation(id)).data, organisation => [
    when(() => may(store, 'can_manage_organisation'), () => [logo(store, organisation), details(store, organisation)]),
    when(() => isOwner(store.organisation.value), () => [
      section(t('settings.transfer'), h('p', { class: 'quiet' }, t('settings.transferText')),
        h('p', null, h('button', { type: 'button', class: 'button', onclick: () => transfer(store, organisation.peek()) },
          t('settings.transferAction')))),
      section(t('settings.organisationDelete'), h('p', { class: 'quiet' }, t('settings.organisationDeleteText')),
        h('p', null, h('button', { type: 'button', class: 'button danger', onclick: () => end(store, organisation.peek()) },
          t('settings.organisationDeleteAction')))),
    ]),
  ]))

/** @param {Store} store @param {Kept} organisation */
const logo = (store, organisation) => faceSetting({
  title: t('faces.logo'),
  shown: () => badge(organisation.value.id, organisation.value.name, { large: true, picture: organisation.value.logo_url }),
  address: () => organisation.value.logo_url,
  set: async chosen => { organisation.value = (await store.api.setLogo(organisation.peek().id, chosen)).data },
  remove: async () => { organisation.value = (await store.api.removeLogo(organisation.peek().id)).data },
})

/** @param {Store} store @param {Kept} organisation */
function details(store, organisation) {
  const now = organisation.peek()
  return form({
    class: 'part-section',
    button: t('common.save'),
    submit: async values => {
      organisation.value = (await store.api.updateOrganisation(now.id, Object.fromEntries(values))).data
      say(t('common.saved'))
    },
    children: [
      field(t('settings.organisationName'),
        h('input', { name: 'name', value: now.name, required: true, maxlength: 255, dir: 'auto' })),
      field(t('settings.organisationDescription'),
        h('textarea', { name: 'description', value: now.description, rows: 3, maxlength: 2000, dir: 'auto' })),
      field(t('settings.organisationEmail'),
        h('input', { name: 'email', type: 'email', value: now.email, maxlength: 254, dir: 'ltr' }),
        t('settings.organisationEmailHint')),
      field(t('settings.organisationType'), text('type', now.type)),
      h('div', { class: 'field-pair' },
        field(t('settings.organisationLocation'), text('location', now.location)),
        field(t('settings.organisationCountry'), text('country', now.country))),
    ],
  })
}

/** @param {string} name @param {string} value */
const text = (name, value) => h('input', { name, value, maxlength: 255, dir: 'auto' })

/** @param {Store} store @param {Organisation} organisation */
async function end(store, organisation) {
  const isDone = await openDialog({
    title: t('settings.organisationDeleteTitle', { name: organisation.name }),
    body: close => form({
      danger: true,
      button: t('settings.organisationDeleteAction'),
      beside: h('button', { type: 'button', class: 'button', onclick: () => close() }, t('common.cancel')),
      submit: async () => {
        await store.api.deleteOrganisation(organisation.id)
        close(true)
      },
      children: [
        h('p', null, t('settings.organisationDeleteWarning')),
        field(t('settings.organisationDeleteType', { name: organisation.name }), typed(organisation.name)),
      ],
    }),
  })
  if (!isDone) return
  say(t('settings.organisationDeleted', { name: organisation.name }))
  go('/settings/organisations')
}

/** A field that takes one text alone. @param {string} wanted */
function typed(wanted) {
  const input = h('input', {
    required: true, autocomplete: 'off', dir: 'auto',
    oninput: () => input.setCustomValidity(input.value.trim() === wanted.trim() ? '' : t('settings.mistyped')),
  })
  return input
}
