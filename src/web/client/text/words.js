// The words that people see. They lie in `texts/<language>/<area>.js`, one flat object a file, and are named `area.key`.
//
// A text may hold `{name}` for a value and `<name>…</name>` for a part that `rich` turns into a node. An object of texts is chosen
// from by the value `count`: by its plural form in the language, or by the number itself (`{ 0: 'nobody', one: …, other: … }`).

import { computed, signal } from '../base/signal.js'

/** @typedef {string | { other: string, [form: string]: string }} Text */
/** @typedef {Record<string, Text>} Area */
/** @typedef {string | number | Date | readonly string[] | null | undefined} Value */

/** The languages there are, each with its own name, as somebody who reads no other would look for it. */
export const LANGUAGES = /** @type {const} */ ({
  en: { name: 'English', direction: 'ltr' },
  de: { name: 'Deutsch', direction: 'ltr' },
  he: { name: 'עברית', direction: 'rtl' },
})

/** @typedef {keyof typeof LANGUAGES} Language */

/** Areas that each page needs: they come in one file of the language, `first.js`, which the page names. */
const FIRST = new Set(['chat', 'common', 'refusals', 'talk'])

const current = signal(/** @type {{ language: Language, areas: Map<string, Area> }} */ ({ language: 'en', areas: new Map() }))
/** Areas that were asked for, which another language needs as well. @type {Set<string>} */
const wanted = new Set(['common'])
/** @type {(language: Language, direction: 'ltr' | 'rtl') => void} */
let tell = () => {}
let changes = 0
/** The browser's languages, which also tell the region. @type {readonly string[]} */
let regions = []

/** The language that is shown. @type {import('../base/signal.js').Computed<Language>} */
export const language = computed(() => current.value.language)
/** @type {import('../base/signal.js').Computed<'ltr' | 'rtl'>} */
export const direction = computed(() => LANGUAGES[current.value.language].direction)

/**
 * The language as days and numbers are written in it: in the region of the browser, if that speaks the language.
 *
 * @type {import('../base/signal.js').Computed<string>}
 */
export const locale = computed(() => regions.find(each => each.split('-')[0] === current.value.language) ?? current.value.language)

/** @param {unknown} name @returns {name is Language} */
const isLanguage = name => typeof name === 'string' && Object.hasOwn(LANGUAGES, name)

/**
 * The language to begin with: the one that the person chose, else the first of the browser's that there is, else English.
 *
 * @param {string | null | undefined} chosen
 * @param {readonly string[]} preferred Such as `navigator.languages`.
 * @returns {Language}
 */
export function preferredLanguage(chosen, preferred) {
  regions = preferred
  const found = [chosen, ...preferred].map(each => each?.toLowerCase().split('-')[0]).find(isLanguage)
  return found ?? 'en'
}

/** @param {typeof tell} told Called with each language that is set, for `lang` and `dir` of the page. */
export const followLanguage = told => {
  tell = told
}

/**
 * @param {Language} name
 * @param {string} area
 * @returns {Promise<[string, Area]>}
 */
const load = async (name, area) => [area, FIRST.has(area)
  ? (await import(`../texts/${name}/first.js`)).areas[area]
  : (await import(`../texts/${name}/${area}.js`)).default]

/**
 * Loads areas in the language that is set. A screen's words have to be there before it is shown.
 *
 * @param {...string} areas
 */
export async function loadWords(...areas) {
  for (const area of areas) wanted.add(area)
  const missing = [...wanted].filter(area => !current.peek().areas.has(area))
  if (missing.length === 0) return
  const name = current.peek().language
  const loaded = await Promise.all(missing.map(area => load(name, area)))
  const now = current.peek()
  if (now.language === name) current.value = { language: name, areas: new Map([...now.areas, ...loaded]) }
  else await loadWords(...areas)
}

/**
 * Sets the language, once all areas that were asked for are there in it. The last call wins.
 *
 * @param {string} name Any that there isn't becomes English.
 * @param {...string} areas Are asked for with it.
 */
