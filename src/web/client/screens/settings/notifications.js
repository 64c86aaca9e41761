// What the person is notified of, and whether this browser shows it.

import { h, when } from '../../view/element.js'
import { t } from '../../text/words.js'
import { notifies } from '../browser-settings.js'
import { attempt } from '../chat/deeds.js'
import { abouts } from '../chat/notify-about.js'
import { ask, permission, test } from '../notifying.js'
import { choices } from './choices.js'
import { fetched } from './fetched.js'
import { deed, part, section } from './parts.js'

/** @param {Store} store */
export const notifications = store => part(t('notifications.title'), t('notifications.intro'),
  section(t('notifications.here'), () => here(permission.value)),
  when(() => store.organisation.value?.id, () => inOrganisation(store, store.organisation.peek()?.id ?? '')))

/** @param {typeof permission.value} allowed */
function here(allowed) {
  if (isApple) return h('p', null, t('notifications.apple'))
  if (allowed === 'granted') return [
    h('label', { class: 'settings-choice' },
      h('input', { type: 'checkbox', checked: () => notifies.value, onchange: (/** @type {any} */ event) => { notifies.value = event.target.checked } }),
      h('span', null, t('notifications.show'))),
    h('p', { class: 'quiet small' }, t('notifications.showHint')),
    h('p', null, deed(t('notifications.test'), test)),
    h('p', { class: 'quiet small' }, t('notifications.testHint')),
  ]
  if (allowed === 'default') return [
    h('p', null, t('notifications.askText')),
    h('p', null, deed(t('notifications.ask'), ask)),
  ]
  if (allowed === 'denied') return h('p', null, t('notifications.denied'))
  return h('p', null, isSecureContext ? t('notifications.unsupported') : t('notifications.insecure'))
}

/** iPhones and iPads stop a page soon after nobody looks at it. */
const isApple = /iPhone|iPad/.test(navigator.userAgent) || (navigator.platform === 'MacIntel' && navigator.maxTouchPoints > 1)

/** @param {Store} store @param {string} id */
const inOrganisation = (store, id) =>
  fetched(async () => (await store.api.getOrganisationNotificationPreference(id, {})).data.notify_about, chosen =>
    choices('notify-about', t('notifications.aboutIn', { name: store.organisation.peek()?.name ?? '' }), abouts(), () => /** @type {import('../chat/notify-about.js').About} */ (chosen.value), async value => {
      const before = chosen.peek()
      chosen.value = value
      if (!await attempt(() => store.api.setOrganisationNotificationPreference(id, { notify_about: value }))) chosen.value = before
    }, t('notifications.aboutHint')))
