// A join link: whoever has it may join, with an account or with a new one.

import { signal, untracked } from '../../base/signal.js'
import { t } from '../../text/words.js'
import { h } from '../../view/element.js'
import { form } from '../../view/form.js'
import { email, names, newPassword, password, secret, value } from './fields.js'
import { below, later } from './frame.js'
import { invited, look, otherWays, signOut } from './invitation.js'
import { checked, over } from './link.js'
import { rememberAddress } from './memory.js'
import { enterAsMember, isRefused, logIn, nameOf } from './session.js'
import { accountOf, verifyFirst } from './sign-up.js'

/**
 * @typedef {import('./entry.js').Way} Way
 * @typedef {import('./sign-up.js').Account} Account
 * @typedef {import('#api').components['schemas']['InvitationPreview']} Preview
 */

/** @param {Way} way */
export const join = way => later(() => enterAsMember(way), isIn => isIn ? null : asked(way))

/** @param {Way} way */
const asked = way => checked(way, 'join_link', token => later(() => look(way, token), ([preview, user]) => {
  if (!preview) return over('join_link', 'void')
  if (user) {
    return invited(preview,
      form({ children: [], button: t('entry.join_as', { name: nameOf(user) }), submit: () => accept(way, { token }) }),
      h('details', { class: 'entry-more' }, h('summary', null, t('entry.join_other')), signOut(way)))
  }
  return asVisitor(way, token, preview)
}))

/**
 * @param {Way} way
 * @param {string} token
 * @param {Preview} preview
 */
function asVisitor(way, token, preview) {
  const shown = signal(/** @type {'new' | 'known' | Account} */ ('new'))
  const change = (/** @type {'new' | 'known'} */ kind) => h('button', {
    type: 'button', class: 'entry-link', onclick: () => { shown.value = kind },
  }, kind === 'new' ? t('entry.no_account') : t('entry.has_account'))
  const asNew = () => invited(preview,
    form({
      children: [names(way.features), email(), newPassword(way.features)],
      button: t('entry.join_button'),
      submit: async values => {
        const account = accountOf(values)
        rememberAddress(account.email, { forMail: true })
        try {
          await accept(way, { token, ...account })
        } catch (error) {
          if (!isRefused(error, 'email_unverified')) throw error
          // The address comes first, by the server's rule or the link's: the account is made now, and joins after that.
          await way.requests.register({ ...account, join_token: token })
          shown.value = account
        }
      },
    }),
    below(change('known')))
  const asKnown = () => invited(preview,
    form({
      children: [email(), password()],
      button: t('entry.join_sign_in'),
      submit: async values => {
        await logIn(way.requests, value(values, 'email'), secret(values))
        await accept(way, { token })
      },
    }),
    otherWays(way, change('new')))
  return () => {
    const kind = shown.value
    if (kind === 'new') return untracked(asNew)
    if (kind === 'known') return untracked(asKnown)
    return untracked(() => verifyFirst(way, kind, { goOn: () => accept(way, { token }) }))
  }
}

/**
 * @param {Way} way
 * @param {{ token: string } & Partial<Account>} joining
 */
async function accept({ requests, arrive }, joining) {
  try {
    const { data } = await requests.joinByLink({ ...joining, cookie: true })
    await arrive(`/o/${data.user.current_organisation_slug}`)
  } catch (error) {
    if (!isRefused(error, 'already_a_member')) throw error
    await arrive()
  }
}
