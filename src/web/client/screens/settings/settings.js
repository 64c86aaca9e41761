// The settings: the list of parts, and the part that is open. Where there is room for one only, the list is at `/settings`.

import { effect, onEnd, signal, untracked } from '../../base/signal.js'
import { h, when } from '../../view/element.js'
import { icon } from '../../view/icons.js'
import { pageTitle } from '../../view/title.js'
import { language, loadWords, t } from '../../text/words.js'
import { signOut } from '../chat/sign-out.js'
import { fetched } from './fetched.js'
import { part, up } from './parts.js'
import { OF_ORGANISATION, OWN } from './register.js'

/** @typedef {import('../../base/signal.js').Computed<import('../../view/router.js').Route>} Routes */

/**
 * @param {Store} store
 * @param {Routes} route
 * @returns {Node}
 */
export const settings = (store, route) => {
  // `language` also tells of words that were loaded; only another language is a reason to make the screen anew.
  const shown = signal(language.peek())
  effect(() => { shown.value = language.value })
  const whole = fetched(() => loadWords('common', 'settings', 'programs', 'faces', 'notifications'), () => () => inLanguage(shown.value, () => screen(store, route)))
  whole.classList.add('settings-screen')
  return whole
}

/**
 * Makes the screen anew in another language. The choice that caused it keeps the focus.
 *
 * @param {string} _name
 * @param {() => Node} make
 */
function inLanguage(_name, make) {
  const focused = document.activeElement
  const group = focused instanceof HTMLInputElement && focused.type === 'radio' ? focused.name : null
  if (group) queueMicrotask(() => focusChoice(group))
  return untracked(make)
}

/** @param {string} group */
function focusChoice(group) {
  const choice = document.querySelector(`input[name="${group}"]:checked`)
  if (choice instanceof HTMLElement) choice.focus()
}

/** @param {Store} store @param {Routes} route */
function screen(store, route) {
  const path = signal('')
  effect(() => { path.value = route.value.path })
  const isList = () => path.value === '/settings'
  const open = h('div', { class: 'settings-main' }, up('/settings', t('settings.all'), 'only-narrow'), () => {
    const segments = path.value.split('/').slice(2).map(decodeURIComponent)
    return untracked(() => opened(store, segments))
  })
  let isFirst = true
  effect(() => {
    pageTitle.value = `${title(path.value)} · ${t('common.tidings')}`
    // What has just been loaded begins where pages begin.
    if (!isFirst) queueMicrotask(() => keepFocus(whole))
    isFirst = false
  })
  const whole = h('main', { class: () => `settings ${isList() ? 'at-list' : 'at-part'}` }, navigation(store, path), open)
  return whole
}

/** Where the list and a part have no room beside each other. */
const narrow = matchMedia('(max-width: 700px)')

/** @param {Store} store @param {{ value: string }} path */
function navigation(store, path) {
  const isNarrow = signal(narrow.matches)
  const follow = () => { isNarrow.value = narrow.matches }
  narrow.addEventListener('change', follow)
  onEnd(() => narrow.removeEventListener('change', follow))
  return list(store, path, isNarrow)
}

/** @param {Store} store @param {{ value: string }} path @param {{ value: boolean }} isNarrow */
const list = (store, path, isNarrow) => h('nav', { class: 'settings-nav', 'aria-label': t('settings.title') },
  up(() => talk(store), t('settings.backToTalk')),
  h('h1', { class: 'only-narrow', tabindex: -1 }, t('settings.title')),
  h('h2', null, t('settings.you')),
  h('ul', null, OWN.map(each => link(() => `/settings/${each.name}`, each, path, () => each === OWN[0] && path.value === '/settings' && !isNarrow.value))),
  when(() => store.organisation.value, () => [
    h('h2', null, h('bdi', null, () => store.organisation.value?.name)),
    h('ul', null, OF_ORGANISATION.map(each => when(() => each.isFor(store), () =>
      link(() => `/settings/o/${store.organisation.value?.organisation_slug}/${each.name}`, each, path)))),
  ]),
  h('ul', { class: 'settings-leave' }, h('li', null, h('button', { type: 'button', class: 'place', onclick: () => signOut(store) },
    icon('door'), h('span', { class: 'name' }, t('talk.signOut'))))))

/** @param {Store} store */
const talk = store => {
  const slug = store.organisation.value?.organisation_slug
  return slug ? `/o/${slug}` : '/'
}

/**
 * @param {() => string} address
 * @param {{ icon: string, title: () => string }} each
 * @param {{ value: string }} path
 * @param {() => boolean} [isOpen] Whether it is open under another address.
 */
const link = (address, each, path, isOpen = () => false) => h('li', null,
  h('a', { class: 'place', href: address, 'aria-current': () => isAt(path.value, address()) || isOpen() ? 'page' : null }, icon(each.icon),
    h('span', { class: 'name' }, each.title)))

/** @param {string} path @param {string} address */
const isAt = (path, address) => path === address || path.startsWith(`${address}/`)

/** @param {Store} store @param {string[]} segments What the address has after `/settings`. */
function opened(store, [first, slug, name, ...rest]) {
  if (first === 'o' && slug) return inOrganisation(store, slug, name ?? '', rest)
  // Where the list and a part fit beside each other, the first part is open with the list.
  return (OWN.find(each => each.name === (first ?? OWN[0].name))?.open ?? unknown)(store)
}

/** @param {Store} store @param {string} slug @param {string} name @param {string[]} rest */
function inOrganisation(store, slug, name, rest) {
  const show = () => {
    const found = OF_ORGANISATION.find(each => each.name === name && each.isFor(store))
    return found ? found.open(store, store.organisation.peek()?.id ?? '', `/settings/o/${slug}/${name}`, rest) : unknown()
  }
  if (store.organisation.peek()?.organisation_slug === slug) return show()
  return fetched(() => store.open({ slug }), show)
}

const unknown = () => part(t('settings.unknown'), t('settings.unknownText'))

/** @param {string} path */
function title(path) {
  const segments = path.split('/').slice(2)
  const found = segments[0] === 'o' ? OF_ORGANISATION.find(each => each.name === segments[2])
    : OWN.find(each => each.name === segments[0])
  return found?.title() ?? t('settings.title')
}

/** Where following a link hid what had the focus, the heading that is shown gets it. @param {HTMLElement} whole */
function keepFocus(whole) {
  const focused = document.activeElement
  if (focused && focused !== document.body && isShown(focused)) return
  // What is still loading has no heading yet; there the place gets it.
  const place = [...whole.querySelectorAll('h1'), ...whole.querySelectorAll('.fetched')].find(isShown)
  if (place instanceof HTMLElement) place.focus()
}

/** @param {Element} element */
const isShown = element => element.getClientRects().length > 0
