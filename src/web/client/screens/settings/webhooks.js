// Webhooks belong to channels: first the channel is chosen, then the webhook. Each step is an address.

import { signal } from '../../base/signal.js'
import { h } from '../../view/element.js'
import { field } from '../../view/form.js'
import { list } from '../../view/list.js'
import { t } from '../../text/words.js'
import { channelWebhooks } from './channel-webhooks.js'
import { fetched } from './fetched.js'
import { part } from './parts.js'
import { may } from './rights.js'
import { webhook } from './webhook.js'

/** @typedef {import('#api').components['schemas']['Channel']} Channel */

/**
 * @param {Store} store
 * @param {string} id The organisation.
 * @param {string} base The address of this part.
 * @param {string[]} rest What the address has after it: a channel, and a webhook in it.
 */
export function webhooks(store, id, base, [channel, hook]) {
  if (channel && hook) return webhook(store, `${base}/${channel}`, channel, hook)
  if (channel) return channelWebhooks(store, base, channel)
  return part(t('settings.webhooks'), t('settings.webhooksIntro'),
    fetched(async () => (await store.api.listOrganisationChannels(id, { users: 0 })).data.filter(each => isOurs(store, each)),
      all => directory(base, all.peek())))
}

/** @param {Store} store @param {Channel} channel */
const isOurs = (store, channel) => !channel.is_dm && !channel.archived
  && (may(store, 'can_create_webhooks') || channel.owner_id === store.me.peek()?.id)

/** @param {string} base @param {Channel[]} channels */
function directory(base, channels) {
  if (channels.length === 0) return h('p', { class: 'quiet' }, t('settings.webhooksNoChannel'))
  const wanted = signal('')
  const sorted = channels.toSorted((a, b) => a.name.localeCompare(b.name))
  const input = h('input', {
    type: 'search', autocomplete: 'off', dir: 'auto', oninput: () => { wanted.value = input.value.trim().toLowerCase() },
  })
  return [
    channels.length > 10 && field(t('settings.channelSearch'), input),
    list(h('ul', { class: 'items' }), () => sorted.filter(each => each.name.toLowerCase().includes(wanted.value)), each => each.id,
      item => {
      const { id, name, topic } = item.peek()
      return h('li', { class: 'item' }, h('div', { class: 'item-text' },
        h('a', { href: `${base}/${id}` }, '# ', h('bdi', null, name)),
        topic && h('p', { class: 'quiet small', dir: 'auto' }, topic)))
    }),
  ]
}
