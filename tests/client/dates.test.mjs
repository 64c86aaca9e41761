// Days and times, in the zone and the language of the reader.
process.env.TZ = 'Europe/Berlin'

import assert from 'node:assert/strict'
import test from 'node:test'

test('days and times are those of the reader, and change at midnight', async t => {
  // Summer time ends in the night of October 25: its day has 25 hours.
  t.mock.timers.enable({ apis: ['Date', 'setTimeout'], now: new Date('2026-10-26T22:58:00Z') })
  const { loadWords, preferredLanguage, setLanguage } = await import('../../src/web/client/text/words.js')
  const { ago, dayAndTimeOf, dayLine, clockOf, isSameDay, timeOf, fullTime } = await import('../../src/web/client/text/dates.js')
  await loadWords('common')
  preferredLanguage('en', ['en-GB'])
  await setLanguage('en')

  assert.equal(dayLine('2026-10-26T22:00:00Z'), 'Today')
  assert.equal(dayLine('2026-10-25T22:59:00Z'), 'Yesterday', 'a minute before midnight there')
  assert.equal(dayLine('2026-10-24T22:00:00Z'), 'Yesterday', 'the first minute of a day of 25 hours')
  assert.equal(dayLine('2026-10-24T21:59:00Z'), 'Saturday')
  assert.equal(dayLine('2026-10-19T12:00:00Z'), 'Monday 19 October')
  assert.equal(dayLine('2025-12-31T23:30:00Z'), 'Thursday 1 January')
  assert.match(dayLine('2025-12-31T22:30:00Z'), /^Wednesday,? 31 December 2025$/)
  assert.equal(dayLine('2026-10-28T12:00:00Z'), 'Wednesday 28 October', 'a clock that is behind')
  assert.equal(dayLine('0001-01-01T00:00:00Z'), '', 'never')
  assert.ok(isSameDay('2026-10-24T22:00:00Z', '2026-10-25T22:59:00Z'))
  assert.ok(!isSameDay('2026-10-24T21:59:00Z', '2026-10-24T22:00:00Z'))
  assert.equal(timeOf('2026-10-26T08:04:00Z'), '09:04')
  assert.equal(clockOf('2026-10-26T08:04:00Z'), '09:04')
  assert.equal(ago('2026-10-26T08:04:00Z'), 'today 09:04')
  assert.equal(ago('2026-10-25T08:04:00Z'), 'yesterday 09:04')
  assert.equal(ago('2026-10-22T08:04:00Z'), 'Thu 10:04')
  assert.equal(ago('2026-10-01T08:04:00Z'), '1 Oct')
  assert.equal(ago('2025-10-01T08:04:00Z'), '1 Oct 2025')
  assert.equal(ago('0001-01-01T00:00:00Z'), '')
  assert.equal(dayAndTimeOf('2026-10-26T08:04:00Z'), '09:04')
  assert.equal(dayAndTimeOf('2026-10-25T08:04:00Z'), '25 Oct, 09:04')
  assert.equal(dayAndTimeOf('2025-10-01T08:04:00Z'), '1 Oct 2025, 10:04')
  assert.equal(dayAndTimeOf('0001-01-01T00:00:00Z'), '')
  assert.match(fullTime('2026-10-26T08:04:09Z'), /^Monday,? 26 October 2026 at 09:04:09$/)

  await setLanguage('de')
  assert.equal(dayLine('2026-10-19T12:00:00Z'), 'Montag, 19. Oktober')
  assert.equal(ago('2026-10-25T08:04:00Z'), 'gestern 09:04')

  await setLanguage('en')
  preferredLanguage('en', ['en-US'])
  await setLanguage('de')
  await setLanguage('en')
  assert.match(timeOf('2026-10-26T08:04:00Z'), /^9:04.AM$/, 'as in the region of the browser')
  assert.equal(clockOf('2026-10-26T20:04:00Z'), '9:04')

  // At midnight today becomes yesterday, for what is shown already.
  const { effect } = await import('../../src/web/client/base/signal.js')
  const lines = []
  const end = effect(() => {
    lines.push(dayLine('2026-10-26T12:00:00Z'))
  })
  t.mock.timers.tick(60_000)
  assert.deepEqual(lines, ['Today'])
  t.mock.timers.tick(61_000)
  assert.deepEqual(lines, ['Today', 'Yesterday'])
  end()
})
