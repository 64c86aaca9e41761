// A forgotten password, and the new one.

import { signal, untracked } from '../../base/signal.js'
import { rich, t } from '../../text/words.js'
import { h } from '../../view/element.js'
import { form } from '../../view/form.js'
import { say } from '../../view/toast.js'
import { email, newPassword, secret, value } from './fields.js'
import { below, card, mainLink, to } from './frame.js'
import { checked } from './link.js'
import { noMail } from './mail.js'
import { rememberAddress } from './memory.js'
import { isRefused, logIn } from './session.js'

/** @typedef {import('./entry.js').Way} Way */

/** Asks for the mail with the link. @param {Way} way */
export function forgotten({ requests, features }) {
  if (!features.has_mail) return noMail()
  const sent = signal('')
  const ask = async (/** @type {string} */ address) => {
    rememberAddress(address, { forMail: true })
    await requests.requestPasswordReset({ email: address })
    sent.value = address
  }
  const question = () => card({ title: t('entry.forgotten_title'), lead: t('entry.forgotten_lead') },
    form({ children: [email()], button: t('entry.send_mail'), submit: values => ask(value(values, 'email')) }),
    below(to('/sign-in', t('entry.to_sign_in'))))
  const mailed = () => card(
    { title: t('entry.mailed_title'), lead: rich('entry.forgotten_mailed', { address: h('bdi', null, sent.peek()) }) },
    below(
      form({ class: 'entry-quiet-form', children: [], button: t('entry.send_again'), submit: () => ask(sent.peek()).then(() => say(t('entry.sent_again'))) }),
      to('/sign-in', t('entry.to_sign_in'))))
  return () => {
    const isSent = sent.value !== ''
    return untracked(isSent ? mailed : question)
  }
}

/** The page that the link leads to. @param {Way} way */
export const reset = way => checked(way, 'password_reset', token => {
  /** The password is set, and yet the log-in failed: the address wasn't the account's. */
  const isSet = signal(false)
  const question = () => card({ title: t('entry.reset_title'), lead: t('entry.reset_lead') },
    form({
      children: [email(), newPassword(way.features, { label: t('entry.new_password'), name: 'new_password' })],
      button: t('entry.reset_button'),
      submit: async values => {
        const [address, password] = [value(values, 'email'), secret(values, 'new_password')]
        await way.requests.resetPassword({ token, new_password: password })
        try {
          await logIn(way.requests, address, password)
        } catch (error) {
          if (!isRefused(error, 'wrong_credentials', 'email_unverified')) throw error
          isSet.value = true
          return
        }
        await way.arrive()
      },
    }))
  const done = () => card({ title: t('entry.reset_done_title'), lead: t('entry.reset_done') }, mainLink('/sign-in', t('entry.sign_in')))
  return () => {
    const finished = isSet.value
    return untracked(finished ? done : question)
  }
})
