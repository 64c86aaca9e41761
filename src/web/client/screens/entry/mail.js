// Signing in by a mail: its link, or the six digits beside it.

import { signal, untracked } from '../../base/signal.js'
import { rich, t } from '../../text/words.js'
import { h } from '../../view/element.js'
import { field, form } from '../../view/form.js'
import { say } from '../../view/toast.js'
import { email, value } from './fields.js'
import { below, card, later, mainLink, to } from './frame.js'
import { checked } from './link.js'
import { rememberAddress, withNext } from './memory.js'
import { isRefused, nameOf, whoIsHere } from './session.js'
import { wanted, waitForMail } from './tabs.js'

/** @typedef {import('./entry.js').Way} Way */

/** Asks for the mail, and then for its code. @param {Way} way */
export function byMail(way) {
  const { requests, features, route, arrive } = way
  const next = route.query.get('next')
  // The browser may have closed this tab while the mail was read in another, and opened it again.
  whoIsHere(requests).then(user => user && arrive(next)).catch(() => {})
  /** The secret that makes the code good in this browser alone. It stays in memory. @type {import('../../base/signal.js').Signal<{ address: string, request: string } | null>} */
  const asked = signal(null)
  const ask = async (/** @type {string} */ address) => {
    rememberAddress(address, { forMail: true, next })
    const { data } = await requests.requestMagicLinkCode({ email: address })
    asked.value = { address, request: data.request }
  }
  const question = () => card({ title: t('entry.by_mail_title'), lead: t('entry.by_mail_lead') },
    form({ children: [email()], button: t('entry.send_mail'), submit: values => ask(value(values, 'email')) }),
    below(to(withNext('/sign-in', next), t('entry.by_password'))))
  if (!features.login.magic_link) return noMail()
  return () => {
    const mailed = asked.value
    return untracked(() => (mailed ? code(way, mailed, ask) : question()))
  }
}

/**
 * @param {Way} way
 * @param {{ address: string, request: string }} mailed
 * @param {(address: string) => Promise<void>} again
 */
function code(way, { address, request }, again) {
  const { requests, route, arrive } = way
  const next = route.query.get('next')
  const isVoid = signal(false)
  waitForMail(way, address, next)
  return card({ title: t('entry.code_title'), lead: rich('entry.code_lead', { address: h('bdi', null, address) }) },
    form({
      children: [field(t('entry.code'), h('input', {
        name: 'code', class: 'entry-code', inputmode: 'numeric', autocomplete: 'one-time-code', required: true, pattern: '\\s*(\\d\\s*){6}', maxlength: 12,
      }))],
      button: t('entry.sign_in'),
      submit: async values => {
        try {
          await requests.logInByCode({ request, code: value(values, 'code').replace(/\D/g, ''), cookie: true })
        } catch (error) {
          isVoid.value = isRefused(error, 'too_many_codes', 'link_used', 'link_invalid')
          throw error
        }
        await arrive(next)
      },
    }),
    () => isVoid.value && h('p', { class: 'notice' }, t('entry.code_void')),
    below(
      form({ class: 'entry-quiet-form', children: [], button: t('entry.send_again'), submit: () => again(address).then(() => say(t('entry.sent_again'))) }),
      to(withNext('/sign-in', next), t('entry.by_password'))))
}

/** What stands where a mail would have to be sent, on a server that sends none. */
export const noMail = () => card({ title: t('entry.no_mail_title'), lead: t('entry.no_mail') }, mainLink('/sign-in', t('entry.sign_in')))

/** The page that the link in the mail leads to. Whose link it is, nobody knows before it is used. @param {Way} way */
export const magicLink = way => checked(way, 'magic_link', token => later(() => whoIsHere(way.requests), here => card({
  title: t('entry.magic_title'), lead: t('entry.magic_lead'),
},
  here && h('p', { class: 'notice' }, rich('entry.magic_other', { name: h('bdi', null, nameOf(here)), address: h('bdi', null, here.email) })),
  form({
    children: [],
    button: t('entry.sign_in'),
    submit: async () => {
      const { data } = await way.requests.logInByMagicLink({ token, cookie: true })
      await way.arrive(await wanted(data.user.email))
      say(t('entry.signed_in_as', { name: nameOf(data.user), address: data.user.email }))
    },
  }))))
