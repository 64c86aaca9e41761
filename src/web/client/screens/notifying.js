// What this browser shows of messages that call the person while nobody looks at the page.

import { withoutPiles } from '../base/marks.js'
import { signal } from '../base/signal.js'
import { plain } from '../text/plain.js'
import { loadWords, t } from '../text/words.js'
import { go } from '../view/router.js'
import { say } from '../view/toast.js'
import { hasOffered, notifies } from './browser-settings.js'
import { authorSaid } from './chat/author.js'
import { wordsOf } from './chat/media.js'
import { namesOf } from './chat/names.js'

/** Signs of a message that are shown: no system shows more. */
const SIGNS = 200
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
}

/** @param {Store} store @param {Call} call */
export async function notify(store, call) {
  if (now() === 'default') offer()
  if (now() !== 'granted' || !notifies.peek()) return
  // Who may not read it any more is told nothing, and neither is anybody of what is gone.
  const found = await store.api.getMessage(call.message_id).catch(() => null)
  if (!found) return
  await loadWords('notifications')
  const { data: message } = found
  const organisation = store.organisations.peek().find(each => each.id === call.organisation_id)
  const name = authorSaid(store, message)
  const title = message.channel.is_dm ? name : t('notifications.inChannel', { name, channel: message.channel.name })
  const isReply = call.thread_id !== call.message_id
  const path = ['', 'o', organisation?.organisation_slug ?? '', call.channels_id, ...isReply ? [call.thread_id] : []].map(encodeURIComponent).join('/')
  const { active } = await navigator.serviceWorker.ready
  active?.postMessage({ show: {
    title: store.organisations.peek().length > 1 && organisation ? `${title} · ${organisation.name}` : title,
    // The next of a channel takes the place of the one before.
    options: { body: body(store, message), tag: call.channels_id, icon: ICON, data: { path: `${path}?m=${call.message_id}` } },
  } })
}

let isOffering = false

/** Once in a browser, whoever comes back after a message was meant for them is told what the browser can do. */
function offer() {
  if (hasOffered.peek() || isOffering) return
  isOffering = true
  const look = async () => {
    document.removeEventListener('visibilitychange', look)
    await loadWords('notifications')
    hasOffered.value = true
    say(t('notifications.offer'), { action: t('notifications.toSettings'), run: () => go('/settings/notifications') })
  }
  document.addEventListener('visibilitychange', look)
}

/** @param {Store} store @param {Message} message */
const body = (store, message) => withoutPiles(plain(wordsOf(message).slice(0, MOST_READ), namesOf(store, message.mentions))).slice(0, SIGNS)

/** Shows one at once, whoever looks at the page. */
export async function test() {
  const worker = await navigator.serviceWorker.ready
  const options = { body: t('notifications.testBody'), tag: 'test', icon: ICON, data: { path: '/settings/notifications' } }
  await worker.showNotification(t('notifications.testTitle'), options)
}
