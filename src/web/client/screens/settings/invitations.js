// Inviting people, by mail and by links that several can use.

import { t } from '../../text/words.js'
import { fetched } from './fetched.js'
import { invite } from './invite.js'
import { joinLinks } from './join-links.js'
import { part, section } from './parts.js'
import { holds, isWithinOwn, RIGHTS } from './rights.js'
import { sentInvitations, sentPage } from './sent-invitations.js'

/** @param {Store} store @param {string} id The organisation. */
export const invitations = (store, id) => part(t('settings.invitations'), t('settings.invitationsIntro'),
  fetched(async () => {
    const [roles, first, links] = await Promise.all([store.api.listRoles(id), sentPage(store, id, 1), store.api.listJoinLinks(id)])
    return { roles: roles.data, first, links: links.data }
  }, data => {
    const { roles, first, links } = data.peek()
    const sent = sentInvitations(store, id, first)
    const own = roles.filter(role => isWithinOwn(store, role))
    return [
      section(t('settings.invite'), invite(store, id, own, sent.newest)),
      section(t('settings.invited'), ...sent.nodes),
      joinLinks(store, id, links, own.filter(role => isForEverybody(roles, role))),
    ]
  }))

/**
 * Whether a link may give the role: it holds no right that an ordinary member lacks.
 *
 * @param {Role[]} roles
 * @param {Role} role
 */
function isForEverybody(roles, role) {
  const member = roles.find(each => each.key === 'member')
  return member !== undefined && RIGHTS.every(({ right }) => !holds(role, right) || holds(member, right))
}
