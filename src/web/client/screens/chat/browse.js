// The channels that one may join.

import { signal } from '../../base/signal.js'
import { t } from '../../text/words.js'
import { openDialog } from '../../view/dialog.js'
import { h, when } from '../../view/element.js'
import { icon } from '../../view/icons.js'
import { list } from '../../view/list.js'
import { paged } from '../../view/paged.js'
import { wording } from '../../view/wording.js'
import { delayed } from '../../view/delayed.js'
import { createChannel } from './create-channel.js'
import { show } from './opening.js'

/** @typedef {import('#api').components['schemas']['OpenChannel']} OpenChannel */

const PAGE = 50

/** @param {Store} store */
export async function browseChannels(store) {
  /** @type {string | undefined} */
  const goal = await openDialog({ title: t('talk.browse'), wide: true, className: 'browse', body: close => browse(store, close) })
  if (goal === 'new') await createChannel(store)
  else if (goal) await show(store, goal)
}

/**
 * @param {Store} store
 * @param {(goal: string) => void} close
 */
function browse(store, close) {
  const { rows, state, next, look, typed, more } = openChannels(store)
  /** @type {HTMLInputElement} */
  const input = h('input', {
    type: 'text', inputmode: 'search', autocomplete: 'off', spellcheck: 'false', dir: 'auto', 'aria-label': t('chat.browseSearch'), placeholder: t('chat.browseSearch'),
    oninput: () => typed(input.value.trim()),
  })
  void look()
  const found = list(h('ul', { class: 'browse-rows', hidden: () => rows.value.length === 0 }), () => rows.value, each => each.id,
    item => row(store, item.peek(), close))
  return [
    h('div', { class: 'row-line' }, input,
      when(() => store.organisation.value?.permissions.can_create_channels, () => h('button', {
        type: 'button', class: 'button', onclick: () => close('new'),
      }, icon('plus'), t('talk.create')))),
    h('div', { class: 'browse-found' }, found,
      h('p', { class: 'quiet', role: 'status' }, state),
      when(() => next.value, () => h('button', {
        type: 'button', class: 'button',
        onclick: async () => {
          const last = found.lastElementChild
          await more()
          // The button moves down, and is gone with the last page: the focus goes on where the reading does.
          const first = last?.nextElementSibling?.querySelector('button')
          if (first instanceof HTMLElement) first.focus()
        },
      }, t('common.more')))),
  ]
}

/** Open channels by what is typed, a page after the other. @param {Store} store */
export function openChannels(store) {
  const found = paged((/** @type {Record<string, string | number>} */ query) => store.api.listOpenChannels(store.organisation.peek()?.id ?? '', query))
  let wanted = ''
  const look = () => found.ask(wanted ? { q: wanted, limit: PAGE } : { limit: PAGE })
  const later = delayed(look)
  return {
    ...found,
    look,
    /** Looks once the typing has paused. */
    typed: (/** @type {string} */ words) => {
      wanted = words
      found.wait()
      later()
    },
    state: () => {
      if (found.problem.value || found.rows.value.length > 0) return found.problem.value
      if (found.total.value === null) return t('common.loading')
      return t(wanted ? 'chat.nothingFound' : 'chat.browseNone')
    },
  }
}

/**
 * @param {Store} store
 * @param {OpenChannel} channel
 * @param {(goal: string) => void} close
 */
function row(store, channel, close) {
  const isIn = () => store.channel(channel.id) !== null
  const problem = signal('')
  const name = h('bdi', { id: `open-${channel.id}` }, channel.name)
  /** @type {HTMLButtonElement} */
  const button = h('button', {
    type: 'button', class: 'button', 'aria-describedby': name.id,
    onclick: async () => {
      if (isIn()) return close(channel.id)
      if (button.getAttribute('aria-busy')) return
      button.setAttribute('aria-busy', 'true')
      try {
        await store.api.joinChannel(channel.id, {})
        problem.value = ''
      } catch (error) {
        problem.value = wording.explain(error)
      }
      button.removeAttribute('aria-busy')
    },
  }, () => isIn() ? t('chat.open') : t('chat.join'))
  return h('li', null,
    h('div', null,
      h('p', { class: 'browse-name' }, icon('hash'), name, h('span', { class: 'quiet small' }, t('chat.memberCount', { count: channel.user_count }))),
      (channel.topic || channel.description) && h('p', { class: 'quiet small', dir: 'auto' }, channel.topic || channel.description),
      h('p', { class: 'error', role: 'alert', hidden: () => !problem.value }, () => problem.value)),
    button)
}
