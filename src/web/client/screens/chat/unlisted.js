// Channels that are not in the person's list: archived ones, and open ones that they are not in. What they are called, the server tells.

import { computed, effect, signal, untracked } from '../../base/signal.js'
import { t } from '../../text/words.js'
import { h, when } from '../../view/element.js'
import { focusTalk } from '../focus.js'
import { composerOrReason } from './composer.js'
import { attempt } from './deeds.js'
import { arrived } from './opening.js'

/** @typedef {import('#api').components['schemas']['Channel']} Details */

/**
 * What the server tells of a channel while it is not in the list. Null for one that is, and until the answer comes.
 *
 * @param {Store} store
 * @param {string} id
 */
export function unlisted(store, id) {
  const details = signal(/** @type {Details | null} */ (null))
  const isListed = computed(() => store.channel(id) !== null)
  const isReady = computed(() => store.organisation.value !== null)
  effect(() => {
    const isAsked = isReady.value && !isListed.value
    untracked(() => {
      details.value = null
      if (isAsked) store.api.getChannel(id, { users: 0 }).then(({ data }) => { if (!isListed.peek()) details.value = data }, () => {})
    })
  })
  return details
}

/**
 * Where one writes, or why one can't.
 *
 * @param {import('./composer.js').Options} options
 * @param {{ readonly value: Details | null }} details
 */
export const composerOrNote = (options, details) => when(() => options.store.channel(options.channel()), () => composerOrReason(options),
  () => when(() => details.value?.archived, () => h('p', { class: 'notice read-only' }, t('talk.archived'))))

/**
 * What stands in the place of a channel whose messages one may not read; with a way in, if there is one.
 *
 * @param {Store} store
 * @param {string} id
 * @param {{ readonly value: Details | null }} details
 */
export function outside(store, id, details) {
  const mayJoin = () => details.value && !details.value.archived && !details.value.is_private && !details.value.is_dm
  const join = async (/** @type {Event} */ event) => {
    const button = /** @type {HTMLElement} */ (event.currentTarget)
    if (button.getAttribute('aria-busy')) return
    button.setAttribute('aria-busy', 'true')
    if (await attempt(() => store.api.joinChannel(id, {}))) {
      await arrived(store, id)
      requestAnimationFrame(() => focusTalk())
    }
    button.removeAttribute('aria-busy')
  }
  return h('div', { class: 'empty', role: 'status' },
    h('p', null, () => t(details.value?.archived ? 'talk.archived' : 'talk.notIn')),
    when(mayJoin, () => h('button', { type: 'button', class: 'button primary', onclick: join }, t('chat.join'))))
}
