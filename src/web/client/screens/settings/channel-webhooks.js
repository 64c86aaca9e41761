// The webhooks of one channel, and making one.

import { h } from '../../view/element.js'
import { field, form } from '../../view/form.js'
import { list } from '../../view/list.js'
import { t } from '../../text/words.js'
import { fetched } from './fetched.js'
import { copyable } from './copyable.js'
import { part, section, up } from './parts.js'
import { openDialog } from '../../view/dialog.js'
import { webhookState } from './webhook-words.js'
import { may } from './rights.js'

/** @typedef {import('#api').components['schemas']['Webhook']} Webhook */

/**
 * @param {Store} store
 * @param {string} base The address of the list of channels.
 * @param {string} channel
 */
export const channelWebhooks = (store, base, channel) => h('div', null, up(base, t('settings.webhooksAll')),
  fetched(async () => {
    const [known, listed] = await Promise.all([store.api.getChannel(channel), store.api.listWebhooks(channel, { limit: 100 })])
    return { name: known.data.name, webhooks: listed.data.webhooks }
  }, data => part([t('settings.webhooksOf'), ' # ', h('bdi', null, data.peek().name)], null,
    h('p', { class: 'quiet', hidden: () => data.value.webhooks.length > 0 }, t('settings.webhooksNone')),
    list(h('ul', { class: 'items' }), () => data.value.webhooks, each => each.id, item => row(`${base}/${channel}`, item)),
    section(t('settings.webhookMake'), make(store, channel, made => {
      data.value = { ...data.peek(), webhooks: [...data.peek().webhooks, made] }
    })))))

/** @param {string} base @param {import('../../base/signal.js').Signal<Webhook>} webhook */
const row = (base, webhook) => h('li', { class: 'item' },
  h('div', { class: 'item-text' },
    h('p', { class: 'row-line' }, h('a', { href: `${base}/${webhook.peek().id}` }, h('bdi', null, webhook.peek().webhook_name)),
      webhookState(webhook.peek().status)),
    h('p', { class: 'quiet small address' }, deliveryAddress(webhook.peek()) || t('settings.webhookFeedsOnly'))))

/** @param {Store} store @param {string} channel @param {(webhook: Webhook) => void} add */
const make = (store, channel, add) => form({
  button: t('settings.webhookMakeAction'),
  submit: async (values, element) => {
    const { data } = await store.api.createWebhook(channel, webhookValues(values))
    element.reset()
    add(data)
    await showOnce(data)
  },
  children: webhookFields({}, may(store, 'can_create_webhooks')),
})

/** @typedef {NonNullable<import('#api').components['schemas']['NewWebhook']['events']>} Events */

/** What can be delivered. @type {{ kind: Events[number], title: () => string }[]} */
const EVENTS = [
  { kind: 'message.created', title: () => t('settings.webhookCreated') },
  { kind: 'message.updated', title: () => t('settings.webhookUpdated') },
  { kind: 'message.deleted', title: () => t('settings.webhookDeleted') },
  { kind: 'reaction.added', title: () => t('settings.webhookReacted') },
  { kind: 'reaction.removed', title: () => t('settings.webhookUnreacted') },
  { kind: 'member.joined', title: () => t('settings.webhookJoined') },
  { kind: 'member.left', title: () => t('settings.webhookLeft') },
  { kind: 'channel.updated', title: () => t('settings.webhookChannel') },
  { kind: 'channel.archived', title: () => t('settings.webhookArchived') },
  { kind: 'channel.unarchived', title: () => t('settings.webhookUnarchived') },
  { kind: 'channel.created', title: () => t('settings.webhookNewChannel') },
  { kind: 'action.clicked', title: () => t('settings.webhookClicked') },
]

/** The address for deliveries. Where there is none, the API has the feed's. @param {{ webhook_url?: string, feed_url?: string }} webhook */
export const deliveryAddress = ({ webhook_url: url = '', feed_url: feed }) => (url === feed ? '' : url)

/** What the fields of a webhook have. @param {FormData} values */
export const webhookValues = values => ({
  .../** @type {{ webhook_name: string, webhook_url: string, event_name: string }} */ (Object.fromEntries(values)),
  events: /** @type {Events} */ (values.getAll('events')),
  trigger_words: String(values.get('trigger_words')).split('\n').map(word => word.trim()).filter(word => word !== ''),
  all_channels: values.has('all_channels'),
  ordered: values.has('ordered'),
})

/** @param {Partial<Webhook>} webhook @param {boolean} mayAll Whether the person may have it deliver from all public channels. */
export const webhookFields = ({
  webhook_name: name = '', webhook_url, feed_url, event_name: event = '', events = ['message.created'], trigger_words: words = [],
  all_channels: ofAll = false, ordered = false,
}, mayAll) => [
  field(t('settings.webhookName'),
    h('input', { name: 'webhook_name', value: name, required: true, maxlength: 80, dir: 'auto', autocomplete: 'off' }),
    t('settings.webhookNameHint')),
  field(t('settings.webhookAddress'),
    h('input', {
      name: 'webhook_url', value: deliveryAddress({ webhook_url, feed_url }), type: 'url', maxlength: 2000, dir: 'ltr', autocomplete: 'off',
      placeholder: 'https://example.org/hook',
    }), t('settings.webhookAddressHint')),
  h('fieldset', { class: 'settings-choices' },
    h('legend', null, t('settings.webhookEvents')),
    EVENTS.filter(({ kind }) => kind !== 'channel.created' || mayAll || ofAll).map(({ kind, title }) => h('label', { class: 'settings-choice' },
      h('input', { type: 'checkbox', name: 'events', value: kind, checked: events.includes(kind) }),
      h('span', null, title())))),
  (mayAll || ofAll) && h('fieldset', { class: 'settings-choices' },
    h('legend', null, t('settings.webhookFrom')),
    h('label', { class: 'settings-choice' },
      h('input', { type: 'checkbox', name: 'all_channels', checked: ofAll }),
      h('span', null, t('settings.webhookAll')))),
  h('label', { class: 'settings-choice' },
    h('input', { type: 'checkbox', name: 'ordered', checked: ordered }),
    h('span', null, t('settings.webhookOrdered'))),
  field(t('settings.webhookWords'),
    h('textarea', { name: 'trigger_words', value: words.join('\n'), rows: 2, maxlength: 1100, dir: 'auto', autocomplete: 'off' }),
    t('settings.webhookWordsHint')),
  field(t('settings.webhookEvent'),
    h('input', { name: 'event_name', value: event, maxlength: 255, dir: 'auto', autocomplete: 'off' }),
    t('settings.webhookEventHint')),
]

/** @param {Webhook} webhook What only the answer to its making has: the secret. */
const showOnce = webhook => openDialog({
  title: t('settings.webhookMade', { name: webhook.webhook_name }),
  body: close => [
    h('p', null, t('settings.webhookMadeText')),
    copyable(t('settings.webhookSecret'), () => webhook.webhook_secret ?? '', t('settings.webhookSecretOnce')),
    copyable(t('settings.webhookFeed'), () => webhook.feed_url, t('settings.webhookFeedHint')),
    h('div', { class: 'dialog-buttons' },
      h('button', { type: 'button', class: 'button primary', onclick: () => close() }, t('settings.webhookKept'))),
  ],
})
