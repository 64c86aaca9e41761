// Accepting an invitation: who invites, to what, as what; and then a new account, or the one that the address has.

import { Refusal } from '../../net/request.js'
import { language, rich, t } from '../../text/words.js'
import { h } from '../../view/element.js'
import { form } from '../../view/form.js'
import { email, names, newPassword, password, secret, value } from './fields.js'
import { below, card, later, to } from './frame.js'
import { checked, over } from './link.js'
import { rememberAddress, withNext } from './memory.js'
import { enterAsMember, isRefused, logIn, logOut, nameOf, whoIsHere } from './session.js'

/**
 * @typedef {import('./entry.js').Way} Way
 * @typedef {import('#api').components['schemas']['InvitationPreview']} Preview
 * @typedef {import('#api').components['schemas']['User']} User
 */

/** @param {Way} way */
export const invitation = way => checked(way, 'invitation', token => later(() => look(way, token), ([preview, user]) => {
  if (!preview) return over('invitation', 'void')
  if (user && user.email.toLowerCase() === preview.user_email.toLowerCase()) return asUser(way, token, preview, user)
  if (user) return asSomebodyElse(way, preview, user)
  return preview.is_new_user ? asNew(way, token, preview) : asKnown(way, token, preview)
}), {
  parameter: 'invitation_token',
  instead: status => later(() => enterAsMember(way), isIn => isIn ? null : over('invitation', status)),
})

/**
 * What the link leads to, and whose session this browser has.
 *
 * @param {Way} way
 * @param {string} token
 * @returns {Promise<[Preview | null, User | null]>}
 */
export const look = ({ requests, route }, token) => Promise.all([
  requests.loadOrganisationInfo(route.query.get('org_id') ?? '', { invitation_token: token }).then(({ data }) => data, error => {
    if (error instanceof Refusal && [400, 404].includes(error.status)) return null
    throw error
  }),
  whoIsHere(requests),
])

/**
 * @param {Way} way
 * @param {string} token
 * @param {Preview} preview
 * @param {User} user
 */
const asUser = (way, token, preview, user) => invited(preview,
  form({ children: [], button: t('entry.join_as', { name: nameOf(user) }), submit: () => accept(way, { token }) }))

/**
 * @param {Way} way
 * @param {string} token
 * @param {Preview} preview
 */
const asNew = (way, token, preview) => invited(preview,
  h('p', null, t('entry.invitation_new')),
  form({
    children: [email({ fixed: preview.user_email }), names(way.features), newPassword(way.features)],
    button: t('entry.join_button'),
    submit: values => accept(way, {
      token, first_name: value(values, 'first_name'), last_name: value(values, 'last_name'), password: secret(values),
    }),
  }))

/**
 * @param {Way} way
 * @param {string} token
 * @param {Preview} preview
 */
const asKnown = (way, token, preview) => {
  rememberAddress(preview.user_email)
  return invited(preview,
    h('p', null, t('entry.invitation_known')),
    form({
      children: [email({ fixed: preview.user_email }), password()],
      button: t('entry.join_sign_in'),
      submit: async values => {
        await logIn(way.requests, preview.user_email, secret(values))
        await accept(way, { token })
      },
    }),
    otherWays(way))
}

/**
 * Ways to sign in without the password, which come back here.
 *
 * @param {Way} way
 * @param {...import('../../view/element.js').Child} more
 */
export const otherWays = ({ features }, ...more) => below(
  features.login.magic_link && to(withNext('/sign-in/mail', location.pathname + location.search), t('entry.by_mail')),
  features.has_mail && to(withNext('/forgotten-password', location.pathname + location.search), t('entry.forgotten')),
  more)

/**
 * @param {Way} way
 * @param {Preview} preview
 * @param {User} user
 */
const asSomebodyElse = (way, preview, user) => invited(preview,
  h('p', { class: 'notice' }, rich('entry.invitation_other', { invited: h('bdi', null, preview.user_email), address: h('bdi', null, user.email) })),
  signOut(way))

/** Ends the session of this browser, and shows the page again. It is for join links, too. @param {Way} way */
export const signOut = ({ requests, go }) => form({
  children: [],
  button: t('entry.sign_out'),
  submit: async () => {
    await logOut(requests)
    go(location.pathname + location.search, { replace: true })
  },
})

/**
 * @param {Way} way
 * @param {{ token: string, first_name?: string, last_name?: string, password?: string }} acceptance
 */
async function accept({ requests, arrive }, acceptance) {
  try {
    const { data } = await requests.acceptInvitation({ ...acceptance, cookie: true })
    await arrive(`/o/${data.user.current_organisation_slug}`)
  } catch (error) {
    if (!isRefused(error, 'already_a_member')) throw error
    await arrive()
  }
}

/**
 * @param {Preview} preview
 * @param {...import('../../view/element.js').Child} children
 */
export const invited = (preview, ...children) => card({
  title: t('entry.invitation_title', { organisation: preview.organisation_name }),
  heading: rich('entry.invitation_title', { organisation: h('bdi', null, preview.organisation_name) }),
},
h('dl', { class: 'entry-facts' },
  fact(t('entry.invited_by'), h('bdi', null, preview.inviter_name)),
  fact(t('entry.role'), h('bdi', null, roleName(preview))),
  preview.domain && fact(t('entry.only_domain'), h('bdi', null, `@${preview.domain}`)),
  fact(t('entry.good_until'), dayAndTime(preview.expires_at))),
children)

/**
 * @param {string} name
 * @param {import('../../view/element.js').Child} content
 */
const fact = (name, content) => h('div', null, h('dt', null, name), h('dd', null, content))

/** @param {string} time */
const dayAndTime = time => new Date(time).toLocaleString(language.value, { dateStyle: 'medium', timeStyle: 'short' })

/** Built-in roles have names in each language; an organisation's own have the one that it gave them. @param {Preview} preview */
function roleName({ role, role_name: name }) {
  if (role === 'admin') return t('entry.role_admin')
  if (role === 'manager') return t('entry.role_manager')
  if (role === 'project-lead') return t('entry.role_project_lead')
  if (role === 'member') return t('entry.role_member')
  if (role === 'guest') return t('entry.role_guest')
  return name
}
