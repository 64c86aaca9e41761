// Whether a webhook takes only what its program has signed. The secret is never shown: the program has it, too.

import { h, when } from '../../view/element.js'
import { field, form } from '../../view/form.js'
import { say } from '../../view/toast.js'
import { t } from '../../text/words.js'
import { asking, section } from './parts.js'

/** @typedef {import('../../base/signal.js').Signal<import('#api').components['schemas']['Webhook']>} Kept */

/** @param {import('../../store/index.js').Store} store @param {string} channel @param {Kept} hook */
export function sender(store, channel, hook) {
  const set = async (/** @type {string} */ secret) => {
    hook.value = (await store.api.updateWebhook(channel, hook.peek().id, { sender_secret: secret })).data
  }
  return section(t('settings.webhookSender'),
    h('p', { class: 'quiet' }, t('settings.webhookSenderText')),
    when(() => hook.value.has_sender_secret, () => [
      h('p', { role: 'status' }, t('settings.webhookSenderOn')),
      h('p', null, asking(t('settings.webhookSenderEnd'), () => ({
        title: t('settings.webhookSenderEnd'), text: t('settings.webhookSenderEndText'), action: t('settings.webhookSenderEnd'),
      }), () => set(''))),
    ]),
    form({
      button: t('settings.webhookSenderSet'),
      submit: async (values, element) => {
        await set(String(values.get('sender_secret')))
        element.reset()
        say(t('common.saved'))
      },
      children: [field(t('settings.webhookSenderSecret'),
        h('input', { name: 'sender_secret', required: true, minlength: 16, maxlength: 255, dir: 'ltr', autocomplete: 'off', spellcheck: false }),
        t('settings.webhookSenderHint'))],
    }))
}
