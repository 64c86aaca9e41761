// Decides what the address shows: a way in, the talk, or settings. Everything but the talk is loaded when it is asked for.

import { Owner, alone, effect, signal, untracked } from './base/signal.js'
import { Refusal, Unreachable, createRequests } from './net/request.js'
import { openStore } from './store/index.js'
import { forgetLastVisit } from './store/kept.js'
import { refusalText } from './text/refusals.js'
import { followLanguage, loadWords, preferredLanguage, setLanguage, t } from './text/words.js'
import { h, mount } from './view/element.js'
import { followLinks, go, route } from './view/router.js'
import { followViewport } from './view/viewport.js'
import { wording } from './view/wording.js'
import { isTalk } from './screens/addresses.js'
import { chosenLanguage, followPreferences } from './screens/browser-settings.js'
import { chat } from './screens/chat/chat.js'
import { lifelong } from './screens/life.js'

const app = /** @type {HTMLElement} */ (document.getElementById('app'))
const LOADING_AFTER_MS = 500

/** The store of whoever is signed in. @type {import('./base/signal.js').Signal<import('./store/index.js').Store | null>} */
const store = signal(/** @type {import('./store/index.js').Store | null} */ (null))
/** Why the talk can't be shown. @type {import('./base/signal.js').Signal<unknown>} */
const failure = signal(/** @type {unknown} */ (null))

/** Screens outlive the effect that chooses them. */
const root = new Owner()
/** What goes on beside the screens while a store is open. */
let life = new Owner()
let isOpening = false
/** The screen that is shown, and what ends it. */
let shown = ''
/** @type {(() => void) | undefined} */
let end

wording.explain = refusalText
wording.cancel = () => t('common.cancel')
wording.close = () => t('common.close')
wording.waiting = () => t('common.waiting')
followLanguage((language, direction) => Object.assign(document.documentElement, { lang: language, dir: direction }))
followPreferences()
followLinks()
followViewport()

const words = setLanguage(preferredLanguage(chosenLanguage.peek(), navigator.languages), 'common', 'talk', 'chat', 'refusals')
/** A tab that was never looked at does nothing, as those that are restored behind another. */
const looked = new Promise(resolve => {
  const look = () => { if (document.visibilityState === 'visible') resolve(null) }
  document.addEventListener('visibilitychange', look)
  look()
})
void looked.then(() => Promise.all([words, needsSession() ? begin() : null])).then(() => effect(show))

function needsSession() {
  return untracked(isTalk) || route.peek().segments[0] === 'settings'
}

/** Opens the store with what the address names. Without a session the person signs in, and comes back. */
async function begin() {
  if (isOpening) return
  isOpening = true
  const [first, slug, channel] = route.peek().segments
  failure.value = null
  const opened = await openStore({ fetch: fetch.bind(globalThis), WebSocket })
  try {
    await patiently('', opened.open(first === 'o' ? { slug, channel: channel === 'threads' ? undefined : channel } : {})
      .finally(() => { isOpening = false }))
    life = root.run(() => new Owner())
    life.run(() => lifelong(opened, () => signedIn(location.pathname + location.search)))
    store.value = opened
  } catch (error) {
    opened.close()
    if (!(error instanceof Refusal)) failure.value = error
    else if (error.status === 401) go(`/sign-in?next=${encodeURIComponent(location.pathname + location.search)}`, { replace: true })
    else if (error.status === 404 && first === 'o') go('/', { replace: true })
    else failure.value = error
    // An unexpected error goes to the console with its stack, since the screen says only that there was one.
    if (!(error instanceof Refusal || error instanceof Unreachable)) console.error(error)
  }
}

/**
 * The open organisation is not the person's any more: another one is opened.
 *
 * @param {import('./store/index.js').Store} opened
 */
