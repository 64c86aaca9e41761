// What this browser shows of messages that notify the person while nobody looks at the page.

import { withoutPiles } from '../base/marks.js'
import { signal } from '../base/signal.js'
import { plain } from '../text/plain.js'
import { loadWords, t } from '../text/words.js'
import { say } from '../view/toast.js'
import { address } from './addresses.js'
import { notifies } from './browser-settings.js'
import { authorSaid } from './chat/author.js'
import { wordsOf } from './chat/media.js'
import { namesOf } from './chat/names.js'

/** Signs of a message that are shown: no system shows more. */
const SIGNS = 200
/** The worker is registered some seconds after the page was opened. */
const WORKER_WITHIN_MS = 10_000
/** Signs of its source that are read. */
const MOST_READ = 2000
const ICON = new URL('../icons/192.png', import.meta.url).pathname

/** @returns {'unsupported' | NotificationPermission} */
const now = () => ('Notification' in globalThis && 'serviceWorker' in navigator ? Notification.permission : 'unsupported')

/** What the browser allows; `default` until it was asked. */
export const permission = signal(now())

/** Has the browser ask the person. To be called by a press. */
export async function ask() {
  await Notification.requestPermission()
  permission.value = now()
  if (now() === 'default') say(t('notifications.notAnswered'))
}

/** The worker; null where the browser refuses it, as private windows do, without ever saying so. @returns {Promise<ServiceWorkerRegistration | null>} */
const worker = () => Promise.race([navigator.serviceWorker.ready, new Promise(resolve => { setTimeout(resolve, WORKER_WITHIN_MS, null) })])

/** @param {Store} store @param {Notified[]} messages */
export async function notify(store, messages) {
  if (now() !== 'granted' || !notifies.peek()) return
  await loadWords('notifications')
  const active = (await worker())?.active
  for (const each of messages) {
    const show = await shown(store, each)
    if (show && !store.ended.peek()) active?.postMessage({ show })
  }
}

/**
 * What is shown of a message; null if it is gone, may not be read any more, or was read elsewhere.
 *
 * @param {Store} store
 * @param {Notified} notified
 */
async function shown(store, { message_id: id, thread_id: thread, channels_id: channel, organisation_id: organisation }) {
  const known = store.channel(channel)
  if (id === thread && known && known.unread_count === 0 && known.mention_count === 0) return null
  const found = await store.api.getMessage(id).catch(() => null)
  if (!found) return null
  const message = found.data
  const all = store.organisations.peek()
  const own = all.find(each => each.id === organisation)
  const name = authorSaid(store, message)
  const title = message.channel.is_dm ? name : t('notifications.inChannel', { name, channel: message.channel.name })
  const path = address(store, { slug: own?.organisation_slug, channel, thread: id === thread ? null : thread, message: id })
  return {
    title: all.length > 1 && own ? `${title} · ${own.name}` : title,
    // The next of a channel takes the place of the one before.
    options: { body: body(store, message), tag: channel, icon: ICON, data: { path } },
  }
}

/** @param {Store} store @param {Message} message */
const body = (store, message) => withoutPiles(plain(wordsOf(message).slice(0, MOST_READ), namesOf(store, message.mentions))).slice(0, SIGNS)

/** Shows one at once, whoever looks at the page. */
export async function test() {
  const found = await worker()
  if (!found) return void (permission.value = 'unsupported')
  const options = { body: t('notifications.testBody'), tag: 'test', icon: ICON, data: { path: '/settings/notifications' } }
  await found.showNotification(t('notifications.testTitle'), options)
}
