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
import { verifyThere, waitForVerification, wanted, whoWaits } from './tabs.js'

/**
 * @typedef {import('./entry.js').Way} Way
 * @typedef {import('#api').components['schemas']['User']} User
 */

/** The page that the link in the mail leads to. @param {Way} way */
export const verify = way => checked(way, 'email_verification',
  token => later(() => Promise.all([whoIsHere(way.requests), whoWaits()]), ([user, tab]) => {
    const isOther = signal(false)
    const other = () => { isOther.value = true }
    return () => {
      const byPassword = isOther.value
      return untracked(() => {
        if (!byPassword && user && !user.is_verified) return asUser(way, token, user, other)
        return !byPassword && tab ? asWhoWaits(way, token, tab, other) : asWhoKnowsThePassword(way, token)
      })
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
      await arrive(await wanted(user.email))
    },
  }),
  notMe(other))

/**
 * The tab in which the account was made has the password.
 *
 * @param {Way} way
 * @param {string} token
 * @param {{ tab?: string, address?: string }} waiting
 * @param {() => void} other
 */
const asWhoWaits = ({ arrive }, token, { tab, address }, other) => card(
  { title: t('entry.verify_title'), lead: rich('entry.verify_waiting', { address: h('bdi', null, address) }) },
  form({
    children: [],
    button: t('entry.verify_button'),
    submit: async () => {
      const next = await verifyThere(tab, token)
      if (next === undefined) other()
      else await arrive(next)
    },
  }),
  notMe(other))

const notMe = (/** @type {() => void} */ other) => below(h('button', { type: 'button', class: 'entry-link', onclick: other }, t('entry.not_me')))

/**
 * @param {Way} way
 * @param {string} token
 */
function asWhoKnowsThePassword({ requests, arrive }, token) {
  /** The password that verified an address, if it wasn't the one that was typed. */
  const verified = signal('')
  const enter = async (/** @type {string} */ address, /** @type {string} */ password) => {
    const user = await logIn(requests, address, password)
    await arrive(await wanted(user.email))
  }
  const question = () => card({ title: t('entry.verify_title'), lead: t('entry.verify_lead') },
    form({
      children: [email(), password()],
      button: t('entry.verify_button'),
      submit: async values => {
        const [address, password] = [value(values, 'email'), secret(values)]
        await requests.verifyEmail({ token, password })
        try {
          await enter(address, password)
        } catch (error) {
          if (!isRefused(error, 'wrong_credentials')) throw error
          verified.value = password
        }
      },
    }))
  const otherAddress = () => card({ title: t('entry.verified_title'), lead: t('entry.verified') },
    form({ children: [email()], button: t('entry.sign_in'), submit: values => enter(value(values, 'email'), verified.peek()) }))
  return () => {
    const isVerified = verified.value !== ''
    return untracked(isVerified ? otherAddress : question)
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

/**
 * Stands below a refusal, where the address has to be verified first.
 *
 * @param {Way} way
 * @param {HTMLFormElement} entrance Has what was refused.
 */
export function verificationAgain(way, entrance) {
  const { requests, route, arrive } = way
  const next = route.query.get('next')
  const isSent = signal(false)
  const account = () => {
    const values = new FormData(entrance)
    return { email: value(values, 'email'), password: secret(values) }
  }
  waitForVerification(way, account, { goOn: () => arrive(next), next })
  const send = () => form({
    class: 'entry-quiet-form',
    children: [],
    button: t('entry.verify_again'),
    submit: async () => {
      const address = rememberedAddress()
      rememberAddress(address, { forMail: true, next })
      await requests.requestEmailVerification({ email: address })
      isSent.value = true
    },
  })
  return h('div', { class: 'notice', role: 'status' }, () => (isSent.value ? t('entry.verify_sent') : untracked(send)))
}
