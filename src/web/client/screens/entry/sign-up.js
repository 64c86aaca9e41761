// Making an account.

import { signal, untracked } from '../../base/signal.js'
import { rich, t } from '../../text/words.js'
import { h } from '../../view/element.js'
import { form } from '../../view/form.js'
import { say } from '../../view/toast.js'
import { email, names, newPassword, secret, value } from './fields.js'
import { below, card, mainLink, to } from './frame.js'
import { rememberAddress, withNext } from './memory.js'
import { isRefused, logIn } from './session.js'
import { provider } from './sign-in.js'
import { waitForVerification } from './tabs.js'

/** @typedef {import('./entry.js').Way} Way */

/** @param {Way} way */
export function signUp(way) {
  const { requests, features, route, arrive } = way
  const next = route.query.get('next')
  if (features.registration === 'closed') {
    return card({ title: t('entry.closed_title'), lead: t('entry.closed') }, mainLink('/sign-in', t('entry.sign_in')))
  }
  /** @type {import('../../base/signal.js').Signal<Account | null>} */
  const unverified = signal(null)
  const question = () => card({ title: t('entry.sign_up_title'), lead: features.registration === 'invited' ? t('entry.invited_only') : null },
    provider(way, next),
    form({
      children: [names(features), email(), newPassword(features)],
      button: t('entry.sign_up_button'),
      submit: async values => {
        const account = accountOf(values)
        rememberAddress(account.email, { forMail: true, next })
        await requests.register(account)
        if (features.requires_verified_email) unverified.value = account
        else {
          await logIn(requests, account.email, account.password)
          await arrive(next)
        }
      },
    }),
    below(to(withNext('/sign-in', next), t('entry.has_account'))))
  return () => {
    const account = unverified.value
    return untracked(() => (account ? verifyFirst(way, account, { goOn: () => arrive(next), next }) : question()))
  }
}

/** @typedef {{ email: string, password: string, first_name: string, last_name: string }} Account */

/** @param {FormData} values @returns {Account} */
export const accountOf = values => ({
  email: value(values, 'email'), password: secret(values), first_name: value(values, 'first_name'), last_name: value(values, 'last_name'),
})

/**
 * The mail has a link; once it was opened, wherever that is, this page goes on. In this browser it does so by itself.
 *
 * @param {Way} way
 * @param {Account} account Stays in memory, so that the person need not type it again.
 * @param {{ goOn: () => Promise<unknown>, next?: string | null }} then
 */
export function verifyFirst(way, account, then) {
  const { requests } = way
  const isTooEarly = signal(false)
  waitForVerification(way, () => account, then)
  return card({ title: t('entry.mailed_title'), lead: rich('entry.verify_mailed', { address: h('bdi', null, account.email) }) },
    form({
      children: [],
      button: t('entry.verify_went'),
      submit: async () => {
        try {
          await logIn(requests, account.email, account.password)
        } catch (error) {
          isTooEarly.value = isRefused(error, 'email_unverified')
          throw error
        }
        await then.goOn()
      },
    }),
    () => isTooEarly.value && below(form({
      class: 'entry-quiet-form',
      children: [],
      button: t('entry.send_again'),
      submit: async () => {
        await requests.requestEmailVerification({ email: account.email })
        isTooEarly.value = false
        say(t('entry.sent_again'))
      },
    })))
}
