// Somebody who is signed in and a member of no organisation makes one, or waits to be invited.

import { signal } from '../../base/signal.js'
import { rich, t } from '../../text/words.js'
import { h } from '../../view/element.js'
import { form } from '../../view/form.js'
import { organisationName, value } from './fields.js'
import { below, card, later, mainLink, to } from './frame.js'
import { logOut, nameOf, whoIsHere } from './session.js'

/**
 * @typedef {import('./entry.js').Way} Way
 * @typedef {import('#api').components['schemas']['User']} User
 */

/** @param {Way} way */
export const newOrganisation = way => later(() => whoIsHere(way.requests), user => {
  if (user) return asUser(way, user)
  return card({ title: t('entry.first_title'), lead: t('entry.first_signed_out') }, mainLink('/sign-in?next=/new-organisation', t('entry.sign_in')))
})

/**
 * @param {Way} way
 * @param {User} user
 */
function asUser({ requests, arrive, go }, user) {
  const found = signal('')
  const look = async () => {
    const { data } = await requests.listOwnOrganisations({ limit: 1 })
    if (data.length > 0) await arrive(`/o/${data[0].organisation_slug}`)
    else found.value = t('entry.first_none')
  }
  const leave = async () => {
    await logOut(requests)
    go('/sign-in')
  }
  const make = () => form({
    children: [organisationName(t('entry.organisation_hint'))],
    button: t('entry.first_button'),
    submit: async values => {
      const { data } = await requests.createOrganisation({ name: value(values, 'organisation') })
      await arrive(`/o/${data.organisation_slug}`)
    },
  })
  if (user.current_org) return card({ title: t('entry.another_title') }, make(), below(to('/', t('entry.another_back'))))
  return card({ title: t('entry.first_title'), lead: rich('entry.first_lead', { name: h('bdi', null, nameOf(user)) }) },
    make(),
    h('section', { class: 'entry-apart' },
      h('h2', null, t('entry.first_wait_title')),
      h('p', { class: 'quiet' }, rich('entry.first_wait', { address: h('bdi', null, user.email) })),
      below(
        form({ class: 'entry-quiet-form', children: [], button: t('entry.first_look'), submit: look }),
        form({ class: 'entry-quiet-form', children: [], button: t('entry.sign_out'), submit: leave })),
      h('p', { role: 'status', class: 'small' }, () => found.value)))
}
