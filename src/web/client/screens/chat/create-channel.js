// Making a channel.

import { t } from '../../text/words.js'
import { openDialog } from '../../view/dialog.js'
import { h } from '../../view/element.js'
import { field, form } from '../../view/form.js'
import { say } from '../../view/toast.js'
import { wording } from '../../view/wording.js'
import { arrived, show } from './opening.js'
import { personPicker } from './person-picker.js'

/** The server's own bounds: characters of a name, of a topic, and people who are added at once. */
export const MOST = { name: 80, topic: 250, description: 1000, people: 100 }

/** @param {Store} store */
export async function createChannel(store) {
  /** @type {string | undefined} */
  const goal = await openDialog({ title: t('talk.create'), body: close => blank(store, close) })
  if (goal) await show(store, goal)
}

/**
 * @param {Store} store
 * @param {(goal: string) => void} close
 */
function blank(store, close) {
  const picker = personPicker(store, { label: t('chat.channelPeople'), most: MOST.people })
  return form({
    button: t('chat.channelCreate'),
    children: [
      field(t('chat.channelName'), nameField(), t('chat.channelNameHint')),
      field(t('chat.channelTopic'), h('input', { name: 'topic', maxlength: MOST.topic, autocomplete: 'off', dir: 'auto' })),
      h('fieldset', { class: 'kinds' },
        h('legend', null, t('chat.channelKind')),
        kind('', true, t('chat.channelOpen'), t('chat.channelOpenText')),
        kind('1', false, t('chat.channelPrivate'), t('chat.channelPrivateText'))),
      picker.node,
    ],
    submit: async values => {
      const { data } = await store.api.createChannel({
        name: trimmed(values, 'name'),
        organisation_id: store.organisation.peek()?.id ?? '',
        is_private: values.get('is_private') === '1',
        userIds: picker.chosen.peek().map(each => each.user_id),
      })
      await setTopic(store, data.id, trimmed(values, 'topic'))
      await arrived(store, data.id)
      close(data.id)
    },
  })
}

/**
 * The channel is there, so that a topic that was not taken is only told.
 *
 * @param {Store} store
 * @param {string} channel
 * @param {string} topic
 */
async function setTopic(store, channel, topic) {
  if (!topic) return
  try {
    await store.api.updateChannel(channel, { topic })
  } catch (error) {
    say(t('chat.topicNotSet', { why: wording.explain(error) }))
  }
}

/** @param {FormData} values @param {string} name */
export const trimmed = (values, name) => String(values.get(name) ?? '').trim()

/**
 * A field for the name of a channel: spaces become hyphens as they are typed.
 *
 * @param {string} [value]
 */
export function nameField(value = '') {
  /** @type {HTMLInputElement} */
  const input = h('input', {
    name: 'name', value, required: true, maxlength: MOST.name, autocomplete: 'off', autocapitalize: 'none', spellcheck: 'false', dir: 'auto',
    oninput: (/** @type {InputEvent} */ event) => { if (!event.isComposing) hyphenate(input) },
    oncompositionend: () => hyphenate(input),
  })
  return input
}

/** @param {HTMLInputElement} input */
function hyphenate(input) {
  const text = input.value.replace(/\s/g, '-')
  if (text === input.value) return
  const caret = input.selectionStart
  input.value = text
  input.setSelectionRange(caret, caret)
}

/**
 * @param {string} value
 * @param {boolean} checked
 * @param {string} title
 * @param {string} text
 */
const kind = (value, checked, title, text) => h('label', { class: 'kind' },
  h('input', { type: 'radio', name: 'is_private', value, checked }),
  h('span', null, h('span', { class: 'kind-title' }, title), h('span', { class: 'quiet small' }, text)))
