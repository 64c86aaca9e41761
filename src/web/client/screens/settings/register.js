// The parts of the settings: a person's own, and those of the open organisation for the roles that may.

import { t } from '../../text/words.js'
import { appearance } from './appearance.js'
import { bots } from './bots.js'
import { channels } from './channels.js'
import { commands } from './commands.js'
import { general } from './general.js'
import { invitations } from './invitations.js'
import { members } from './members.js'
import { notifications } from './notifications.js'
import { organisations } from './organisations.js'
import { password } from './password.js'
import { profile } from './profile.js'
import { programs } from './programs.js'
import { isOwner, may } from './rights.js'
import { roles } from './roles.js'
import { sessions } from './sessions.js'
import { webhooks } from './webhooks.js'

/** @type {{ name: string, icon: string, title: () => string, open: (store: Store) => Node }[]} */
export const OWN = [
  { name: 'profile', icon: 'person', title: () => t('settings.profile'), open: profile },
  { name: 'appearance', icon: 'eye', title: () => t('settings.appearance'), open: appearance },
  { name: 'notifications', icon: 'bell', title: () => t('notifications.title'), open: notifications },
  { name: 'password', icon: 'lock', title: () => t('settings.password'), open: password },
  { name: 'sessions', icon: 'key', title: () => t('settings.sessions'), open: sessions },
  { name: 'programs', icon: 'terminal', title: () => t('settings.programs'), open: programs },
  { name: 'organisations', icon: 'globe', title: () => t('settings.organisations'), open: organisations },
]

/**
 * @type {{ name: string, icon: string, title: () => string, isFor: (store: Store) => boolean,
 *   open: (store: Store, id: string, base: string, rest: string[]) => Node }[]}
 */
export const OF_ORGANISATION = [
  {
    name: 'general', icon: 'gear', title: () => t('settings.general'), open: general,
    isFor: store => may(store, 'can_manage_organisation') || isOwner(store.organisation.value),
  },
  { name: 'members', icon: 'people', title: () => t('settings.members'), open: members, isFor: () => true },
  { name: 'roles', icon: 'star', title: () => t('settings.roles'), open: roles, isFor: store => may(store, 'can_manage_roles') },
  {
    name: 'invitations', icon: 'mail', title: () => t('settings.invitations'), open: invitations,
    isFor: store => may(store, 'can_invite_members'),
  },
  { name: 'channels', icon: 'hash', title: () => t('settings.channels'), open: channels, isFor: () => true },
  { name: 'bots', icon: 'terminal', title: () => t('programs.bots'), open: bots, isFor: store => may(store, 'can_create_webhooks') },
  { name: 'commands', icon: 'slash', title: () => t('programs.commands'), open: commands, isFor: store => may(store, 'can_create_webhooks') },
  // The owner of a channel manages its webhooks without the right.
  {
    name: 'webhooks', icon: 'webhook', title: () => t('settings.webhooks'), open: webhooks,
    isFor: store => may(store, 'can_create_webhooks') || may(store, 'can_create_channels'),
  },
]
