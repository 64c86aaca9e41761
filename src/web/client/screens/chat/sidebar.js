// The list of where one can be: own threads, starred channels, channels, people.

import { computed, signal } from '../../base/signal.js'
import { number, t } from '../../text/words.js'
import { afterPaint } from '../../view/delayed.js'
import { h, when } from '../../view/element.js'
import { icon } from '../../view/icons.js'
import { list } from '../../view/list.js'
import { openMenu } from '../../view/menu.js'
import { go, route } from '../../view/router.js'
import { address, place, searchAddress } from '../addresses.js'
import { badge, face, nameOf } from '../face.js'
import { connectionLine } from './connection-line.js'
import { mark, muteSign, other } from './mark.js'
import { statusSign } from './status-sign.js'

/** @typedef {import('../../store/index.js').Channel} Channel */

/** The height of a place in a wide window, in pixels. On a phone it is more. */
const PLACE = 30
const isMac = /Mac|iPhone|iPad/.test(navigator.platform)

/**
 * @param {Store} store
 * @param {() => string} role What it is in the page: all that is shown in a narrow window.
 */
export function sidebar(store, role) {
  const starred = computed(() => [...store.channels.value, ...store.directMessages.value].filter(each => each.is_starred))
  const channels = computed(() => store.channels.value.filter(each => !each.is_starred))
  const people = computed(() => store.directMessages.value.filter(each => !each.is_starred))
  const may = (/** @type {string} */ right) => Boolean(store.organisation.value?.permissions[right])
  return h('div', { class: 'side', role, 'aria-label': t('talk.places') },
    when(() => role() === 'main', () => h('h1', { class: 'visually-hidden' }, () => store.organisation.value?.name ?? '')),
    organisationBar(store),
    h('button', { type: 'button', class: 'find', onclick: () => import('./switcher.js').then(it => it.openSwitcher(store)) },
      icon('search'), h('span', null, t('talk.goTo')), h('kbd', null, isMac ? '⌘K' : 'Ctrl K')),
    connectionLine(store),
    h('div', { class: 'lists' },
      h('ul', null, h('li', null, threadsLink(store)), h('li', null, mentionsLink(store)),
        when(() => store.reminders.all.value.length > 0, () => h('li', null, remindersButton(store)))),
      when(() => starred.value.length > 0, () => section(store, t('talk.starred'), () => starred.value)),
      section(store, t('talk.channels'), () => channels.value, h('button', {
        type: 'button', class: 'icon-button', 'aria-label': t('talk.addChannel'), 'aria-haspopup': 'menu',
        onclick: (/** @type {Event} */ event) => openMenu(/** @type {HTMLElement} */ (event.currentTarget), [
          { label: t('talk.browse'), icon: 'search', run: () => import('./browse.js').then(it => it.browseChannels(store)) },
          may('can_create_channels') && { label: t('talk.create'), icon: 'plus', run: () => import('./create-channel.js').then(it => it.createChannel(store)) },
        ]),
      }, icon('plus'))),
      section(store, t('talk.people'), () => people.value, h('button', {
        type: 'button', class: 'icon-button', 'aria-label': t('talk.writeTo'), onclick: () => import('./direct.js').then(it => it.openDirect(store)),
      }, icon('plus')))),
    h('div', { class: 'me' },
      h('button', { type: 'button', class: 'me-button', 'aria-haspopup': 'menu', onclick: (/** @type {Event} */ event) => ownMenu(store, event) },
        () => face(me(store), { tiny: true }),
        h('span', { class: 'name' }, h('bdi', null, () => nameOf(me(store))), () => statusSign(store, me(store)))),
      h('a', { class: 'icon-button', href: '/settings', 'aria-label': t('talk.settings') }, icon('gear'))))
}

/** @param {Store} store */
function me(store) {
  const user = store.me.value
  return user && { user_id: user.user_id, full_name: user.fullname, username: user.username, avatar_url: user.avatar_url, custom_status: user.custom_status }
}

/** What belongs to the person, at their name. @param {Store} store @param {Event} event */
const ownMenu = (store, event) => openMenu(/** @type {HTMLElement} */ (event.currentTarget), [
  { label: t('chat.statusTitle'), icon: 'face', run: () => import('./status.js').then(it => it.openStatus(store)) },
  { label: t('talk.profile'), icon: 'person', run: () => go('/settings/profile') },
  { label: t('talk.appearance'), icon: 'eye', run: () => go('/settings/appearance') },
  { label: t('talk.sessions'), icon: 'key', run: () => go('/settings/sessions') },
  leaving(store),
], { label: nameOf(me(store)) })

/** @param {Store} store */
const leaving = store => ({ label: t('talk.signOut'), icon: 'door', run: () => import('./sign-out.js').then(it => it.signOut(store)) })

/** At least so many posts call: of muted channels, their mentions alone do. @param {{ unread_count: number, mention_count: number }} organisation */
const calling = ({ unread_count, mention_count }) => Math.max(unread_count, mention_count)

