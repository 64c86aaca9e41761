// Times to come, as people write them in a line: `20m`, `1h30m`, `14:30`, `2pm`, `tomorrow 9:00`, `monday`, `2026-12-24 18:00`.

import { locale, t } from './words.js'

const MINUTE_MS = 60_000
const UNITS = { m: MINUTE_MS, h: 60 * MINUTE_MS, d: 24 * 60 * MINUTE_MS, w: 7 * 24 * 60 * MINUTE_MS }
/** The server takes no later ones. */
const LAST_YEAR = 9999
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
  return found && found.moment > now && found.moment.getFullYear() < LAST_YEAR ? found : null
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
  const day = dateIn(line, now) ?? namedDayIn(line, now)
  if (!day) return null
  // "tomorrow at 9:00"
  const rest = after(day.rest, t('chat.atTime')) ?? day.rest
  const time = timeIn(rest)
  if (!time && /^\d{1,2}:/.test(rest)) return null
  return time ? { moment: on(day.date, time.time), rest: time.rest } : { moment: on(day.date), rest: day.rest }
}

/** The next such time, today or tomorrow. @param {string} line @param {Date} now */
function atTime(line, now) {
  const found = timeIn(line)
  if (!found) return null
  const moment = on(now, found.time)
  return { moment: moment > now ? moment : on(daysAhead(now, 1), found.time), rest: found.rest }
}

/** @param {string} line @param {Date} now */
function dateIn(line, now) {
  const [written, year, month, day] = /^(\d{4})-(\d\d)-(\d\d)(?=\s|$)/.exec(line) ?? []
  if (!written) return null
  const date = new Date(Number(year), Number(month) - 1, Number(day))
  return date.getDate() === Number(day) && date.getMonth() === Number(month) - 1 ? { date, rest: line.slice(written.length).trim() } : null
}

/** Today, tomorrow, or the next day of this name. @param {string} line @param {Date} now */
function namedDayIn(line, now) {
  const format = new Intl.DateTimeFormat(locale.peek(), { weekday: 'long' })
  const named = [{ name: t('common.today'), days: 0 }, { name: t('chat.tomorrow'), days: 1 }, ...[1, 2, 3, 4, 5, 6, 7].flatMap(days => {
    const name = format.format(daysAhead(now, days))
    // In Hebrew a day's name begins with the word "day".
    return [{ name, days }, { name: name.split(' ').at(-1) ?? name, days }]
  })]
  for (const { name, days } of named) {
    const rest = after(line, name)
    if (rest !== null) return { date: daysAhead(now, days), rest }
  }
  return null
}

/** What follows a word that a line begins with, in small or capital letters; null if it doesn't. @param {string} line @param {string} word */
function after(line, word) {
  const begins = line.slice(0, word.length).toLocaleLowerCase(locale.peek()) === word.toLocaleLowerCase(locale.peek())
  const rest = line.slice(word.length)
  return begins && /^(\s|$)/.test(rest) ? rest.trim() : null
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

/** @param {number} minutes @param {Date} [now] */
export const inMinutes = (minutes, now = new Date()) => new Date(now.getTime() + minutes * MINUTE_MS)

/** The beginning of a later day. @param {Date} date @param {number} days */
export const daysAhead = (date, days) => new Date(date.getFullYear(), date.getMonth(), date.getDate() + days)

/** A time of a day; in the morning if none is named. @param {Date} date @param {{ hour: number, minute: number }} [time] */
export const on = (date, { hour, minute } = MORNING) => new Date(date.getFullYear(), date.getMonth(), date.getDate(), hour, minute)
