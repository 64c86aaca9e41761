// Links that work once, or for a time. Opening one uses nothing up; what can't work any more says so before anything else.

import { t } from '../../text/words.js'
import { card, later, mainLink } from './frame.js'
import { rememberedNext, withNext } from './memory.js'
import { isRefused } from './session.js'

/**
 * @typedef {import('./entry.js').Way} Way
 * @typedef {import('../../view/element.js').Child} Child
 * @typedef {import('#api').components['schemas']['LinkPurpose']} Purpose
 * @typedef {import('#api').components['schemas']['LinkStatus'] | 'unknown'} Status
 */

/**
 * Shows a page if the link works.
 *
 * @param {Way} way
 * @param {Purpose} purpose
 * @param {(token: string) => Child} make
 * @param {object} [options]
 * @param {string} [options.parameter] Where the address has the token.
 * @param {(status: Status) => Child} [options.instead] What stands there if it doesn't work.
 */
export function checked({ requests, route }, purpose, make, { parameter = 'token', instead = status => over(purpose, status) } = {}) {
  const token = route.query.get(parameter) ?? ''
  /** @returns {Promise<Status>} */
  const status = async () => {
    if (!token) return 'unknown'
    try {
      const { data } = await requests.checkLink({ token })
      return data.purpose === purpose ? data.status : 'unknown'
    } catch (error) {
      if (isRefused(error, 'link_not_found', 'link_invalid', 'invalid_value', 'too_long', 'invalid_characters')) return 'unknown'
      throw error
    }
  }
  return later(status, found => (found === 'open' ? make(token) : instead(found)))
}

/** @param {Status} status */
export function overTitle(status) {
  if (status === 'used') return t('entry.link_used')
  if (status === 'expired') return t('entry.link_expired')
  if (status === 'void') return t('entry.link_void')
  return t('entry.link_unknown')
}

/**
 * @param {Purpose} purpose
 * @param {Status} status
 */
export const over = (purpose, status) => {
  const title = overTitle(status)
  const signIn = mainLink('/sign-in', t('entry.sign_in'))
  if (purpose === 'magic_link') return card({ title, lead: t('entry.over_magic_link') }, mainLink(withNext('/sign-in/mail', rememberedNext()), t('entry.new_mail')))
  if (purpose === 'password_reset') return card({ title, lead: t('entry.over_reset') }, mainLink(withNext('/forgotten-password', rememberedNext()), t('entry.new_mail')))
  if (purpose === 'setup') return card({ title, lead: t('entry.over_setup') }, signIn)
  if (purpose === 'join_link') return card({ title, lead: t('entry.over_join') }, signIn)
  return card({ title, lead: t('entry.over_invitation') }, signIn)
}
