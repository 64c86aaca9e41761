// Channels that aren't in the sidebar: archived ones, and open ones that the person hasn't joined.

import { h, when } from '../../view/element.js'
import { icon } from '../../view/icons.js'
import { list } from '../../view/list.js'
import { t } from '../../text/words.js'
import { fetched } from './fetched.js'
import { deed, part, section } from './parts.js'
import { may } from './rights.js'

/** @param {Store} store @param {string} id The organisation. */
export const channels = (store, id) => part(t('settings.channels'), null, archived(store, id), open(store, id))

/** @param {Store} store @param {string} id */
const archived = (store, id) => section(t('settings.archived'), h('p', { class: 'quiet' }, t('settings.archivedText')),
  fetched(async () => (await store.api.listArchivedChannels(id, { users: 0 })).data, all => [
    h('p', { class: 'quiet', hidden: () => all.value.length > 0 }, t('settings.archivedNone')),
    list(h('ul', { class: 'items' }), () => all.value, channel => channel.channels_id, item => {
      const channel = item.peek()
      const isOurs = () => may(store, 'can_manage_channels') || channel.owner_id === store.me.value?.id
      return row(store, channel.channels_id, channel.is_private, channel.name, channel.description,
        t('settings.channelMessages', { count: channel.message_count }),
        when(isOurs, () => deed(t('settings.unarchive'), async () => {
          await store.api.archiveChannel(channel.channels_id, { archived: false })
          all.value = all.peek().filter(each => each !== channel)
        }, { describedBy: `channel-${channel.channels_id}` })))
    }),
  ]))

/** @param {Store} store @param {string} id */
const open = (store, id) => section(t('settings.openChannels'), h('p', { class: 'quiet' }, t('settings.openChannelsText')),
  fetched(async () => (await store.api.listOpenChannels(id, {})).data, all => [
    h('p', { class: 'quiet', hidden: () => all.value.length > 0 }, t('settings.openChannelsNone')),
    list(h('ul', { class: 'items' }), () => all.value, channel => channel.id, item => {
      const channel = item.peek()
      return row(store, channel.id, false, channel.name, channel.topic || channel.description,
        t('settings.channelMembers', { count: channel.user_count }),
        deed(t('settings.join'), async () => {
          await store.api.joinChannel(channel.id)
          all.value = all.peek().filter(each => each !== channel)
        }, { describedBy: `channel-${channel.id}` }))
    }),
  ]))

/**
 * @param {Store} store
 * @param {string} id
 * @param {boolean} isPrivate
 * @param {string} name
 * @param {string} about
 * @param {string} count
 * @param {import('../../view/element.js').Child} button
 */
const row = (store, id, isPrivate, name, about, count, button) => h('li', { class: 'item' },
  h('div', { class: 'item-text', id: `channel-${id}` },
    h('p', null, h('a', { href: () => `/o/${store.organisation.value?.organisation_slug}/${id}` },
      isPrivate ? h('span', { role: 'img', 'aria-label': t('settings.channelPrivate') }, icon('lock')) : '#', ' ', h('bdi', null, name))),
    h('p', { class: 'quiet small' }, about && [h('bdi', null, about), ' · '], count)),
  h('div', { class: 'item-buttons' }, button))
