// What the person is notified of in a channel.

import { t } from '../../text/words.js'
import { openDialog } from '../../view/dialog.js'
import { h, when } from '../../view/element.js'
import { field, form } from '../../view/form.js'
import { say } from '../../view/toast.js'
import { permission } from '../notifying.js'

/** @typedef {'all_new_messages' | 'mentions' | 'nothing'} About */

/** @param {Store} store @param {string} id */
export async function openNotifyAbout(store, id) {
  const { data: chosen } = await store.api.getChannelNotificationPreference(id, {})
  const channel = store.channel(id)
  const about = h('select', { name: 'about' }, options(chosen.in_organisation, Boolean(channel?.is_direct)))
  about.value = chosen.notify_about
  const all = h('input', { type: 'checkbox', checked: chosen.at_channel })
  const muted = h('input', { type: 'checkbox', checked: chosen.muted })
  await openDialog({
    title: channel?.is_direct ? t('notifications.title') : t('notifications.ofChannel', { name: channel?.name ?? '' }),
    body: close => form({
      button: t('common.save'),
      children: [
        field(t('notifications.about'), about),
        h('label', { class: 'settings-choice' }, all, h('span', null, t('notifications.atChannel'))),
        h('label', { class: 'settings-choice' }, muted, h('span', null, t('notifications.muted'))),
        when(() => permission.value !== 'granted', () => h('p', { class: 'quiet small' }, t('notifications.notHere'), ' ',
          h('a', { href: '/settings/notifications', onclick: () => close() }, t('notifications.toSettings')))),
      ],
      submit: async () => {
        await store.api.setChannelNotificationPreference(id, { notify_about: /** @type {About | 'default'} */ (about.value), at_channel: all.checked, muted: muted.checked })
        close()
        say(t('common.saved'))
      },
    }),
  })
}

/** The choices, the first that of the organisation. Direct messages call in any case. @param {string} inOrganisation @param {boolean} isDirect */
function options(inOrganisation, isDirect) {
  /** @type {Record<string, string>} */
  const names = { all_new_messages: t('notifications.all'), mentions: t('notifications.mentions'), nothing: t('notifications.nothing') }
  const usual = names[isDirect ? 'all_new_messages' : inOrganisation]
  return [['default', t('notifications.usual', { choice: usual })], ...Object.entries(names)].map(([value, label]) => h('option', { value }, label))
}
