// A search for one other member, with what it finds as radio buttons named `user_id`.

import { signal } from '../../base/signal.js'
import { h } from '../../view/element.js'
import { field } from '../../view/form.js'
import { list } from '../../view/list.js'
import { wording } from '../../view/wording.js'
import { t } from '../../text/words.js'
import { delayed } from '../../view/delayed.js'

/** @typedef {import('../../store/index.js').Store} Store */
/** @typedef {import('#api').components['schemas']['Member']} Member */

/** @param {Store} store @param {string} id The organisation. */
export function memberPicker(store, id) {
  const found = signal(/** @type {Member[]} */ ([]))
  const state = signal('')
  let last = 0
  const search = async () => {
    const turn = last += 1
    try {
      const { data } = await store.api.listOrganisationMembers(id, { search: input.value.trim(), page_size: 10 })
      if (turn !== last) return
      found.value = data.filter(member => member.id !== store.me.peek()?.id && member.status !== 'deactivated')
      state.value = found.value.length ? '' : t('settings.nobodyFound')
    } catch (error) {
      if (turn === last) state.value = wording.explain(error)
    }
  }
  const input = h('input', { type: 'search', autocomplete: 'off', oninput: delayed(search), dir: 'auto' })
  search()
  return h('div', null,
    field(t('settings.memberSearch'), input),
    list(h('div', { class: 'picker', role: 'radiogroup', 'aria-label': t('settings.members') }), () => found.value, each => each.id,
      member => option(member.peek())),
    h('p', { class: 'quiet small', role: 'status' }, () => state.value))
}

/** @param {Member} member */
const option = member => h('label', { class: 'settings-choice' },
  h('input', { type: 'radio', name: 'user_id', value: member.id, required: true }),
  h('span', null, h('bdi', null, member.name), ' ', h('span', { class: 'quiet small' }, h('bdi', null, `@${member.username}`))))
