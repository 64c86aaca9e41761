// The members of the organisation.

import { batch, signal } from '../../base/signal.js'
import { h } from '../../view/element.js'
import { field } from '../../view/form.js'
import { list } from '../../view/list.js'
import { wording } from '../../view/wording.js'
import { t } from '../../text/words.js'
import { delayed } from '../../view/delayed.js'
import { fetched } from './fetched.js'
import { memberRow } from './member.js'
import { pager } from './pager.js'
import { part } from './parts.js'

const PAGE = 20

/** @param {Store} store @param {string} id The organisation. */
export const members = (store, id) => part(t('settings.members'), null,
  fetched(async () => {
    const [first, { data: roles }] = await Promise.all([page(store, id, '', 1), store.api.listRoles(id)])
    return { first, roles }
  }, data => directory(store, id, data.peek().first, data.peek().roles)))

/**
 * @param {Store} store
 * @param {string} id
 * @param {string} search
 * @param {number} number
 */
async function page(store, id, search, number) {
  const { data, next, total = data.length } = await store.api.listOrganisationMembers(id, { search, page: number, page_size: PAGE })
  return { members: data, page: number, hasLater: next !== null, total }
}

/**
 * @param {Store} store
 * @param {string} id
 * @param {Awaited<ReturnType<typeof page>>} first
 * @param {Role[]} roles
 */
function directory(store, id, first, roles) {
  const shown = signal(first)
  const problem = signal('')
  let last = 0
  const open = async (/** @type {number} */ number) => {
    const turn = last += 1
    const next = await page(store, id, input.value.trim(), number)
    if (turn !== last) return
    batch(() => {
      shown.value = next
      problem.value = ''
    })
  }
  const search = () => open(1).catch(error => { problem.value = wording.explain(error) })
  const input = h('input', { type: 'search', autocomplete: 'off', oninput: delayed(search), dir: 'auto', maxlength: 256 })
  /** Puts a changed member in place of the former one; a removed one is taken out. */
  const replace = (/** @type {Member} */ old, /** @type {Member | null} */ changed) => {
    const now = shown.peek()
    shown.value = { ...now, members: now.members.flatMap(each => each.id !== old.id ? [each] : changed ? [changed] : []),
      total: now.total - (changed ? 0 : 1) }
  }
  return [
    field(t('settings.memberSearch'), input),
    h('p', { class: 'quiet small', role: 'status' }, () =>
      problem.value || t('settings.memberCount', { count: shown.value.total })),
    list(h('ul', { class: 'items' }), () => shown.value.members, member => member.id, member =>
      memberRow(store, id, roles, member, replace)),
    pager(() => shown.value, open),
  ]
}
