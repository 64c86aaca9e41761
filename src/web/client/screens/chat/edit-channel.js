// Changing and deleting a channel.

import { t } from '../../text/words.js'
import { openDialog } from '../../view/dialog.js'
import { h } from '../../view/element.js'
import { field, form } from '../../view/form.js'
import { say } from '../../view/toast.js'
import { MOST, nameField, trimmed } from './create-channel.js'

/** @typedef {import('#api').components['schemas']['Channel']} Details */

/**
 * @param {Store} store
 * @param {string} id
 * @param {Details} details
 */
export async function editChannel(store, id, details) {
  /** @type {boolean | undefined} */
  const isSaved = await openDialog({
    title: t('chat.editChannel'),
    body: close => form({
      button: t('common.save'),
      children: [
        field(t('chat.channelName'), nameField(details.name)),
        field(t('chat.channelTopic'), h('input', { name: 'topic', maxlength: MOST.topic, autocomplete: 'off', dir: 'auto', value: details.topic }), t('chat.channelTopicHint')),
        field(t('chat.channelDescription'), h('textarea', { name: 'description', rows: 3, maxlength: MOST.description, dir: 'auto', value: details.description })),
      ],
      submit: async values => {
        const change = changed(details, { name: trimmed(values, 'name'), topic: trimmed(values, 'topic'), description: trimmed(values, 'description') })
        if (Object.keys(change).length > 0) await store.api.updateChannel(id, change)
        close(true)
      },
    }),
  })
  if (isSaved) say(t('common.saved'))
}

/**
 * What is another than before: the rest may have been changed by others meanwhile.
 *
 * @param {Details} before
 * @param {{ name: string, topic: string, description: string }} now
 * @returns {{ name?: string, topic?: string, description?: string }}
 */
const changed = (before, now) =>
  Object.fromEntries(Object.entries(now).filter(([key, value]) => before[/** @type {'name' | 'topic' | 'description'} */ (key)] !== value))

/**
 * Deletes a channel once its name was typed.
 *
 * @param {Store} store
 * @param {Details} details
 * @returns {Promise<boolean>} Whether it is deleted.
 */
export async function deleteChannel(store, { id, name, message_count: count }) {
  /** @type {boolean | undefined} */
  const isDeleted = await openDialog({
    title: t('chat.deleteChannelTitle', { name }),
    body: close => {
      /** @type {HTMLInputElement} */
      const typed = h('input', {
        required: true, autocomplete: 'off', autocapitalize: 'none', spellcheck: 'false', dir: 'auto',
        oninput: () => typed.setCustomValidity(typed.value.trim() === name ? '' : t('chat.deleteChannelOther')),
      })
      return [
        h('p', null, t('chat.deleteChannelText', { count })),
        form({
          button: t('chat.deleteChannel'),
          danger: true,
          children: [field(t('chat.deleteChannelType', { name }), typed)],
          submit: async () => {
            await store.api.deleteChannel(id)
            close(true)
          },
        }),
      ]
    },
  })
  return isDeleted === true
}
