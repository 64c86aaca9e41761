// Times to come, as people write them in a line: `20m`, `1h30m`, `14:30`, `2pm`, `tomorrow 9:00`, `monday`, `2026-12-24 18:00`.

import { locale, t } from './words.js'

const MINUTE_MS = 60_000
const UNITS = { m: MINUTE_MS, h: 60 * MINUTE_MS, d: 24 * 60 * MINUTE_MS, w: 7 * 24 * 60 * MINUTE_MS }
/** When a day is named without a time. */
const MORNING = { hour: 9, minute: 0 }

/**
 * The moment that a line begins with, and the rest of the line; nothing if it begins with none, or with one that has passed.
 *
 * @param {string} line
 * @param {Date} [now]
 * @returns {{ moment: Date, rest: string } | null}
 */
export function momentIn(line, now = new Date()) {
  const found = inSpan(line, now) ?? onDay(line, now) ?? atTime(line, now)
  return found && found.moment > now ? found : null
}

/** @param {string} line @param {Date} now */
function inSpan(line, now) {
  const [written] = /^(?:\d{1,4}[mhdw])+(?=\s|$)/i.exec(line) ?? []
  if (!written) return null
  const parts = [...written.matchAll(/(\d+)([mhdw])/gi)]
  const span = parts.reduce((sum, [, count, unit]) => sum + Number(count) * UNITS[/** @type {keyof UNITS} */ (unit.toLowerCase())], 0)
  return { moment: new Date(now.getTime() + span), rest: line.slice(written.length).trim() }
}

/** @param {string} line @param {Date} now */
function onDay(line, now) {
  const [written] = /^\S+/.exec(line) ?? []
  const date = written && dateOf(written.toLocaleLowerCase(locale.peek()), now)
  if (!date) return null
  const rest = line.slice(written.length).trim()
  const time = timeIn(rest)
  return { moment: on(date, time?.time ?? MORNING), rest: time?.rest ?? rest }
}

/** The next such time, today or tomorrow. @param {string} line @param {Date} now */
function atTime(line, now) {
  const found = timeIn(line)
  if (!found) return null
  const moment = on(now, found.time)
  return { moment: moment > now ? moment : on(after(now, 1), found.time), rest: found.rest }
}

/** @param {string} word @param {Date} now */
function dateOf(word, now) {
  const [, year, month, day] = /^(\d{4})-(\d\d)-(\d\d)$/.exec(word) ?? []
  if (year) return new Date(Number(year), Number(month) - 1, Number(day))
  if (word === t('chat.tomorrow').toLocaleLowerCase(locale.peek())) return after(now, 1)
  const name = new Intl.DateTimeFormat(locale.peek(), { weekday: 'long' })
  const ahead = [1, 2, 3, 4, 5, 6, 7].map(days => after(now, days))
  return ahead.find(date => name.format(date).toLocaleLowerCase(locale.peek()) === word) ?? null
}

/** @param {string} line */
function timeIn(line) {
  const [written, hours, minutes, half] = /^(\d{1,2})(?::(\d\d))?\s?([ap]m)?(?=\s|$)/i.exec(line) ?? []
  if (!written || !(minutes || half)) return null
  const [hour, minute] = [Number(hours), Number(minutes ?? 0)]
  if (hour > (half ? 12 : 23) || minute > 59 || (half && hour === 0)) return null
  const of24 = half ? hour % 12 + (half.toLowerCase() === 'pm' ? 12 : 0) : hour
  return { time: { hour: of24, minute }, rest: line.slice(written.length).trim() }
}

/** @param {Date} date @param {number} days */
export const after = (date, days) => new Date(date.getFullYear(), date.getMonth(), date.getDate() + days)

/** @param {Date} date @param {{ hour: number, minute: number }} [time] */
export const on = (date, { hour, minute } = MORNING) => new Date(date.getFullYear(), date.getMonth(), date.getDate(), hour, minute)
