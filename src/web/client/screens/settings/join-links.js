// Links by which several people may join.

import { signal } from '../../base/signal.js'
import { h } from '../../view/element.js'
import { field, form } from '../../view/form.js'
import { list } from '../../view/list.js'
import { t } from '../../text/words.js'
import { copyable } from './copyable.js'
import { badge, deed, section, time } from './parts.js'
import { roleChoice, roleTitle } from './rights.js'

/** @typedef {import('#api').components['schemas']['JoinLink']} JoinLink */
/** @typedef {import('../../base/signal.js').Signal<JoinLink[]>} Links */

/**
 * @param {Store} store
 * @param {string} id The organisation.
 * @param {JoinLink[]} first
 * @param {Role[]} roles Those that a link may give.
 */
export function joinLinks(store, id, first, roles) {
  const links = signal(first)
  const made = signal('')
  return section(t('settings.joinLinks'), h('p', { class: 'quiet' }, t('settings.joinLinksText')),
    form({
      button: t('settings.joinLinkMake'),
      submit: async values => {
        const { data } = await store.api.createJoinLink(id, {
          role: Number(values.get('role')), expires_in_days: Number(values.get('expires_in_days')),
          uses: Number(values.get('uses')),
          domain: String(values.get('domain')).trim() || undefined,
        })
        made.value = data.link
        links.value = [data, ...links.peek()]
      },
      children: [
        h('div', { class: 'field-pair' },
          field(t('settings.role'), roleChoice(roles)),
          field(t('settings.joinLinkDays'), count('expires_in_days', 7, 30)),
          field(t('settings.joinLinkUses'), count('uses', 25, 1000))),
        field(t('settings.joinLinkDomain'),
          h('input', { name: 'domain', placeholder: 'example.org', maxlength: 253, dir: 'ltr', autocapitalize: 'none' }),
          t('settings.joinLinkDomainHint')),
      ],
    }),
    h('div', { role: 'status' }, () =>
      made.value && copyable(t('settings.joinLinkNew'), () => made.value, t('settings.joinLinkOnce'))),
    list(h('ul', { class: 'items' }), () => links.value, link => link.id, link => row(store, id, links, made, link.peek())))
}

/** @param {string} name @param {number} value @param {number} most */
const count = (name, value, most) => h('input', { name, type: 'number', value: String(value), min: 1, max: most, required: true })

/** @type {Record<string, () => HTMLElement>} */
const STATES = {
  open: () => badge(t('settings.joinLinkOpen'), 'good'),
  used: () => badge(t('settings.joinLinkUsed')),
  expired: () => badge(t('settings.joinLinkExpired')),
  void: () => badge(t('settings.joinLinkVoid'), 'bad'),
}

/**
 * @param {Store} store
 * @param {string} id
 * @param {Links} links
 * @param {import('../../base/signal.js').Signal<string>} made
 * @param {JoinLink} link
 */
const row = (store, id, links, made, link) => h('li', { class: 'item' },
  h('div', { class: 'item-text', id: `link-${link.id}` },
    h('p', { class: 'row-line' }, h('span', null, roleTitle(link.role, link.role_name)), STATES[link.status]?.(),
      link.domain && badge(link.domain)),
    h('p', { class: 'quiet small' },
      t('settings.joinLinkCount', { used: link.used, count: link.uses }), ' · ', t('settings.joinLinkEnds'), ' ',
      time(link.expires_at))),
  deed(t('common.delete'), async () => {
    await store.api.deleteJoinLink(id, link.id)
    // Only the newest link's address is still shown.
    if (links.peek()[0] === link) made.value = ''
    links.value = links.peek().filter(each => each !== link)
  }, { describedBy: `link-${link.id}` }))
