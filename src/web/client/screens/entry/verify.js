// Proving that an e-mail address is one's own.

import { signal, untracked } from '../../base/signal.js'
import { rich, t } from '../../text/words.js'
import { h } from '../../view/element.js'
import { form } from '../../view/form.js'
import { email, password, secret, value } from './fields.js'
import { below, card, later, mainLink } from './frame.js'
import { checked, overTitle } from './link.js'
import { rememberAddress, rememberedAddress } from './memory.js'
import { isRefused, logIn, nameOf, whoIsHere } from './session.js'

/**
 * @typedef {import('./entry.js').Way} Way
 * @typedef {import('#api').components['schemas']['User']} User
 */

/** The page that the link in the mail leads to. @param {Way} way */
export const verify = way => checked(way, 'email_verification',
  token => later(() => whoIsHere(way.requests), user => {
    const isOther = signal(!user || user.is_verified)
    return () => {
      const byPassword = isOther.value
      return untracked(() => (user && !byPassword ? asUser(way, token, user, () => { isOther.value = true }) : asWhoKnowsThePassword(way, token)))
    }
  }),
  { instead: status => again(way, overTitle(status)) })

/**
 * This browser's session shows whose address it is.
 *
 * @param {Way} way
 * @param {string} token
 * @param {User} user
 * @param {() => void} other
 */
const asUser = ({ requests, arrive }, token, user, other) => card(
  { title: t('entry.verify_title'), lead: rich('entry.verify_as', { name: h('bdi', null, nameOf(user)), address: h('bdi', null, user.email) }) },
  form({
    children: [],
    button: t('entry.verify_button'),
    submit: async () => {
      await requests.verifyEmail({ token })
      await arrive()
    },
  }),
  below(h('button', { type: 'button', class: 'entry-link', onclick: other }, t('entry.not_me'))))

/**
 * @param {Way} way
 * @param {string} token
 */
function asWhoKnowsThePassword({ requests, arrive }, token) {
  const isVerified = signal(false)
  const question = () => card({ title: t('entry.verify_title'), lead: t('entry.verify_lead') },
    form({
      children: [email(), password()],
      button: t('entry.verify_button'),
      submit: async values => {
        await requests.verifyEmail({ token, password: secret(values) })
        try {
          await logIn(requests, value(values, 'email'), secret(values))
        } catch (error) {
          if (!isRefused(error, 'wrong_credentials')) throw error
          isVerified.value = true
          return
        }
        await arrive()
      },
    }))
  const done = () => card({ title: t('entry.verified_title'), lead: t('entry.verified') }, mainLink('/sign-in', t('entry.sign_in')))
  return () => {
    const finished = isVerified.value
    return untracked(finished ? done : question)
  }
}

/**
 * The link doesn't work any more: says so, and offers another mail.
 *
 * @param {Way} way
 * @param {string} title
 */
function again({ requests }, title) {
  const sent = signal('')
  const question = () => card({ title, lead: t('entry.verify_over') },
    mainLink('/sign-in', t('entry.sign_in')),
    h('details', { class: 'entry-more' }, h('summary', null, t('entry.verify_again')),
      form({
        children: [email()],
        button: t('entry.send_mail'),
        submit: async values => {
          const address = value(values, 'email')
          await requests.requestEmailVerification({ email: address })
          rememberAddress(address, { forMail: true })
          sent.value = address
        },
      })))
  return () => {
    const address = sent.value
    return untracked(() => (address ? verificationMailed(address) : question()))
  }
}

/** @param {string} address */
const verificationMailed = address =>
  card({ title: t('entry.mailed_title'), lead: rich('entry.verify_mailed', { address: h('bdi', null, address) }) })

/** Stands below a refusal, where the address has to be verified first. @param {Way} way */
export function verificationAgain({ requests }) {
  const isSent = signal(false)
  const send = () => form({
    class: 'entry-quiet-form',
    children: [],
    button: t('entry.verify_again'),
    submit: async () => {
      const address = rememberedAddress()
      rememberAddress(address, { forMail: true })
      await requests.requestEmailVerification({ email: address })
      isSent.value = true
    },
  })
  return h('div', { class: 'notice', role: 'status' }, () => (isSent.value ? t('entry.verify_sent') : untracked(send)))
}
