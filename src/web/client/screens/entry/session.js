// Sessions by cookie: who this browser is signed in as, and signing in.

import { Refusal } from '../../net/request.js'
import { forgetLastVisit } from '../../store/kept.js'
import { rememberAddress } from './memory.js'

/**
 * @typedef {import('./entry.js').Requests} Requests
 * @typedef {import('#api').components['schemas']['User']} User
 */

/**
 * @param {unknown} error
 * @param {...string} codes
 * @returns {error is Refusal}
 */
export const isRefused = (error, ...codes) => error instanceof Refusal && codes.includes(error.code)

/**
 * What a request answers; null if nobody is signed in.
 *
 * @template T
 * @param {Promise<{ data: T }>} asked
 * @returns {Promise<T | null>}
 */
export async function ifSignedIn(asked) {
  try {
    return (await asked).data
  } catch (error) {
    if (error instanceof Refusal && error.status === 401) return null
    throw error
  }
}

/**
 * Whose session this browser has, if any.
 *
 * @param {Requests} requests
 * @returns {Promise<User | null>}
 */
export const whoIsHere = requests => ifSignedIn(requests.getProfile())

/**
 * Leads somebody who is in the link's organisation already straight into it.
 *
 * @param {import('./entry.js').Way} way
 * @returns {Promise<boolean>} Whether it did.
 */
export async function enterAsMember({ requests, route, arrive }) {
  const id = route.query.get('org_id')
  if (!id || !await whoIsHere(requests)) return false
  const { data } = await requests.listOwnOrganisations()
  const own = data.find((/** @type {{ id: string }} */ each) => each.id === id)
  if (own) await arrive(`/o/${own.organisation_slug}`)
  return Boolean(own)
}

/**
 * @param {Requests} requests
 * @param {string} email
 * @param {string} password
 */
export async function logIn(requests, email, password) {
  rememberAddress(email)
  const { data } = await requests.logIn({ email, password, cookie: true })
  return data.user
}

/** Ends this browser's session. The talk that it has kept goes with it. @param {Requests} requests */
export async function logOut(requests) {
  await requests.logOut()
  await forgetLastVisit()
}

/** What to call somebody. @param {User} user */
export const nameOf = user => user.fullname || user.username
