// Making and changing a role of the organisation's own.

import { h } from '../../view/element.js'
import { openDialog } from '../../view/dialog.js'
import { field, form } from '../../view/form.js'
import { say } from '../../view/toast.js'
import { t } from '../../text/words.js'
import { holds, may } from './rights.js'

/**
 * @param {Store} store
 * @param {string} id The organisation.
 * @param {ReturnType<typeof import('./rights.js').offered>} rights
 * @param {Role | null} role The one to change; none makes a new one.
 * @param {() => Promise<void>} again
 */
export async function editRole(store, id, rights, role, again) {
  const isDone = await openDialog({
    wide: true,
    title: role ? t('settings.roleChange', { name: role.name }) : t('settings.roleMake'),
    body: close => form({
      button: t('common.save'),
      beside: h('button', { type: 'button', class: 'button', onclick: () => close() }, t('common.cancel')),
      submit: async values => {
        const held = values.getAll('right')
        // Each right is named, so that one that was taken away is taken away. Nobody gives a right that they lack.
        const wanted = Object.fromEntries(rights.filter(({ key }) => may(store, key)).map(({ key }) => [key, held.includes(key)]))
        const body = { name: String(values.get('name')), description: String(values.get('description')), permission_list: wanted }
        await (role ? store.api.updateRole(id, String(role.id), body) : store.api.createRole(id, body))
        await again()
        close(true)
      },
      children: [
        field(t('settings.roleName'),
          h('input', { name: 'name', value: role?.name ?? '', required: true, maxlength: 64, dir: 'auto', autocomplete: 'off' })),
        field(t('settings.roleDescription'),
          h('input', { name: 'description', value: role?.description ?? '', maxlength: 255, dir: 'auto', autocomplete: 'off' })),
        h('fieldset', { class: 'settings-choices' },
          h('legend', null, t('settings.roleRights')),
          rights.filter(({ key }) => may(store, key)).map(({ key, title, text }) => h('label', { class: 'settings-choice' },
            h('input', { type: 'checkbox', name: 'right', value: key, checked: role !== null && holds(role, key) }),
            h('span', null, title, h('span', { class: 'quiet small block' }, text))))),
      ],
    }),
  })
  if (isDone) say(t('common.saved'))
}
