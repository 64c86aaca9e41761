// The fields that the ways in share.

import { signal } from '../../base/signal.js'
import { t } from '../../text/words.js'
import { h } from '../../view/element.js'
import { field } from '../../view/form.js'
import { rememberedAddress } from './memory.js'

/** @typedef {import('./entry.js').Features} Features */

/** @param {{ fixed?: string, hint?: string }} [options] `fixed`: the address can't be another. */
export const email = ({ fixed, hint } = {}) => field(t('entry.email'), h('input', {
  type: 'email', name: 'email', autocomplete: 'username', required: true, maxlength: 254, spellcheck: 'false', autocapitalize: 'none',
  readonly: fixed !== undefined, value: fixed ?? rememberedAddress(),
}), hint)

/** The password that the account has. */
export const password = () => withToggle(field(t('entry.password'), h('input', {
  type: 'password', name: 'password', autocomplete: 'current-password', required: true, maxlength: 1000,
})))

/**
 * A password to be. It is typed once, and can be looked at.
 *
 * @param {Features} features
 * @param {{ label?: string, name?: string }} [options]
 */
export const newPassword = ({ bounds }, { label = t('entry.password'), name = 'password' } = {}) => withToggle(field(label, h('input', {
  type: 'password', name, autocomplete: 'new-password', required: true, minlength: bounds.password_min, maxlength: bounds.password,
}), t('entry.password_hint', { count: bounds.password_min })))

let toggles = 0

/** @param {HTMLElement} whole A field with a password in it. */
function withToggle(whole) {
  const id = `entry-toggle-${toggles += 1}`
  const name = /** @type {HTMLElement} */ (whole.querySelector('label > span'))
  name.id = `${id}-name`
  const input = /** @type {HTMLInputElement} */ (whole.querySelector('input'))
  const isShown = signal(false)
  whole.classList.add('entry-password')
  whole.append(h('button', {
    type: 'button',
    class: 'entry-toggle',
    id,
    'aria-labelledby': `${id} ${name.id}`,
    onclick: () => {
      isShown.value = !isShown.value
      input.type = isShown.value ? 'text' : 'password'
    },
  }, () => (isShown.value ? t('entry.hide') : t('entry.show'))))
  return whole
}

/** @param {Features} features */
export const names = ({ bounds }) => h('div', { class: 'entry-pair' },
  field(t('entry.first_name'), h('input', { name: 'first_name', autocomplete: 'given-name', required: true, maxlength: bounds.person_name, dir: 'auto' })),
  field(t('entry.last_name'), h('input', { name: 'last_name', autocomplete: 'family-name', required: true, maxlength: bounds.person_name, dir: 'auto' })))

/** @param {string} [hint] */
export const organisationName = hint => field(t('entry.organisation'), h('input', {
  name: 'organisation', autocomplete: 'organization', required: true, maxlength: 255, dir: 'auto',
}), hint)

/**
 * @param {FormData} values
 * @param {string} name
 */
export const value = (values, name) => String(values.get(name) ?? '').trim()

/** Passwords keep the spaces around them. @param {FormData} values */
export const secret = (values, name = 'password') => String(values.get(name) ?? '')
