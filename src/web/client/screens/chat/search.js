// The search beside the talk. What is searched for is in the address: it can be shared, and "back" leads through it.

import { computed, effect, onEnd, signal, untracked } from '../../base/signal.js'
import { t } from '../../text/words.js'
import { h, when } from '../../view/element.js'
import { list } from '../../view/list.js'
import { paged } from '../../view/paged.js'
import { go, route } from '../../view/router.js'
import { address, place } from '../addresses.js'
import { failure, moreButton } from './pane-parts.js'
import { channelName, result } from './result.js'
import { NAMES, filters } from './search-filters.js'
import { paneBar } from './thread.js'

/** @typedef {import('#api').components['schemas']['Message']} Message */

const PAUSE_MS = 300
const PAGE = 30
const DENSE = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]/u

/** Where the talk is not seen beside the search, a result takes its place. */
const covered = matchMedia('(max-width: 1100px)')

/** @param {Store} store */
export function searchPane(store) {
  const wanted = computed(() => new URLSearchParams([['search', route.value.query.get('search') ?? ''],
    ...NAMES.flatMap(name => route.value.query.get(name) ? [[name, route.value.query.get(name) ?? '']] : [])]).toString())
  const words = () => new URLSearchParams(wanted.value).get('search')?.trim() ?? ''
  const found = finding(store)
  effect(() => {
    const query = new URLSearchParams(wanted.value)
    untracked(() => isEnough(words()) ? found.ask(query) : found.clear())
  })
  const isCovered = signal(covered.matches)
  const follow = () => { isCovered.value = covered.matches }
  covered.addEventListener('change', follow)
  onEnd(() => covered.removeEventListener('change', follow))

  const href = (/** @type {Message} */ { channel_id: channel, thread_id: thread, id }) => {
    const to = address(store, { channel, thread: thread === id ? null : thread, message: id })
    return isCovered.value ? to : `${to}&${wanted.value}`
  }
  return h('section', { class: 'column search', 'aria-label': t('common.search') },
    paneBar(t('common.search')),
    h('div', { class: 'pane-body' },
      h('div', { class: 'pane-head' }, field(wanted), filters(store, change)),
      h('p', { class: 'pane-state quiet small', role: 'status' }, () => found.state(words())),
      failure(() => found.problem.value, () => found.ask(new URLSearchParams(wanted.peek()))),
      list(h('ol', { class: 'results', 'aria-label': t('panes.results') }), () => found.rows.value, each => each.id, item =>
        h('li', { 'aria-current': () => place().message === item.value.id ? 'true' : null },
          result(store, () => item.value, { href: () => href(item.value), above: channelName(store, item.peek().channel_id) }))),
      when(() => found.next.value, () => moreButton(t('panes.moreResults'), () => found.isBusy.value, found.more))))
}

/**
 * Puts what is searched for into the address.
 *
 * @param {Record<string, string>} values
 */
function change(values) {
  const { path, query } = route.peek()
  const next = new URLSearchParams(query)
  for (const [name, value] of Object.entries(values)) {
    if (value || name === 'search') next.set(name, value)
    else next.delete(name)
  }
  go(`${path}?${next}`, { replace: true })
}

/** @param {import('../../base/signal.js').Computed<string>} wanted */
function field(wanted) {
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let pause
  const ask = () => {
    clearTimeout(pause)
    change({ search: input.value })
  }
  const input = /** @type {HTMLInputElement} */ (h('input', {
    type: 'search', 'aria-label': t('panes.searchLabel'), placeholder: t('panes.searchLabel'),
    autocomplete: 'off', dir: 'auto', maxlength: 256, enterkeyhint: 'search',
    oninput: () => {
      clearTimeout(pause)
      pause = setTimeout(ask, PAUSE_MS)
    },
  }))
  onEnd(() => clearTimeout(pause))
  effect(() => {
    const words = new URLSearchParams(wanted.value).get('search') ?? ''
    if (words.trim() !== input.value.trim()) input.value = words
  })
  requestAnimationFrame(() => input.focus())
  return h('form', { role: 'search', onsubmit: (/** @type {Event} */ event) => { event.preventDefault(); ask() } }, input)
}

/** The server's own rule: three characters, or two of those that are words by themselves. @param {string} words */
const isEnough = words => [...words].length >= (DENSE.test(words) ? 2 : 3)

/** @param {Store} store */
function finding(store) {
  const found = paged((/** @type {Record<string, string | number>} */ query) => store.api.searchMessages(store.organisation.peek()?.id ?? '', query))
  return {
    ...found,
    ask: (/** @type {URLSearchParams} */ query) => found.ask(asked(query)),
    /** @param {string} words */
    state: words => {
      if (!isEnough(words)) return t('panes.searchHint')
      const count = found.rows.value.length
      if (found.isBusy.value && count === 0) return t('panes.searching')
      if (found.total.value === null) return ''
      return count === 0 ? t('panes.nothingFound') : t(found.next.value ? 'panes.foundMore' : 'panes.found', { count })
    },
  }
}

/** From the address to the API's words. @param {URLSearchParams} query */
function asked(query) {
  const day = (/** @type {string} */ name, /** @type {number} */ later) => {
    const [year, month, date] = (query.get(name) ?? '').split('-').map(Number)
    const at = new Date(year, month - 1, date + later)
    return Number.isNaN(at.getTime()) ? undefined : at.toISOString()
  }
  return JSON.parse(JSON.stringify({
    q: query.get('search')?.trim(), user_id: query.get('from') || undefined, channel_id: query.get('in') || undefined, has: query.get('has') || undefined,
    after: day('after', 0), before: day('before', 1), limit: PAGE,
  }))
}
