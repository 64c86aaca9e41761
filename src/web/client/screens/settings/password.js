// Another password.

import { h } from '../../view/element.js'
import { field, form } from '../../view/form.js'
import { say } from '../../view/toast.js'
import { t } from '../../text/words.js'
import { part } from './parts.js'

/** @param {import('../../store/index.js').Store} store */
export const password = store => part(t('settings.password'), t('settings.passwordIntro'), form({
  class: 'part-section',
  button: t('settings.passwordChange'),
  submit: async (values, element) => {
    await store.api.changePassword({
      old_password: String(values.get('old_password')), new_password: String(values.get('new_password')),
    })
    element.reset()
    say(t('settings.passwordChanged'))
  },
  children: [
    // Password managers take the name from here.
    h('span', { class: 'visually-hidden', 'aria-hidden': 'true' },
      h('input', { autocomplete: 'username', value: () => store.me.value?.email ?? '', readOnly: true, tabindex: -1 })),
    field(t('settings.passwordOld'), secret('old_password', 'current-password')),
    field(t('settings.passwordNew'), secret('new_password', 'new-password', 8), t('settings.passwordHint', { count: 8 })),
  ],
}))

/** @param {string} name @param {string} autocomplete @param {number} [shortest] */
const secret = (name, autocomplete, shortest) =>
  h('input', { name, type: 'password', autocomplete, required: true, minlength: shortest, maxlength: 128, dir: 'ltr' })
