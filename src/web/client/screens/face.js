// How people are shown: their picture, or their initials on a colour made from their id; and their names.

import { t } from '../text/words.js'
import { h } from '../view/element.js'

/** @typedef {import('../store/people.js').Status} Status */
/** @typedef {{ user_id?: string, full_name?: string, username?: string, avatar_url?: string, user_type?: string, custom_status?: Status | null }} Person */

/**
 * The name of a person as others read it.
 *
 * @param {Person | null | undefined} person
 */
export const nameOf = person => person?.full_name?.trim() || person?.username || t('common.unknownPerson')

/**
 * @param {Person | null | undefined} person
 */
export const name = person => h('bdi', null, nameOf(person))

/** The mark of a bot beside its name. @param {Person | null | undefined} person */
export const mark = person => person?.user_type === 'bot' && h('span', { class: 'tag' }, t('common.bot'))

/**
 * A colour for an id: the same everywhere, and spread over the circle.
 *
 * @param {string} id
 */
export function hue(id) {
  let sum = 0
  for (const sign of id) sum = (sum * 31 + (sign.codePointAt(0) ?? 0)) % 360_007
  return sum % 360
}

/** @param {string} text The first letters of the first and the last word. */
export function initials(text) {
  const words = text.split(/[\s._-]+/).filter(Boolean)
  const first = (/** @type {string | undefined} */ word) => word ? [...word][0].toLocaleUpperCase() : ''
  return first(words[0]) + (words.length > 1 ? first(words[words.length - 1]) : '')
}

/**
 * @param {Person | null | undefined} person
 * @param {{ tiny?: boolean, large?: boolean }} [options]
 */
export const face = (person, options = {}) =>
  badge(person?.user_id || person?.username || '', nameOf(person), { ...options, picture: person?.avatar_url })

/** Where a picture lies on this server. What an address names elsewhere is never loaded. @param {string} address @param {boolean} isSmall */
function ownAddress(address, isSmall) {
  const [, id] = /\/api\/v1\/faces\/([0-9a-f-]{36})$/.exec(address) ?? []
  return id && `/api/v1/faces/${id}${isSmall ? '?size=small' : ''}`
}

/** The picture over the initials, which stay if it can't be had. @param {string} src */
const shown = src => h('img', {
  src, alt: '', loading: 'lazy',
  onload: (/** @type {Event} */ { target }) => /** @type {HTMLElement} */ (target).classList.add('there'),
  onerror: (/** @type {Event} */ { target }) => /** @type {HTMLElement} */ (target).remove(),
})

/**
 * @param {string} id
 * @param {string} text
 * @param {{ tiny?: boolean, large?: boolean, picture?: string }} [options]
 */
export function badge(id, text, { tiny = false, large = false, picture = '' } = {}) {
  // 64 pixels, for faces of up to 36.
  const src = ownAddress(picture, !large && (tiny || devicePixelRatio <= 1))
  return h('span', { class: tiny ? 'face tiny' : 'face', style: { '--hue': hue(id) }, 'aria-hidden': 'true' }, initials(text), src && shown(src))
}
