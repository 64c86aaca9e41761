// One member in the list, and what others may do to them.

import { h, when } from '../../view/element.js'
import { confirm, openDialog } from '../../view/dialog.js'
import { field, form } from '../../view/form.js'
import { openMenu } from '../../view/menu.js'
import { icon } from '../../view/icons.js'
import { say } from '../../view/toast.js'
import { t } from '../../text/words.js'
import { face, mark } from '../face.js'
import { attempt, badge } from './parts.js'
import { isOwner, isWithinOwn, may, roleTitle } from './rights.js'

/** @typedef {(old: Member, changed: Member | null) => void} Replace */

/**
 * @param {Store} store
 * @param {string} id The organisation.
 * @param {Role[]} roles
 * @param {import('../../base/signal.js').Signal<Member>} member
 * @param {Replace} replace
 */
export function memberRow(store, id, roles, member, replace) {
  const { id: userId, name } = member.peek()
  const isMe = userId === store.me.peek()?.id
  const open = () => openMenu(button, deeds(store, id, roles, member.peek(), replace, button))
  const button = h('button', {
    type: 'button', class: 'icon-button', 'aria-haspopup': 'menu', 'aria-label': t('settings.memberMenu', { name }), onclick: open,
  }, icon('more'))
  return h('li', { class: 'item' },
    () => face({ ...member.value, user_id: userId }),
    h('div', { class: 'item-text' },
      h('p', { class: 'row-line' },
        h('strong', null, h('bdi', null, () => member.value.name)),
        h('span', { class: 'badge item-role' }, () => roleTitle(member.value.role, member.value.role_name)),
        isMe && badge(t('common.you'), 'good'),
        () => mark(member.value),
        () => member.value.status === 'deactivated' && badge(t('settings.memberDeactivated'), 'bad')),
      h('p', { class: 'quiet small' },
        h('bdi', null, () => `@${member.value.username}`),
        () => member.value.user_type !== 'bot' && [' · ', h('bdi', { class: 'address' }, () => member.value.email),
          !member.value.is_verified && [' · ', t('settings.emailUnverified')]])),
    h('div', { class: 'item-buttons' }, when(() => mayTouch(store, roles, member.value), () => button)))
}

/**
 * Whether the person may change anything about the member: not themselves, the owner, or who has rights that they lack.
 *
 * @param {Store} store
 * @param {Role[]} roles
 * @param {Member} member
 */
function mayTouch(store, roles, member) {
  if (member.id === store.me.value?.id || isOwner(member)) return false
  const role = roles.find(each => each.id === member.role_id)
  return (may(store, 'can_manage_roles') || may(store, 'can_remove_members')) && role !== undefined && isWithinOwn(store, role)
}

/**
 * @param {Store} store
 * @param {string} id
 * @param {Role[]} roles
 * @param {Member} member
 * @param {Replace} replace
 * @param {HTMLElement} control
 */
function deeds(store, id, roles, member, replace, control) {
  const set = async (/** @type {import('#api').components['schemas']['EditMember']} */ change) => {
    await store.api.updateOrganisationMember(id, member.id, change)
    const role = roles.find(each => each.id === change.role_id)
    const given = role ? { role_id: role.id, role: role.key, role_name: role.name } : {}
    replace(member, { ...member, status: change.status ?? member.status, ...given })
    say(t('common.saved'))
  }
  const isOff = member.status === 'deactivated'
  return [
    may(store, 'can_manage_roles')
      && { label: t('settings.memberRole'), icon: 'key', run: () => giveRole(store, roles, member, set) },
    may(store, 'can_remove_members') && isOff
      && { label: t('settings.memberActivate'), icon: 'check', run: () => attempt(control, () => set({ status: 'active' })) },
    may(store, 'can_remove_members') && !isOff && {
      label: t('settings.memberDeactivate'), icon: 'lock', run: async () => {
        const sure = await confirm({
          title: t('settings.memberDeactivateTitle', { name: member.name }),
          text: t('settings.memberDeactivateText'), action: t('settings.memberDeactivate'), danger: true,
        })
        if (sure) await attempt(control, () => set({ status: 'deactivated' }))
      },
    },
    may(store, 'can_remove_members') && {
      label: t('settings.memberRemove'), icon: 'door', danger: true, run: async () => {
        const sure = await confirm({
          title: t('settings.memberRemoveTitle', { name: member.name }),
          text: t('settings.memberRemoveText'), action: t('common.remove'), danger: true,
        })
        if (sure) await attempt(control, async () => {
          await store.api.removeOrganisationMember(id, member.id)
          replace(member, null)
        })
      },
    },
  ]
}

/**
 * @param {Store} store
 * @param {Role[]} roles
 * @param {Member} member
 * @param {(change: { role_id: number }) => Promise<void>} set
 */
const giveRole = (store, roles, member, set) => openDialog({
  title: t('settings.memberRoleTitle', { name: member.name }),
  body: close => form({
    button: t('common.save'),
    beside: h('button', { type: 'button', class: 'button', onclick: () => close() }, t('common.cancel')),
    submit: async values => {
      await set({ role_id: Number(values.get('role_id')) })
      close()
    },
    children: [field(t('settings.role'), h('select', { name: 'role_id' }, roles.filter(role => isWithinOwn(store, role)).map(role =>
      h('option', { value: role.id, selected: role.id === member.role_id }, roleTitle(role.key, role.name)))))],
  }),
})
