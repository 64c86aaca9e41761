// Says what was refused in the words of people: by its `code`, with the bound and the time that the answer tells.

import { size } from './sizes.js'
import { hasText, language, t } from './words.js'

/**
 * What a refusal of the API tells. It is known by its form, since this file may also explain those that a page kept.
 *
 * @typedef {object} Told
 * @property {string} code
 * @property {number} [limit]
 * @property {number} [retryAfter] Seconds.
 * @property {{ field: string, code: string, limit?: number }[]} [fields]
 * @property {string} [message] The server's own words, in English.
 */

/**
 * Why something failed, for people. The areas `common` and `refusals` have to be loaded.
 *
 * @param {unknown} error A refusal, an `Unreachable`, or whatever else was thrown.
 * @returns {string}
 */
export function refusalText(error) {
  if (!(error instanceof Error) && !isTold(error)) return t('common.unexpected')
  const told = /** @type {Partial<Told> & { name?: string }} */ (error)
  if (told.name === 'Unreachable') return t('common.unreachable')
  return isTold(told) ? codeText(told.code, told) ?? told.message ?? t('common.unexpected') : t('common.unexpected')
}

/** @param {unknown} value @returns {value is Told} */
const isTold = value => typeof /** @type {{ code?: unknown } | null} */ (value)?.code === 'string'

/**
 * The words for a code, as answers to requests about several things list one for each.
 *
 * @param {string} code
 * @param {{ limit?: number, retryAfter?: number, fields?: { limit?: number }[] }} [told]
 * @returns {string | null} `null` for a code that this client does not know.
 */
export function codeText(code, told = {}) {
  const key = `refusals.${code}`
  if (code === 'soon' || !hasText(key)) return null
  const limit = told.limit ?? told.fields?.[0]?.limit
  const words = t(key, {
    after: told.retryAfter == null ? t('refusals.soon') : after(told.retryAfter),
    count: limit ?? 0,
    ...(limit != null && { limit: code === 'body_too_large' ? size(limit) : limit }),
  })
  return words.includes('{limit}') ? t('refusals.invalid_value') : words
}

/**
 * "in 30 seconds", "in 5 minutes", "in 2 hours": rounded up, so that nobody comes too early.
 *
 * @param {number} seconds
 */
function after(seconds) {
  const words = new Intl.RelativeTimeFormat(language.value)
  if (seconds < 90) return words.format(Math.max(1, Math.ceil(seconds)), 'second')
  return seconds < 5400 ? words.format(Math.ceil(seconds / 60), 'minute') : words.format(Math.ceil(seconds / 3600), 'hour')
}
