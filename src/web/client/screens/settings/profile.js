// The person's names, and whether their e-mail address is proved.

import { h, when } from '../../view/element.js'
import { field, form } from '../../view/form.js'
import { say } from '../../view/toast.js'
import { t } from '../../text/words.js'
import { face } from '../face.js'
import { faceSetting } from './face-setting.js'
import { fetched } from './fetched.js'
import { badge, deed, part, section } from './parts.js'

/** @typedef {import('#api').components['schemas']['User']} User */
/** @typedef {import('../../base/signal.js').Signal<User>} Me */

/** @param {Store} store */
export const profile = store => part(t('settings.profile'), t('settings.profileIntro'),
  fetched(async () => (await store.api.getProfile()).data, me => [picture(store, me), names(store, me), address(store, me)]))

/** @param {Store} store @param {Me} me */
function picture(store, me) {
  /** @param {{ data: User }} answer */
  const keep = ({ data }) => {
    me.value = data
    store.me.value = data
  }
  return faceSetting({
    title: t('faces.person'),
    shown: () => face({ ...me.value, full_name: me.value.fullname }, { large: true }),
    address: () => me.value.avatar_url,
    set: async chosen => keep(await store.api.setAvatar(chosen)),
    remove: async () => keep(await store.api.removeAvatar()),
  })
}

/** @param {Store} store @param {Me} me */
const names = (store, me) => form({
  class: 'part-section',
  button: t('common.save'),
  submit: async values => {
    const { data } = await store.api.updateProfile(/** @type {Record<string, string>} */ (Object.fromEntries(values)))
    me.value = data
    store.me.value = data
    say(t('common.saved'))
  },
  children: [
    h('div', { class: 'field-pair' },
      field(t('settings.firstName'), line('first_name', me.peek().first_name, 'given-name')),
      field(t('settings.lastName'), line('last_name', me.peek().last_name, 'family-name'))),
    field(t('settings.username'), h('input', {
      name: 'username', value: me.peek().username, autocomplete: 'username', required: true, maxlength: 64, autocapitalize: 'none',
      spellcheck: 'false',
    }), t('settings.usernameHint')),
    field(t('settings.phone'),
      h('input', { name: 'phone', type: 'tel', value: me.peek().phone, autocomplete: 'tel', maxlength: 30, dir: 'ltr' }),
      t('settings.phoneHint')),
  ],
})

/** @param {string} name @param {string} value @param {string} autocomplete */
const line = (name, value, autocomplete) => h('input', { name, value, autocomplete, maxlength: 100, dir: 'auto' })

/** @param {Store} store @param {Me} me */
const address = (store, me) => section(t('settings.email'),
  h('p', { class: 'row-line' },
    h('bdi', { class: 'address' }, () => me.value.email),
    () => me.value.is_verified ? badge(t('settings.emailVerified'), 'good') : badge(t('settings.emailUnverified'))),
  when(() => !me.value.is_verified, () => fetched(async () => (await store.api.getFeatures()).data.has_mail, hasMail => hasMail.peek() && [
    h('p', { class: 'quiet' }, t('settings.emailUnverifiedText')),
    deed(t('settings.emailSendAgain'), async () => {
      await store.api.requestEmailVerification({ email: me.peek().email })
      say(t('settings.emailSent', { email: me.peek().email }))
    }),
  ])))
