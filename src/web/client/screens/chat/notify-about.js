// What the person is notified of in a channel.

import { signal } from '../../base/signal.js'
import { t } from '../../text/words.js'
import { openDialog } from '../../view/dialog.js'
import { h, when } from '../../view/element.js'
import { field, form } from '../../view/form.js'
import { say } from '../../view/toast.js'
import { notifies } from '../browser-settings.js'
import { permission } from '../notifying.js'

/** @typedef {'all_new_messages' | 'mentions' | 'nothing'} About */

/** What one can be notified about. @returns {{ value: About, label: string }[]} */
export const abouts = () => [
  { value: 'all_new_messages', label: t('notifications.all') },
  { value: 'mentions', label: t('notifications.mentions') },
  { value: 'nothing', label: t('notifications.nothing') },
]

/** @param {Store} store @param {string} id */
export async function openNotifyAbout(store, id) {
  const { data: chosen } = await store.api.getChannelNotificationPreference(id, {})
  const channel = store.channel(id)
  const usual = abouts().find(each => each.value === chosen.in_organisation)?.label ?? ''
  const about = signal(chosen.notify_about)
  const isNothing = () => about.value === 'nothing' || (about.value === 'default' && chosen.in_organisation === 'nothing')
  const select = h('select', { name: 'about', onchange: () => { about.value = select.value } },
    [{ value: 'default', label: t('notifications.usual', { choice: usual }) }, ...abouts()].map(({ value, label }) => h('option', { value }, label)))
  select.value = chosen.notify_about
  const all = h('input', { type: 'checkbox', checked: chosen.at_channel, disabled: isNothing })
  const muted = h('input', { type: 'checkbox', checked: chosen.muted })
  await openDialog({
    title: channel?.is_direct ? t('notifications.title') : t('notifications.ofChannel', { name: channel?.name ?? '' }),
    body: close => form({
      button: t('common.save'),
      children: [
        field(t('notifications.about'), select),
        h('label', { class: 'settings-choice' }, all, h('span', null, t('notifications.atChannel'))),
        h('label', { class: 'settings-choice' }, muted, h('span', null, t('notifications.muted'))),
        when(() => permission.value !== 'granted' || !notifies.value, () => h('p', { class: 'quiet small' }, t('notifications.notHere'), ' ',
          h('a', { href: '/settings/notifications', onclick: () => close() }, t('notifications.toSettings')))),
      ],
      submit: async () => {
        const notify_about = /** @type {About | 'default'} */ (about.peek())
        await store.api.setChannelNotificationPreference(id, { notify_about, at_channel: all.checked, muted: muted.checked })
        close()
        say(t('common.saved'))
      },
    }),
  })
}
