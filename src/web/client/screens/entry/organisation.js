// Somebody who is signed in makes an organisation, if the server lets them; or is in none, and reads how to get into one.

import { signal } from '../../base/signal.js'
import { rich, t } from '../../text/words.js'
import { h } from '../../view/element.js'
import { form } from '../../view/form.js'
import { organisationName, value } from './fields.js'
import { below, card, later, mainLink, to } from './frame.js'
import { ifSignedIn, logOut, nameOf } from './session.js'

/**
 * @typedef {import('./entry.js').Way} Way
 * @typedef {import('#api').components['schemas']['Start']} Start
 */

/** @param {Way} way */
export const newOrganisation = way => later(() => ifSignedIn(way.requests.start()), found => {
  if (!found) return card({ title: t('entry.first_title'), lead: t('entry.first_signed_out') }, mainLink('/sign-in?next=/new-organisation', t('entry.sign_in')))
  // The account's current organisation may be one that they have lost.
  return found.organisations.length > 0 ? asMember(way, found) : asNobodysMember(way, found)
})

/** @param {Way} way @param {Start} found */
function asMember(way, { can_create_organisations: may }) {
  const back = below(to('/', t('entry.another_back')))
  if (may) return card({ title: t('entry.another_title') }, make(way), back)
  return card({ title: t('entry.another_title'), lead: t('entry.founding_restricted') }, back)
}

/** @param {Way} way @param {Start} found */
function asNobodysMember(way, { user, can_create_organisations: may }) {
  const { requests, route, arrive, go } = way
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
  const name = h('bdi', null, nameOf(user))
  const address = h('bdi', null, user.email)
  const isGone = route.query.has('gone')
  const lead = isGone ? rich('entry.gone_lead', { name }) : rich(may ? 'entry.first_lead' : 'entry.alone_lead', { name })
  return card({ title: may && !isGone ? t('entry.first_title') : t('entry.alone_title'), lead },
    may && make(way),
    h('section', { class: may ? 'entry-apart' : 'entry-ways' },
      h('h2', null, may ? t('entry.first_wait_title') : t('entry.alone_ways')),
      may
        ? h('p', { class: 'quiet' }, rich('entry.first_wait', { address }))
        : h('ul', null, h('li', null, t('entry.alone_open')), h('li', null, rich('entry.alone_ask', { address }))),
      below(
        form({ class: 'entry-quiet-form', children: [], button: t('entry.first_look'), submit: look }),
        form({ class: 'entry-quiet-form', children: [], button: t('entry.sign_out'), submit: leave })),
      h('p', { role: 'status', class: 'small' }, () => found.value)))
}

/** @param {Way} way */
const make = ({ requests, arrive }) => form({
  children: [organisationName(t('entry.organisation_hint'))],
  button: t('entry.first_button'),
  submit: async values => {
    const { data } = await requests.createOrganisation({ name: value(values, 'organisation') })
    await arrive(`/o/${data.organisation_slug}`)
  },
})