export async function setLanguage(name, ...areas) {
  for (const area of areas) wanted.add(area)
  const next = isLanguage(name) ? name : 'en'
  const change = changes += 1
  const loaded = await Promise.all([...wanted].map(area => load(next, area)))
  if (change !== changes) return
  current.value = { language: next, areas: new Map(loaded) }
  tell(next, LANGUAGES[next].direction)
}

/**
 * A text with its values. Reading it subscribes the reader to the language.
 *
 * @param {string} key Written out where it is used, as a test looks for it: `chat.newest`.
 * @param {Record<string, Value>} [values] Numbers, days and lists are written as the language does.
 * @returns {string}
 */
export const t = (key, values = {}) =>
  template(key, values).replace(/\{(\w+)\}/g, (whole, name) => (Object.hasOwn(values, name) ? written(values[name]) : whole))

/**
 * A text whose values may be nodes: a list for `h`. A function gets the words between `<name>` and `</name>`.
 *
 * @template T
 * @param {string} key
 * @param {Record<string, T | Value | ((words: string) => T)>} values
 * @returns {(T | string)[]}
 */
export function rich(key, values) {
  /** @type {(T | string)[]} */
  const parts = []
  let from = 0
  const text = template(key, values)
  for (const match of text.matchAll(/\{(\w+)\}|<(\w+)>(.*?)<\/\2>/g)) {
    const [whole, plain, around, words] = match
    const value = values[plain ?? around]
    if (match.index > from) parts.push(text.slice(from, match.index))
    if (typeof value === 'function') parts.push(/** @type {(words: string) => T} */ (value)(words ?? ''))
    else if (isNode(value)) parts.push(/** @type {T} */ (value))
    else parts.push(around ? words : Object.hasOwn(values, plain) ? written(/** @type {Value} */ (value)) : whole)
    from = match.index + whole.length
  }
  if (from < text.length) parts.push(text.slice(from))
  return parts
}

/** @param {unknown} value */
const isNode = value =>
  typeof value === 'object' && value !== null && !(value instanceof Date) && !(Array.isArray(value) && typeof value[0] === 'string')

/** Whether there is such a text in the language that is set. @param {string} key */
export const hasText = key => find(key) !== undefined

/** @param {string} key */
function find(key) {
  const dot = key.indexOf('.')
  const area = current.value.areas.get(key.slice(0, dot))
  const name = key.slice(dot + 1)
  return area && Object.hasOwn(area, name) ? area[name] : undefined
}

/**
 * @param {string} key
 * @param {Record<string, unknown>} values
 * @returns {string} The key itself if there is no text: a test finds those before people do.
 */
function template(key, values) {
  const text = find(key)
  if (text === undefined || typeof text === 'string') return text ?? key
  const count = Number(values.count ?? 0)
  return text[count] ?? text[new Intl.PluralRules(current.peek().language).select(count)] ?? text.other
}

/** @param {Value} value */
function written(value) {
  if (typeof value === 'number') return number(value)
  if (value instanceof Date) return value.toLocaleDateString(locale.value, { dateStyle: 'long' })
  if (value == null) return ''
  return typeof value === 'string' ? isolated(value) : listed(value)
}

/** @param {number} value @param {Intl.NumberFormatOptions} [options] */
export const number = (value, options) => new Intl.NumberFormat(locale.value, options).format(value)

/** `Ann, Ben and Cleo`. @param {readonly string[]} items */
export const listed = items => new Intl.ListFormat(language.value, { type: 'conjunction' }).format(items.map(isolated))

/**
 * Keeps the order of a sentence when a value in it runs the other way: between the two signs that isolate it.
 *
 * @param {string} value
 */
const isolated = value => {
  const turns = direction.value === 'rtl' ? /[A-Za-z\d]/ : /[\u0590-\u08ff\ufb1d-\ufefc]/
  return turns.test(value) ? `\u2068${value}\u2069` : value
}
