// Days and times in the language and the zone of whoever reads. Reading them subscribes the reader to the language, and to the day
// where they say "today".

import { signal } from '../base/signal.js'
import { locale, t } from './words.js'

/** A day's check also finds midnight after the machine has slept through it. */
const CHECK_MS = 10 * 60_000

/** When the reader's day began. */
const today = signal(startOfDay(new Date()))
/** @type {ReturnType<typeof setTimeout> | undefined} */
let timer

/** Looks whether another day has begun: at midnight, and whenever a page is shown again. */
export function checkDay() {
  clearTimeout(timer)
  const now = new Date()
  today.value = startOfDay(now)
  const midnight = new Date(now.getFullYear(), now.getMonth(), now.getDate() + 1).getTime()
  timer = setTimeout(checkDay, Math.min(midnight - now.getTime() + 50, CHECK_MS))
  // In node it is an object, and the tests need not wait for it.
  const { unref } = /** @type {{ unref?: () => void }} */ (/** @type {unknown} */ (timer))
  unref?.call(timer)
}

/** @param {Date} date */
function startOfDay(date) {
  return new Date(date.getFullYear(), date.getMonth(), date.getDate()).getTime()
}

/** How many days ago a day was; negative in the future. @param {Date} date */
function daysAgo(date) {
  if (timer === undefined) checkDay()
  return Math.round((today.value - startOfDay(date)) / 86_400_000)
}

/** @type {Map<string, Intl.DateTimeFormat>} */
const formats = new Map()

/** @param {Intl.DateTimeFormatOptions} options */
function formatter(options) {
  const key = `${locale.value} ${JSON.stringify(options)}`
  let found = formats.get(key)
  if (!found) formats.set(key, found = new Intl.DateTimeFormat(locale.peek(), options))
  return found
}

/**
 * @param {Date} date
 * @param {Intl.DateTimeFormatOptions} options
 */
const format = (date, options) => formatter(options).format(date)

/** "09:04", but "9:04 AM" where a day has twice twelve hours. @returns {Intl.DateTimeFormatOptions} */
const time = () => ({ hour: formatter({ hour: 'numeric' }).resolvedOptions().hour12 ? 'numeric' : '2-digit', minute: '2-digit' })

/** The moment, unless it is the API's "never": year 1. @param {string} iso */
const moment = iso => {
  const date = new Date(iso)
  return date.getTime() > 0 ? date : null
}

/** Whether two moments are of one day of the reader. @param {string} a @param {string} b */
export const isSameDay = (a, b) => startOfDay(new Date(a)) === startOfDay(new Date(b))

/** "09:04" or "9:04 AM", as the language does. @param {string} iso */
export const timeOf = iso => short(moment(iso), time())

/** "09:04" today, "18 Nov, 09:04" on another day, with the year if it is another. @param {string} iso */
export function dayAndTimeOf(iso) {
  const date = moment(iso)
  return date && daysAgo(date) !== 0 ? format(date, { day: 'numeric', month: 'short', ...year(date), ...time() }) : timeOf(iso)
}

/** The time without its half of the day, where there is room for no more. @param {string} iso */
export function clockOf(iso) {
  const date = moment(iso)
  const parts = date ? formatter(time()).formatToParts(date) : []
  return parts.filter(({ type }) => type !== 'dayPeriod').map(({ value }) => value).join('').trim()
}

/** "Tuesday, 24 November 2026 at 09:04:12": the title of a time. @param {string} iso */
export const fullTime = iso => short(moment(iso), { dateStyle: 'full', timeStyle: 'medium' })

/** "24 Nov 2026". @param {string} iso */
export const dateOf = iso => short(moment(iso), { dateStyle: 'medium' })

/** @param {Date | null} date @param {Intl.DateTimeFormatOptions} options */
const short = (date, options) => (date ? format(date, options) : '')

/** The line between days: "Today", "Yesterday", "Monday", "Monday, 3 November", with the year if it is another. @param {string} iso */
export function dayLine(iso) {
  const date = moment(iso)
  if (!date) return ''
  const ago = daysAgo(date)
  if (ago === 0) return t('common.today')
  if (ago === 1) return t('common.yesterday')
  return format(date, ago > 1 && ago < 7 ? { weekday: 'long' } : { weekday: 'long', day: 'numeric', month: 'long', ...year(date) })
}

/** When something was last: "09:04", "yesterday 09:04", "Mon 09:04", "3 Nov", "3 Nov 2025". @param {string} iso */
export function ago(iso) {
  const date = moment(iso)
  if (!date) return ''
  const days = daysAgo(date)
  if (days === 0) return t('common.todayAt', { time: timeOf(iso) })
  if (days === 1) return t('common.yesterdayAt', { time: timeOf(iso) })
  if (days > 1 && days < 7) return format(date, { weekday: 'short', ...time() })
  return format(date, { day: 'numeric', month: 'short', ...year(date) })
}

/** @param {Date} date @returns {Intl.DateTimeFormatOptions} */
const year = date => (date.getFullYear() === new Date().getFullYear() ? {} : { year: 'numeric' })
