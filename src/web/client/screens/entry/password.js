// A forgotten password, and the new one.

import { signal, untracked } from '../../base/signal.js'
import { rich, t } from '../../text/words.js'
import { h } from '../../view/element.js'
import { form } from '../../view/form.js'
import { say } from '../../view/toast.js'
import { email, newPassword, secret, value } from './fields.js'
import { below, card, to } from './frame.js'
import { checked } from './link.js'
import { noMail } from './mail.js'
import { rememberAddress, withNext } from './memory.js'
import { isRefused, logIn } from './session.js'
import { waitForMail, wanted } from './tabs.js'

/** @typedef {import('./entry.js').Way} Way */

/** Asks for the mail with the link. @param {Way} way */
export function forgotten(way) {
  const { requests, features, route } = way
  if (!features.has_mail) return noMail()
  const next = route.query.get('next')
  const sent = signal('')
  const ask = async (/** @type {string} */ address) => {
    rememberAddress(address, { forMail: true, next })
    await requests.requestPasswordReset({ email: address })
    sent.value = address
  }
  const question = () => card({ title: t('entry.forgotten_title'), lead: t('entry.forgotten_lead') },
    form({ children: [email()], button: t('entry.send_mail'), submit: values => ask(value(values, 'email')) }),
    below(to(withNext('/sign-in', next), t('entry.to_sign_in'))))
  const mailed = () => {
    waitForMail(way, sent.peek(), next)
    return card({ title: t('entry.mailed_title'), lead: rich('entry.forgotten_mailed', { address: h('bdi', null, sent.peek()) }) }, below(
      form({ class: 'entry-quiet-form', children: [], button: t('entry.send_again'), submit: () => ask(sent.peek()).then(() => say(t('entry.sent_again'))) }),
      to(withNext('/sign-in', next), t('entry.to_sign_in'))))
  }
  return () => {
    const isSent = sent.value !== ''
    return untracked(isSent ? mailed : question)
  }
}

/** The page that the link leads to. @param {Way} way */
export const reset = way => checked(way, 'password_reset', token => {
  /** The password that was set, where the log-in failed all the same: the address wasn't the account's. */
  const chosen = signal('')
  const enter = async (/** @type {string} */ address, /** @type {string} */ password) => {
    const user = await logIn(way.requests, address, password)
    await way.arrive(await wanted(user.email))
  }
  const question = () => card({ title: t('entry.reset_title'), lead: t('entry.reset_lead') },
    form({
      children: [email(), newPassword(way.features, { label: t('entry.new_password'), name: 'new_password' })],
      button: t('entry.reset_button'),
      submit: async values => {
        const [address, password] = [value(values, 'email'), secret(values, 'new_password')]
        await way.requests.resetPassword({ token, new_password: password })
        try {
          await enter(address, password)
        } catch (error) {
          if (!isRefused(error, 'wrong_credentials', 'email_unverified')) throw error
          chosen.value = password
        }
      },
    }))
  const otherAddress = () => card({ title: t('entry.reset_done_title'), lead: t('entry.reset_done') },
    form({ children: [email()], button: t('entry.sign_in'), submit: values => enter(value(values, 'email'), chosen.peek()) }))
  return () => {
    const isSet = chosen.value !== ''
    return untracked(isSet ? otherAddress : question)
  }
})
