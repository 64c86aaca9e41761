// One webhook: what it is called and where it delivers, its addresses and secrets, its state, and its end.

import { h } from '../../view/element.js'
import { form } from '../../view/form.js'
import { go } from '../../view/router.js'
import { say } from '../../view/toast.js'
import { t } from '../../text/words.js'
import { webhookFields, webhookValues } from './channel-webhooks.js'
import { fetched } from './fetched.js'
import { copyable } from './copyable.js'
import { asking, deed, part, section, up } from './parts.js'
import { may } from './rights.js'
import { secretSection } from './signing-secret.js'
import { history } from './webhook-history.js'
import { sender } from './webhook-sender.js'
import { webhookState } from './webhook-words.js'

/** @typedef {import('#api').components['schemas']['Webhook']} Webhook */
/** @typedef {import('../../base/signal.js').Signal<Webhook>} Kept */

/**
 * @param {Store} store
 * @param {string} base The address of the channel's webhooks.
 * @param {string} channel
 * @param {string} id
 */
export const webhook = (store, base, channel, id) => h('div', null, up(base, t('settings.webhooksOfChannel')),
  fetched(async () => {
    const { data } = await store.api.listWebhooks(channel, { limit: 100 })
    return data.webhooks.find(each => each.id === id) ?? null
  }, found => {
    if (!found.peek()) return part(t('settings.webhooks'), t('settings.webhookGone'))
    const hook = /** @type {Kept} */ (found)
    return part([h('bdi', null, () => hook.value.webhook_name), ' ', () => webhookState(hook.value.status)], null,
      state(store, channel, hook), details(store, channel, hook), secrets(store, channel, hook), history(store, channel, hook),
      end(store, base, channel, hook))
  }))

/** @param {Store} store @param {string} channel @param {Kept} hook */
function state(store, channel, hook) {
  const change = async () => {
    const { id, status } = hook.peek()
    hook.value = (await store.api.changeWebhookStatus(channel, id,
      { webhook_status: status === 'active' ? 'paused' : 'active' })).data
  }
  // One button whose words change, so that it keeps the focus.
  return h('section', { class: 'part-section' },
    h('p', { class: 'quiet', role: 'status' }, () => stateText(hook.value.status)),
    h('p', null, deed(() => hook.value.status === 'active' ? t('settings.webhookPause') : t('settings.webhookActivate'), change)))
}

/** @param {string} status */
const stateText = status => {
  if (status === 'active') return t('settings.webhookActiveText')
  return status === 'paused' ? t('settings.webhookPausedText') : t('settings.webhookInactiveText')
}

/** @param {Store} store @param {string} channel @param {Kept} hook */
const details = (store, channel, hook) => form({
  class: 'part-section',
  button: t('common.save'),
  submit: async values => {
    hook.value = (await store.api.updateWebhook(channel, hook.peek().id, webhookValues(values))).data
    say(t('common.saved'))
  },
  children: webhookFields(hook.peek(), may(store, 'can_create_webhooks')),
})

/** @param {Store} store @param {string} channel @param {Kept} hook */
const secrets = (store, channel, hook) => [
  section(t('settings.webhookFeeds'),
    copyable(t('settings.webhookFeed'), () => hook.value.feed_url, t('settings.webhookFeedHint')),
    h('p', null, asking(t('settings.webhookRotateFeed'), () => ({
      title: t('settings.webhookRotateFeed'), text: t('settings.webhookRotateFeedText'), action: t('settings.webhookRotateFeed'),
    }), async () => {
      hook.value = (await store.api.rotateWebhookSlug(channel, hook.peek().id)).data
      say(t('settings.webhookRotated'))
    }))),
  sender(store, channel, hook),
  secretSection({ about: t('settings.webhookSecretText'), renewing: t('settings.webhookRotateSecretText') }, async () => {
    const { webhook_secret: secret, old_secret_until: until } = (await store.api.rotateWebhookSecret(channel, hook.peek().id)).data
    return { secret, until }
  }),
]

/** @param {Store} store @param {string} base @param {string} channel @param {Kept} hook */
const end = (store, base, channel, hook) => section(t('settings.webhookDelete'),
  h('p', { class: 'quiet' }, t('settings.webhookDeleteText')),
  h('p', null, asking(t('common.delete'), () => ({
    title: t('settings.webhookDeleteTitle', { name: hook.peek().webhook_name }), text: t('settings.webhookDeleteText'),
    action: t('common.delete'), danger: true,
  }), async () => {
    await store.api.deleteWebhook(channel, hook.peek().id)
    go(base, { replace: true })
  }, { danger: true })))