async function openAnother(opened) {
  if (isOpening) return
  isOpening = true
  const [first, slug] = route.peek().segments
  try {
    await opened.open(first === 'o' ? { slug } : {}).finally(() => { isOpening = false })
  } catch (error) {
    if (first === 'o' && error instanceof Refusal && error.status === 404) go('/', { replace: true })
    else failure.value = error
  }
}

function show() {
  const [first = ''] = route.value.segments
  const problem = failure.value
  const opened = store.value
  const isOver = Boolean(opened?.ended.value)
  const isInOne = Boolean(opened?.organisation.value)
  const isInAny = Boolean(opened?.organisations.value.length)
  untracked(() => {
    // Whose session has ended sees nothing of the talk any more, wherever they go.
    if (isOver) mountOnce('ended', () => null)
    else if (problem) mountOnce('failure', () => broken(problem))
    else if (opened && first === 'settings') later('settings', () => settingsScreen(opened))
    else if (opened && isTalk()) {
      if (isInOne) mountOnce('chat', () => chat(opened))
      else if (isInAny) void openAnother(opened)
      else go('/new-organisation?gone', { replace: true })
    } else if (!opened && needsSession()) void alone(begin)
    else later('entry', entryScreen)
  })
}

/** @param {import('./store/index.js').Store} opened */
async function settingsScreen(opened) {
  const [{ settings }] = await Promise.all([import('./screens/settings/settings.js'), loadWords('settings')])
  return () => settings(opened, route)
}

async function entryScreen() {
  // Whoever signs in is not to see what the last person saw, not even for a moment.
  if (route.peek().path.startsWith('/sign-in')) void forgetLastVisit()
  const requests = createRequests({ fetch: fetch.bind(globalThis) })
  const [{ entry }, features] = await Promise.all([import('./screens/entry/entry.js'), requests.getFeatures(), loadWords('entry')])
  return () => entry({ requests, route, go, features: features.data, signedIn })
}

/**
 * A session stands: the talk of whoever was signed in before ends, and what the person wanted is opened.
 *
 * @param {string} [next] Own path.
 */
async function signedIn(next = '/') {
  store.peek()?.close()
  life.end()
  // What was kept may be older than what has just been joined.
  await forgetLastVisit()
  store.value = null
  shown = ''
  go(next, { replace: true })
}

/**
 * @param {string} name
 * @param {() => import('./view/element.js').Child} make
 */
function mountOnce(name, make) {
  if (shown !== name) put(name, make)
}

/**
 * @param {string} name
 * @param {() => import('./view/element.js').Child} make
 */
function put(name, make) {
  shown = name
  end?.()
  end = root.run(() => mount(app, make))
}

/**
 * Waits for what a screen needs. If that takes long, the page says so.
 *
 * @template T
 * @param {string} name The screen; empty if it isn't known yet.
 * @param {Promise<T>} needed
 * @returns {Promise<T>}
 */
async function patiently(name, needed) {
  let isThere = false
  setTimeout(() => void words.then(() => { if (!isThere && (!name || shown === name)) put(name, loading) }), LOADING_AFTER_MS)
  try {
    return await needed
  } finally {
    isThere = true
  }
}

/**
 * @param {string} name
 * @param {() => Promise<() => import('./view/element.js').Child>} load
 */
async function later(name, load) {
  if (shown === name) return
  shown = name
  try {
    const make = await patiently(name, load())
    if (shown === name) put(name, make)
  } catch (error) {
    if (shown === name) failure.value = error
  }
}

const loading = () => h('main', { class: 'page' },
  h('h1', { class: 'visually-hidden' }, t('common.tidings')),
  h('p', { class: 'quiet', role: 'status' }, t('common.loading')))

/** @param {unknown} error */
const broken = error => h('main', { class: 'page' }, h('div', { class: 'card stack', role: 'alert' },
  h('h1', null, t('common.cantLoad')),
  h('p', null, refusalText(error)),
  h('button', { type: 'button', class: 'button primary', onclick: () => location.reload() }, t('common.retry'))))
