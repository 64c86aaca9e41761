// The addresses of the client: what each part of the talk is reached by.

import { go, route } from '../view/router.js'
import { focusTalk } from './focus.js'

/**
 * The address of a channel, of a thread in it, or of a message there: of the open organisation, or of another one.
 *
 * @param {Store} store
 * @param {{ slug?: string, channel?: string, thread?: string | null, message?: string | null }} place
 */
export function address(store, { slug = store.organisation.peek()?.organisation_slug ?? '', channel, thread, message }) {
  const path = ['', 'o', slug, channel, thread].filter(each => each != null).map(each => encodeURIComponent(each ?? '')).join('/')
  return message ? `${path}?m=${encodeURIComponent(message)}` : path
}

/**
 * The search beside the talk.
 *
 * @param {Store} store
 * @param {string} words
 */
export const searchAddress = (store, words) =>
  `${address(store, { channel: place().channel ?? 'threads' })}?${new URLSearchParams({ search: words })}`

/**
 * The list of channels, which narrow windows show by itself.
 *
 * @param {Store} store
 */
export const listAddress = store => `/o/${encodeURIComponent(store.organisation.value?.organisation_slug ?? '')}?list`

/** This address with a picture over it, or without one. @param {string | null} picture */
export function addressWithView(picture) {
  const query = new URLSearchParams(location.search)
  if (picture) query.set('view', picture)
  else query.delete('view')
  return query.size > 0 ? `${location.pathname}?${query}` : location.pathname
}

/** What addresses of the talk begin with. */
const TALK = new Set(['', 'o', 'threads'])

/** Whether the address is one of the talk. */
export const isTalk = () => TALK.has(route.value.segments[0] ?? '')

/**
 * @typedef {object} Place What the address names.
 * @property {string} [slug]
 * @property {string} [channel] An id, or `threads`.
 * @property {string} [thread]
 * @property {string | null} message To go to, and to mark.
 * @property {string | null} view A picture that is shown over all.
 * @property {string | null} pane
 * @property {string | null} search
 * @property {boolean} list Whether the list of channels is to be shown where there is room for one column alone.
 */

/** @returns {Place} */
export function place() {
  const { segments, query } = route.value
  const [, slug, channel, thread] = segments[0] === 'o' ? segments : []
  return { slug, channel, thread, message: query.get('m'), view: query.get('view'), pane: query.get('pane'), search: query.get('search'), list: query.has('list') }
}

/** Closes what is open beside, by its address. A thread that the search led to gives its place back to the search. */
export function closeBeside() {
  const { segments, query } = route.peek()
  const rest = new URLSearchParams(query)
  const isThread = segments.length > 3
  for (const name of isThread && rest.has('search') ? ['m'] : ['pane', 'search', 'm', 'from', 'in', 'before', 'after']) rest.delete(name)
  const path = '/' + segments.slice(0, 3).map(encodeURIComponent).join('/')
  go(rest.size > 0 ? `${path}?${rest}` : path)
  // What closes takes the focus with it.
  requestAnimationFrame(() => { if (document.activeElement === document.body) focusTalk() })
}
