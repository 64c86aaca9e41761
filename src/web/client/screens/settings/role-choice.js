import { h } from '../../view/element.js'
import { roleTitle } from './rights.js'

/**
 * A choice among roles, which begins at that of an ordinary member.
 *
 * @param {import('#api').components['schemas']['Role'][]} roles
 */
export const roleChoice = roles => h('select', { name: 'role' }, roles.map(role =>
  h('option', { value: String(role.id), selected: role.key === 'member' }, roleTitle(role.key, role.name))))
