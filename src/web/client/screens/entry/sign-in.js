// Signing in by password, with the other ways beside it.

import { signal } from '../../base/signal.js'
import { t } from '../../text/words.js'
import { h } from '../../view/element.js'
import { form } from '../../view/form.js'
import { email, password, secret, value } from './fields.js'
import { below, card, to } from './frame.js'
import { ownPath, rememberAddress, withNext } from './memory.js'
import { verificationAgain } from './verify.js'
import { isRefused, logIn, whoIsHere } from './session.js'

/** @typedef {import('./entry.js').Way} Way */

/** @param {Way} way */
export function signIn(way) {
  const { requests, features, route, arrive } = way
  const next = route.query.get('next')
  /** The code of what was refused last: some have a remedy. */
  const refused = signal('')
  // Who comes here with a session, as after signing in in another tab, goes on at once.
  whoIsHere(requests).then(user => user && arrive(next)).catch(() => {})
  const entrance = form({
    children: [email(), password()],
    button: t('entry.sign_in'),
    submit: async values => {
      refused.value = ''
      try {
        await logIn(requests, value(values, 'email'), secret(values))
      } catch (error) {
        if (isRefused(error, 'too_many_passwords', 'email_unverified')) refused.value = error.code
        throw error
      }
      await arrive(next)
    },
  })
  // What is typed is there on the next page, too.
  entrance.addEventListener('input', () => rememberAddress(value(new FormData(entrance), 'email')))
  return card({ title: t('entry.sign_in_title') },
    provider(way, next),
    entrance,
    () => refused.value === 'email_unverified' && verificationAgain(way, entrance),
    () => refused.value === 'too_many_passwords' && features.login.magic_link
      && h('p', { class: 'notice' }, t('entry.too_many_passwords'), ' ', to(withNext('/sign-in/mail', next), t('entry.by_mail'))),
    below(
      features.login.magic_link && to(withNext('/sign-in/mail', next), t('entry.by_mail')),
      to(withNext('/forgotten-password', next), t('entry.forgotten')),
      features.registration === 'open' && to(withNext('/sign-up', next), t('entry.sign_up')),
      features.registration === 'invited' && h('span', { class: 'quiet' }, t('entry.invited_only'))))
}

/**
 * The button that leads to the identity provider.
 *
 * @param {Way} way
 * @param {string | null} next
 */
export function provider({ features }, next) {
  const start = features.login.openid_connect_start
  if (!start) return null
  const address = `${start.url}?next=${encodeURIComponent(ownPath(next))}`
  return [
    h('a', { class: 'button entry-provider', href: address }, t('entry.provider', { name: start.name })),
    h('p', { class: 'entry-or quiet small' }, h('span', null, t('entry.or'))),
  ]
}
