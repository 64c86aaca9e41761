// What is pinned in a channel, beside the talk.

import { computed, effect, untracked } from '../../base/signal.js'
import { ago } from '../../text/dates.js'
import { t } from '../../text/words.js'
import { h, when } from '../../view/element.js'
import { list } from '../../view/list.js'
import { paged } from '../../view/paged.js'
import { say } from '../../view/toast.js'
import { wording } from '../../view/wording.js'
import { address } from '../addresses.js'
import { nameOf } from '../face.js'
import { channelBar, failure } from './pane-parts.js'
import { result } from './result.js'

/** @typedef {import('#api').components['schemas']['Message']} Message */

/**
 * @param {Store} store
 * @param {string} channel
 */
export function pinsPane(store, channel) {
  const { rows, total, problem, ask } = paged(() => store.api.listPinnedMessages(channel, {}))
  const load = () => ask({})
  // Pushes change the pins of what the talk shows; of older messages this is told by nobody, and they are fetched when it opens.
  const { rows: shown } = store.talk(channel)
  const pins = computed(() => shown.value.filter(each => each.is_pinned).map(each => `${each.id} ${each.content}`).join('\n'))
  effect(() => {
    void pins.value
    untracked(load)
  })

  const unpin = async (/** @type {string} */ id, /** @type {HTMLElement} */ control) => {
    const pane = control.closest('.pane-body')
    try {
      await store.api.unpinMessage(channel, id)
      rows.value = rows.peek().filter(each => each.id !== id)
      if (pane instanceof HTMLElement && !control.isConnected) pane.focus()
    } catch (error) {
      say(wording.explain(error))
    }
  }
  return h('section', { class: 'column', 'aria-label': t('talk.showPins') },
    channelBar(store, t('talk.showPins'), channel),
    h('div', { class: 'pane-body', tabindex: -1 },
      when(() => total.value === null && !problem.value, () => h('p', { class: 'empty quiet', role: 'status' }, t('common.loading'))),
      failure(() => problem.value, load),
      when(() => total.value !== null && rows.value.length === 0, () => h('p', { class: 'empty quiet' }, t('panes.noPins'))),
      list(h('ol', { class: 'results', 'aria-label': t('talk.showPins') }), () => rows.value, each => each.id, item =>
        h('li', null, pinned(store, () => item.value, unpin)))))
}

/**
 * @param {Store} store
 * @param {() => Message} message
 * @param {(id: string, control: HTMLElement) => void} unpin
 */
function pinned(store, message, unpin) {
  const href = () => {
    const { channel_id: channel, thread_id: thread, id } = message()
    return address(store, { channel, thread: thread === id ? null : thread, message: id })
  }
  const by = () => {
    const { pinned_details: details } = message()
    if (!details) return ''
    const person = store.person(details.pinned_by)
    const who = nameOf(person.username ? person : { username: details.username })
    return t('panes.pinnedByAt', { name: who, when: ago(details.pinned_at) })
  }
  return result(store, message, {
    href,
    below: [
      h('p', { class: 'small quiet' }, by),
      h('p', { class: 'thread-foot small' },
        h('a', { href }, t('panes.goThere')),
        when(() => store.organisation.value?.permissions.can_post_messages, () => h('button', {
          type: 'button', class: 'link-button',
          onclick: (/** @type {Event} */ event) => unpin(message().id, /** @type {HTMLElement} */ (event.currentTarget)),
        }, t('chat.unpin')))),
    ],
  })
}
