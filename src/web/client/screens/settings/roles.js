// The roles of the organisation: those that every organisation has, and its own.

import { h, when } from '../../view/element.js'
import { list } from '../../view/list.js'
import { t } from '../../text/words.js'
import { fetched } from './fetched.js'
import { asking, part, section } from './parts.js'
import { holds, isBuiltIn, isWithinOwn, offered, roleTitle } from './rights.js'
import { editRole } from './role.js'

/** @typedef {ReturnType<typeof offered>} Offered */
/** @typedef {{ roles: Role[], rights: Offered }} Known */

/** @param {Store} store @param {string} id The organisation. */
export const roles = (store, id) => part(t('settings.roles'), t('settings.rolesIntro'),
  fetched(async () => {
    const [{ data: known }, { data: rights }] = await Promise.all([store.api.listRoles(id), store.api.listPermissions()])
    return { roles: known, rights: offered(rights) }
  }, (known, again) => [
    section(t('settings.rolesOwn'),
      h('p', { class: 'quiet', hidden: () => own(known.value).length > 0 }, t('settings.rolesOwnNone')),
      list(h('ul', { class: 'items' }), () => own(known.value), role => role.uuid, role => row(store, id, known, role, again)),
      h('p', null, h('button', {
        type: 'button', class: 'button primary', onclick: () => editRole(store, id, known.peek().rights, null, again),
      }, t('settings.roleMake')))),
    section(t('settings.rolesBuiltIn'), h('p', { class: 'quiet' }, t('settings.rolesBuiltInText')),
      h('ul', { class: 'items' },
        known.peek().roles.filter(isBuiltIn).map(role => h('li', { class: 'item' }, words(role, known.peek().rights))))),
  ]))

/** @param {Known} known */
const own = known => known.roles.filter(role => !isBuiltIn(role))

/** @param {Role} role @param {Offered} rights */
function words(role, rights) {
  const held = rights.filter(({ key }) => holds(role, key)).map(({ title }) => title)
  return h('div', { class: 'item-text', id: `role-${role.id}` },
    h('strong', null, h('bdi', null, roleTitle(role.key, role.name))),
    !isBuiltIn(role) && role.description && h('p', { dir: 'auto' }, role.description),
    h('p', { class: 'quiet small' }, held.length ? held.join(' · ') : t('settings.roleNothing')))
}

/**
 * @param {Store} store
 * @param {string} id
 * @param {import('../../base/signal.js').Signal<Known>} known
 * @param {import('../../base/signal.js').Signal<Role>} role
 * @param {() => Promise<void>} again
 */
function row(store, id, known, role, again) {
  const describedBy = `role-${role.peek().id}`
  const remove = asking(t('common.delete'), () => ({
    title: t('settings.roleDeleteTitle', { name: role.peek().name }),
    text: t('settings.roleDeleteText', { role: t('settings.roleMember') }), action: t('common.delete'), danger: true,
  }), async () => {
    await store.api.deleteRole(id, String(role.peek().id))
    await again()
  }, { describedBy })
  const edit = h('button', {
    type: 'button', class: 'button', 'aria-describedby': describedBy,
    onclick: () => editRole(store, id, known.peek().rights, role.peek(), again),
  }, t('common.edit'))
  return h('li', { class: 'item' },
    () => words(role.value, known.peek().rights),
    h('div', { class: 'item-buttons' }, when(() => isWithinOwn(store, role.value), () => [edit, remove])))
}
