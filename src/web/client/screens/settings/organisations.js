// The organisations that the person is in.

import { h } from '../../view/element.js'
import { list } from '../../view/list.js'
import { say } from '../../view/toast.js'
import { t } from '../../text/words.js'
import { fetched } from './fetched.js'
import { asking, badge, part } from './parts.js'
import { isOwner, roleTitle } from './rights.js'

/** @typedef {import('#api').components['schemas']['OwnOrganisation']} Own */
/** @typedef {import('../../base/signal.js').Signal<Own[]>} All */

/** @param {Store} store */
export const organisations = store => part(t('settings.organisations'), t('settings.organisationsIntro'),
  fetched(async () => (await store.api.listOwnOrganisations({})).data, all => [
    list(h('ul', { class: 'items' }), () => all.value, each => each.id, each => row(store, all, each.peek())),
    store.mayFound.peek()
      ? h('p', null, h('a', { class: 'button', href: '/new-organisation' }, t('settings.organisationMake')))
      : h('p', { class: 'quiet small' }, t('settings.organisationMakeNot')),
  ]))

/** @param {Store} store @param {All} all @param {Own} own */
function row(store, all, own) {
  const describedBy = `own-${own.id}`
  const leave = asking(t('settings.organisationLeave'), () => ({
    title: t('settings.organisationLeaveTitle', { name: own.name }), text: t('settings.organisationLeaveText'),
    action: t('settings.organisationLeave'), danger: true,
  }), async () => {
    await store.api.removeOrganisationMember(own.id, store.me.peek()?.id ?? '')
    all.value = all.peek().filter(each => each !== own)
    say(t('settings.organisationLeft', { name: own.name }))
  }, { describedBy })
  return h('li', { class: 'item' },
    h('div', { class: 'item-text', id: describedBy },
      h('p', { class: 'row-line' },
        h('strong', null, h('bdi', null, own.name)),
        () => store.organisation.value?.id === own.id && badge(t('settings.organisationOpen'), 'good')),
      h('p', { class: 'quiet small' }, roleTitle(own.org_role, own.role_name))),
    h('div', { class: 'item-buttons' },
      h('a', { class: 'button', href: `/o/${own.organisation_slug}`, 'aria-describedby': describedBy },
        t('settings.organisationGo')),
      h('a', { class: 'button', href: `/settings/o/${own.organisation_slug}/members`, 'aria-describedby': describedBy },
        t('settings.title')),
      // The owner first transfers the organisation, so it isn't left without one.
      !isOwner(own) && leave))
}