/** @param {Store} store */
function organisationBar(store) {
  const open = () => store.organisation.value
  const settings = () => `/settings/o/${encodeURIComponent(open()?.organisation_slug ?? '')}`
  /** @param {Event} event */
  const choose = event => openMenu(/** @type {HTMLElement} */ (event.currentTarget), [
    ...store.organisations.peek().map(each => ({
      label: calling(each) > 0 && each.id !== open()?.id ? `${each.name} (${number(calling(each))})` : each.name,
      checked: each.id === open()?.id,
      run: () => go(`/o/${encodeURIComponent(each.organisation_slug)}`),
    })),
    store.mayFound.peek() && { label: t('talk.newOrganisation'), icon: 'plus', run: () => go('/new-organisation') },
    Boolean(open()?.permissions.can_invite_members) && { label: t('talk.invite'), icon: 'mail', run: () => go(`${settings()}/invitations`) },
    { label: t('talk.organisationSettings'), icon: 'gear', run: () => go(settings()) },
    leaving(store),
  ])
  const elsewhere = () => store.organisations.value.some(each => each.id !== open()?.id && calling(each) > 0)
  return h('div', { class: 'side-head' },
    () => badge(open()?.id ?? '', open()?.name ?? '', { tiny: true, picture: open()?.logo_url }),
    h('button', { type: 'button', class: 'org', 'aria-haspopup': 'menu', onclick: choose },
      h('bdi', null, () => open()?.name ?? ''),
      when(elsewhere, () => h('span', { class: 'dot' }, h('span', { class: 'visually-hidden' }, t('talk.unreadElsewhere')))),
      icon('down')),
    h('button', {
      type: 'button', class: 'icon-button', 'aria-label': t('talk.writeTo'), onclick: () => import('./direct.js').then(it => it.openDirect(store)),
    }, icon('edit')))
}

/** @param {Store} store */
function threadsLink(store) {
  const unread = () => store.threadsUnread.value
  return h('a', {
    class: () => unread() > 0 ? 'place unread' : 'place',
    href: () => `/o/${encodeURIComponent(store.organisation.value?.organisation_slug ?? '')}/threads`,
    'aria-current': () => place().channel === 'threads' ? 'page' : null,
  }, h('span', { class: 'mark' }, icon('threads')), h('span', { class: 'name' }, t('talk.myThreads')), counter(unread))
}

/** What one is called by is searched for. @param {Store} store */
const mentionsLink = store => h('a', { class: 'place', href: () => searchAddress(store, `@${store.me.value?.username ?? ''}`) },
  h('span', { class: 'mark' }, icon('at')), h('span', { class: 'name' }, t('talk.mentions')))

/** @param {Store} store */
function remindersButton(store) {
  const due = () => store.reminders.due.value
  return h('button', {
    type: 'button', class: () => due() > 0 ? 'place unread' : 'place', 'aria-haspopup': 'dialog',
    onclick: () => import('./reminders.js').then(it => it.openReminders(store)),
  }, h('span', { class: 'mark' }, icon('bell')), h('span', { class: 'name' }, t('chat.reminders')), counter(due, count => t('chat.remindersDue', { count })))
}

/**
 * @param {Store} store
 * @param {string} title
 * @param {() => readonly Channel[]} items
 * @param {import('../../view/element.js').Child} [button]
 */
function section(store, title, items, button) {
  // The first frame has no more places than fill the window.
  const isSettled = signal(false)
  afterPaint(() => { isSettled.value = true })
  return h('section', { 'aria-label': title },
    h('h2', null, h('span', null, title), button),
    list(h('ul', null), () => isSettled.value ? items() : items().slice(0, Math.ceil(innerHeight / PLACE)),
      each => each.id, item => h('li', null, placeLink(store, item))))
}

/**
 * @param {Store} store
 * @param {import('../../base/signal.js').Signal<Channel>} item
 */
function placeLink(store, item) {
  const called = () => item.value.call_count
  return h('a', {
    class: () => item.value.is_unread ? 'place unread' : 'place',
    href: () => (void route.value, address(store, { channel: item.value.id })),
    'aria-current': () => place().channel === item.value.id ? 'page' : null,
    oncontextmenu: (/** @type {Event} */ event) => {
      event.preventDefault()
      const anchor = /** @type {HTMLElement} */ (event.currentTarget)
      import('./channel-menu.js').then(it => it.openChannelMenu(store, item.peek().id, anchor))
    },
  },
  () => mark(item.value),
  h('span', { class: 'name' }, h('bdi', null, () => item.value.title), () => statusSign(store, other(item.value))),
  when(() => item.value.is_unread && called() === 0, () => h('span', { class: 'visually-hidden' }, t('talk.unread'))),
  when(() => item.value.is_muted, muteSign),
  counter(called))
}

/** @param {() => number} count @param {(count: number) => string} [said] For those who hear it. */
const counter = (count, said = count => t('talk.unreadCount', { count })) => when(() => count() > 0, () => h('span', { class: 'count' },
  () => count() > 99 ? '99+' : number(count()),
  h('span', { class: 'visually-hidden' }, () => said(count()))))
