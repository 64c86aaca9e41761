// A search for one other member, with what it finds as radio buttons named `user_id`.

import { h } from '../../view/element.js'
import { field } from '../../view/form.js'
import { list } from '../../view/list.js'
import { paged } from '../../view/paged.js'
import { t } from '../../text/words.js'
import { delayed } from '../../view/delayed.js'

/** @param {Store} store @param {string} id The organisation. */
export function memberPicker(store, id) {
  const found = paged((/** @type {Record<string, string | number>} */ query) => store.api.listOrganisationMembers(id, query))
  const others = () => found.rows.value.filter(member => member.id !== store.me.value?.id && member.status !== 'deactivated')
  const search = (words = '') => found.ask({ search: words.trim(), page_size: 10 })
  const state = () => found.problem.value || (found.total.value !== null && others().length === 0 ? t('settings.nobodyFound') : '')
  /** @type {HTMLInputElement} */
  const input = h('input', { type: 'search', autocomplete: 'off', oninput: delayed(() => search(input.value)), dir: 'auto' })
  void search()
  return h('div', null,
    field(t('settings.memberSearch'), input),
    list(h('div', { class: 'picker', role: 'radiogroup', 'aria-label': t('settings.members') }), others, each => each.id,
      member => option(member.peek())),
    h('p', { class: 'quiet small', role: 'status' }, state))
}

/** @param {Member} member */
const option = member => h('label', { class: 'settings-choice' },
  h('input', { type: 'radio', name: 'user_id', value: member.id, required: true }),
  h('span', null, h('bdi', null, member.name), ' ', h('span', { class: 'quiet small' }, h('bdi', null, `@${member.username}`))))
