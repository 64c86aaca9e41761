// Adding people to a channel.

import { t } from '../../text/words.js'
import { openDialog } from '../../view/dialog.js'
import { form } from '../../view/form.js'
import { say } from '../../view/toast.js'
import { MOST } from './create-channel.js'
import { personPicker } from './person-picker.js'

/**
 * @param {import('../../store/index.js').Store} store
 * @param {string} channel
 * @returns {Promise<boolean>} Whether somebody was added.
 */
export async function addPeople(store, channel) {
  /** @type {number | undefined} */
  const count = await openDialog({
    title: t('chat.addPeople'),
    body: close => {
      const picker = personPicker(store, { label: t('chat.addWhom'), most: MOST.people })
      return form({
        button: t('chat.add'),
        children: [picker.node],
        submit: async () => {
          const people = picker.chosen.peek().map(each => each.user_id)
          if (people.length === 0) return picker.input.focus()
          await store.api.addChannelMembers(channel, { user_ids: people })
          close(people.length)
        },
      })
    },
  })
  if (count) say(t('chat.added', { count }))
  return Boolean(count)
}
