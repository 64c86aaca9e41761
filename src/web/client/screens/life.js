// What goes on for as long as the talk is open: title and badge, waking up, the end of the session, newer builds.

import { effect, onEnd, untracked } from '../base/signal.js'
import { checkDay } from '../text/dates.js'
import { language, t } from '../text/words.js'
import { h } from '../view/element.js'
import { openDialog } from '../view/dialog.js'
import { go } from '../view/router.js'
import { say } from '../view/toast.js'
import { hideUntilConfirmed } from './returning.js'
import { followTitle } from './title.js'

const REST_AFTER_MS = 3_000
/** Tabs ask a server that came back for its build later than for what people wait for, and not all at once. */
const BUILD_WITHIN_MS = 2_000
const OWN_BUILD = new URL(import.meta.url).pathname.split('/')[2]

/** Whether anybody has used this page. */
let isUsed = false
for (const event of ['keydown', 'pointerdown']) addEventListener(event, () => { isUsed = true }, { capture: true, once: true })

let hasAllFiles = false

/**
 * @param {Store} store
 * @param {() => unknown} beginAnew Opens what the address names for whoever is signed in now.
 */
export function lifelong(store, beginAnew) {
  followTitle(store)
  hideUntilConfirmed(store)
  let wasLive = false
  effect(() => {
    const why = store.ended.value
    if (!why) return
    // What an earlier visit had left is somebody else's.
    if (why === 'other-user' && !wasLive && !isUsed) beginAnew()
    else ended(why)
  })
  effect(() => {
    const build = store.build?.value
    if (build && build !== OWN_BUILD) renew(store)
  })
  effect(() => {
    const due = store.reminders.rung.value
    // Other words later are no other reminder.
    if (due) untracked(() => say(t('chat.reminderDue', { text: due.text }), { action: t('chat.reminderOpen'), run: () => openReminders(store) }))
  })
  effect(() => {
    if (store.notified.waiting.value.length === 0) return
    const messages = untracked(store.notified.take)
    if (document.visibilityState === 'hidden') untracked(() => void import('./notifying.js').then(it => it.notify(store, messages)))
  })
  // The worker asks for what a notification leads to, and hears that this page is there.
  if (navigator.serviceWorker) listen(navigator.serviceWorker, 'message', ({ data, ports }) => {
    if (typeof data?.open !== 'string') return
    ports[0]?.postMessage(true)
    go(data.open)
  })
  const look = () => newestFiles().then(list => { if (list) store.build.value = list.build })
  // A server that comes back may have another build.
  effect(() => {
    if (store.connection.value.state !== 'live') return
    if (wasLive) setTimeout(look, REST_AFTER_MS + Math.random() * BUILD_WITHIN_MS)
    wasLive = true
  })
  const wake = () => {
    if (document.visibilityState !== 'visible') return
    checkDay()
    store.wake()
    clearNotifications()
  }
  for (const event of ['online', 'pageshow', 'focus']) listen(window, event, wake)
  for (const event of ['resume', 'visibilitychange']) listen(document, event, wake)
  // These fetch all files, once a page, which must not hold up the talk.
  if (hasAllFiles) return
  hasAllFiles = true
  setTimeout(registerWorker, REST_AFTER_MS)
  setTimeout(loadRest, REST_AFTER_MS)
}

/** Takes back what the system shows of messages: whoever looks at the page sees them there. Some browsers have a worker and show nothing. */
async function clearNotifications() {
  const worker = await navigator.serviceWorker?.getRegistration()
  for (const each of await worker?.getNotifications?.() ?? []) each.close()
}

/** @param {Store} store */
const openReminders = store => import('./chat/reminders.js').then(it => it.openReminders(store))

/** @param {EventTarget} target @param {string} event @param {(event: any) => void} run */
function listen(target, event, run) {
  target.addEventListener(event, run)
  onEnd(() => target.removeEventListener(event, run))
}

/** The page itself is emptied by main.js; other dialogs stand beside it. @param {string} why */
function ended(why) {
  // What was said is not for whoever comes next.
  clearNotifications()
  for (const each of document.querySelectorAll('dialog')) each.close()
  const again = `/sign-in?next=${encodeURIComponent(location.pathname + location.search)}`
  if (why === 'signed-out') return location.replace('/sign-in')
  void openDialog({
    title: t('talk.endedTitle'),
    body: close => [
      h('p', null, why === 'other-user' ? t('talk.otherUser') : t('talk.ended')),
      h('div', { class: 'dialog-buttons' }, h('button', { type: 'button', class: 'button primary', onclick: () => close() }, t('talk.signInAgain'))),
    ],
  }).then(() => location.replace(why === 'other-user' ? '/' : again))
}

/**
 * A page of another build loads itself again when nobody looks at it and nothing is being written; otherwise it says so.
 *
 * @param {Store} store
 */
function renew(store) {
  const isHidden = () => document.visibilityState === 'hidden'
  // Drafts and unsent posts come back after a reload, unless the browser keeps nothing.
  const isIdle = async () => !isBeingWritten(store.keeps()) && store.uploads.areAllKept() && (store.keeps() || await store.unsent() === 0)
  const reload = () => location.reload()
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let waiting
  const look = () => {
    clearTimeout(waiting)
    // What was written last is kept by then, and who comes back at once finds the page as it was.
    if (isHidden()) waiting = setTimeout(async () => { if (await isIdle() && isHidden()) reload() }, REST_AFTER_MS)
  }
  listen(document, 'visibilitychange', look)
  onEnd(() => clearTimeout(waiting))
  look()
  say(t('talk.newBuild'), { action: t('talk.reload'), run: reload })
}

/**
 * Whether a reload would lose what a person has begun: a dialog, or a field that has changed.
 *
 * @param {boolean} keepsDrafts
 */
function isBeingWritten(keepsDrafts) {
  if (document.querySelector('dialog[open]')) return true
  /** @type {NodeListOf<HTMLInputElement | HTMLTextAreaElement>} */
  const fields = document.querySelectorAll('input:not([type="search"]), textarea')
  return [...fields].some(each => {
    if (keepsDrafts && each.closest('.composer')) return false
    return each.value !== each.defaultValue || (each instanceof HTMLInputElement && each.checked !== each.defaultChecked)
  })
}

/** The worker serves the page without a network. Browsers have none over plain http, except on this machine. */
async function registerWorker() {
  if (!('serviceWorker' in navigator)) return
  const address = '/service-worker.js'
  /** @type {any} */
  const { trustedTypes } = globalThis
  const trusted = trustedTypes ? trustedTypes.createPolicy('service-worker', { createScriptURL: () => address }).createScriptURL('') : address
  try {
    await navigator.serviceWorker.register(trusted)
  } catch {
    // Private windows may refuse it; the page works without.
  }
}

/**
 * The server's build of the client, and its files; nothing if it serves no client, or can't be reached.
 *
 * @returns {Promise<{ build: string, files: string[] } | null>}
 */
const newestFiles = () => fetch('/client/files.json').then(answer => answer.json()).catch(() => null)

/** Loads the modules that were not needed yet: after an upgrade the server has no files of this build any more. */
async function loadRest() {
  const list = await newestFiles()
  if (list?.build !== OWN_BUILD) return
  const words = `/texts/${language.peek()}/`
  for (const file of list.files) {
    if (!file.endsWith('.js') || (file.includes('/texts/') && !file.includes(words))) continue
    document.head.append(h('link', { rel: 'modulepreload', href: file }))
  }
}
