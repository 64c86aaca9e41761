// What the person may do in the open organisation, and the words for roles and rights.

import { t } from '../../text/words.js'
import { h } from '../../view/element.js'

/** @typedef {import('#api').components['schemas']['PermissionKeys']} Keys */

/** The organisation's owner carries this in place of the name of their role. */
const OWNER = 'Owner'

/** @param {Store} store @param {keyof Keys} right */
export const may = (store, right) => store.organisation.value?.permissions[right] === true

/** @param {{ role_name: string } | null} holder */
export const isOwner = holder => holder?.role_name === OWNER

/** @type {Record<string, () => string>} */
const BUILT_IN = {
  admin: () => t('settings.roleAdmin'),
  manager: () => t('settings.roleManager'),
  'project-lead': () => t('settings.roleProjectLead'),
  member: () => t('settings.roleMember'),
  guest: () => t('settings.roleGuest'),
}

/**
 * @param {string} key As answers have it in `role`, `org_role` or `key`.
 * @param {string} name As the organisation calls it.
 */
export const roleTitle = (key, name) => name === OWNER ? t('settings.roleOwner') : BUILT_IN[key]?.() ?? name

/** @param {Role} role */
export const isBuiltIn = role => role.organisation_id == null

/**
 * The rights in the order in which they are offered, each with its title and what it lets people do.
 *
 * @type {{ right: keyof Keys, title: () => string, text: () => string }[]}
 */
export const RIGHTS = [
  { right: 'can_post_messages', title: () => t('settings.rightPost'), text: () => t('settings.rightPostText') },
  {
    right: 'can_create_channels', title: () => t('settings.rightCreateChannels'),
    text: () => t('settings.rightCreateChannelsText'),
  },
  {
    right: 'can_manage_channels', title: () => t('settings.rightManageChannels'),
    text: () => t('settings.rightManageChannelsText'),
  },
  { right: 'can_create_webhooks', title: () => t('settings.rightWebhooks'), text: () => t('settings.rightWebhooksText') },
  { right: 'can_invite_members', title: () => t('settings.rightInvite'), text: () => t('settings.rightInviteText') },
  { right: 'can_remove_members', title: () => t('settings.rightRemove'), text: () => t('settings.rightRemoveText') },
  { right: 'can_manage_roles', title: () => t('settings.rightRoles'), text: () => t('settings.rightRolesText') },
  {
    right: 'can_manage_organisation', title: () => t('settings.rightOrganisation'),
    text: () => t('settings.rightOrganisationText'),
  },
]

/** @param {Role} role @param {keyof Keys} right */
export const holds = (role, right) => role.permissions.permission_list[right] === true

/** Whether the person has every right of a role: nobody gives, takes or changes a role that can do more than they can. */
export const isWithinOwn = (/** @type {Store} */ store, /** @type {Role} */ role) =>
  RIGHTS.every(({ right }) => !holds(role, right) || may(store, right))

/**
 * The rights that the server knows, in our order; those that this client has no words for come last, in the server's.
 *
 * @param {import('#api').components['schemas']['Permission'][]} known
 */
export function offered(known) {
  const ours = RIGHTS.filter(each => known.some(one => one.key === each.right))
  const others = known.filter(one => RIGHTS.every(each => each.right !== one.key))
  return [
    ...ours.map(each => ({ key: each.right, title: each.title(), text: each.text() })),
    ...others.map(one => ({ key: /** @type {keyof Keys} */ (one.key), title: one.name, text: one.description })),
  ]
}

/**
 * A choice among roles, which begins at that of an ordinary member.
 *
 * @param {import('#api').components['schemas']['Role'][]} roles
 */
export const roleChoice = roles => h('select', { name: 'role' }, roles.map(role =>
  h('option', { value: String(role.id), selected: role.key === 'member' }, roleTitle(role.key, role.name))))
