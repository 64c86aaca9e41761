// What can be done with a channel. What a role may not do is not shown.

import { loadWords, t } from '../../text/words.js'
import { confirm } from '../../view/dialog.js'
import { openMenu } from '../../view/menu.js'
import { go } from '../../view/router.js'
import { say } from '../../view/toast.js'
import { address, place } from '../addresses.js'
import { addPeople } from './add-people.js'
import { attempt, copy } from './deeds.js'
import { deleteChannel, editChannel } from './edit-channel.js'
import { until } from './opening.js'

/** @typedef {import('#api').components['schemas']['Channel']} Details */

/** Milliseconds for the owner's name to come. Without it, the menu has what the role allows. */
const PATIENCE_MS = 800

/**
 * @param {Store} store
 * @param {string} id The channel.
 * @param {HTMLElement} anchor
 */
export async function openChannelMenu(store, id, anchor) {
  if (anchor.getAttribute('aria-busy')) return
  anchor.setAttribute('aria-busy', 'true')
  const details = store.channel(id)?.is_direct ? null : await detailsOf(store, id)
  anchor.removeAttribute('aria-busy')
  if (anchor.isConnected) openMenu(anchor, items(store, id, details), { label: t('talk.channelMenu') })
}

/** @param {Store} store @param {string} id @returns {Promise<Details | null>} */
const detailsOf = (store, id) => Promise.race([
  store.api.getChannel(id, { users: 0 }).then(({ data }) => data, () => null),
  new Promise(resolve => { setTimeout(resolve, PATIENCE_MS, null) }),
])

/**
 * @param {Store} store
 * @param {string} id
 * @param {Details | null} details
 */
function items(store, id, details) {
  const channel = store.channel(id)
  const at = address(store, { channel: id })
  const rights = store.organisation.peek()?.permissions ?? {}
  const isDirect = channel?.is_direct ?? details?.is_dm ?? false
  const isIn = channel !== null || details?.access === true
  const isArchived = details?.archived ?? channel === null
  // Owning a channel gives nothing to somebody who may not post.
  const isOwner = details?.owner_id === store.me.peek()?.id && rights.can_post_messages
  const mayManage = !isDirect && details !== null && Boolean(rights.can_manage_channels || isOwner)
  const isStarred = details?.is_starred ?? channel?.is_starred
  const isMuted = details?.is_muted ?? channel?.is_muted
  const isUnread = (channel?.unread_count ?? 0) > 0 || (channel?.mention_count ?? 0) > 0
  return [
    isIn && (isStarred
      ? { label: t('chat.unstar'), icon: 'star', run: () => attempt(() => store.api.unstarChannel(id)) }
      : { label: t('chat.star'), icon: 'star', run: () => attempt(() => store.api.starChannel(id)) }),
    isIn && (isMuted
      ? { label: t('chat.unmute'), icon: 'bell', run: () => attempt(() => store.api.unmuteChannel(id)) }
      : { label: t('chat.mute'), icon: 'mute', run: () => attempt(() => store.api.muteChannel(id)) }),
    isIn && { label: t('chat.notifyAbout'), icon: 'bell', run: () => notifyAbout(store, id) },
    isUnread && { label: t('chat.markAllRead'), icon: 'check', run: () => attempt(() => store.api.markChannelRead(id, {})) },
    !isDirect && { label: t('chat.showPeople'), icon: 'people', run: () => go(`${at}?pane=members`) },
    { label: t('chat.showPinned'), icon: 'pin', run: () => go(`${at}?pane=pins`) },
    { label: t('chat.showFiles'), icon: 'file', run: () => go(`${at}?pane=files`) },
    !isDirect && isIn && !isArchived && rights.can_post_messages && { label: t('chat.addPeople'), icon: 'plus', run: () => addPeople(store, id) },
    mayManage && { label: t('chat.editChannel'), icon: 'edit', run: () => editChannel(store, id, details) },
    { label: t('chat.copyLink'), icon: 'link', run: () => copy(new URL(at, location.origin).href) },
    mayManage && (isArchived
      ? { label: t('chat.unarchive'), icon: 'archive', run: () => reopen(store, details) }
      : { label: t('chat.archive'), icon: 'archive', run: () => archive(store, details) }),
    !isDirect && isIn && { label: t('chat.leave'), icon: 'door', danger: true, run: () => leave(store, id, channel?.name ?? details?.name ?? '') },
    mayManage && {
      label: t('chat.deleteChannel'), icon: 'trash', danger: true, run: async () => { if (await deleteChannel(store, details)) await goHome(store, id) },
    },
  ]
}

/** @param {Store} store @param {string} id */
const notifyAbout = (store, id) => attempt(async () => {
  const [it] = await Promise.all([import('./notify-about.js'), loadWords('notifications')])
  await it.openNotifyAbout(store, id)
})

/** @param {Store} store @param {{ id: string, name: string }} details */
export async function archive(store, { id, name }) {
  const isSure = await confirm({ title: t('chat.archiveTitle', { name }), text: t('chat.archiveText'), action: t('chat.archive'), danger: true })
  if (isSure && await attempt(() => store.api.archiveChannel(id, { archived: true }))) say(t('chat.archivedSaid', { name }))
}

/** @param {Store} store @param {Details} details */
async function reopen(store, { id, name }) {
  if (await attempt(() => store.api.archiveChannel(id, { archived: false }))) say(t('chat.unarchivedSaid', { name }))
}

/** @param {Store} store @param {string} id @param {string} name */
export async function leave(store, id, name) {
  const text = store.channel(id)?.is_private ? t('chat.leavePrivateText') : t('chat.leaveText')
  const isSure = await confirm({ title: t('chat.leaveTitle', { name }), text, action: t('chat.leave'), danger: true })
  if (!isSure || !await attempt(() => store.api.leaveChannel(id))) return
  say(t('chat.leftSaid', { name }))
  await goHome(store, id)
}

/**
 * Away from a channel that is no more: once the store knows that, for it opens the one that was open last.
 *
 * @param {Store} store
 * @param {string} id
 */
async function goHome(store, id) {
  await until(() => store.channel(id) === null)
  if (place().channel === id) go(address(store, {}), { replace: true })
}
