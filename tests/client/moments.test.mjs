// Times to come, as people write them.
process.env.TZ = 'Europe/Berlin'

import assert from 'node:assert/strict'
import test from 'node:test'
import { loadWords, preferredLanguage, setLanguage } from '../../src/web/client/text/words.js'
import { momentIn } from '../../src/web/client/text/moments.js'

// A Friday. Winter time began on October 25.
const NOW = new Date('2026-11-27T13:30:00Z')
const local = moment => moment.toLocaleString('sv-SE').slice(0, 16)

async function speak(name, region) {
  await loadWords('chat')
  await loadWords('common')
  preferredLanguage(name, [region])
  await setLanguage(name)
}

test('what a line begins with', async t => {
  await speak('en', 'en-GB')
  for (const [line, when, rest] of [
    ['20m Call Ada', '2026-11-27 14:50', 'Call Ada'],
    ['1h30m tea', '2026-11-27 16:00', 'tea'],
    ['2D back up', '2026-11-29 14:30', 'back up'],
    ['1w  report ', '2026-12-04 14:30', 'report'],
    ['14:31 tea', '2026-11-27 14:31', 'tea'],
    ['14:30 tea', '2026-11-28 14:30', 'tea'],
    ['9:00 stand-up', '2026-11-28 09:00', 'stand-up'],
    ['2pm lunch', '2026-11-28 14:00', 'lunch'],
    ['12am new year', '2026-11-28 00:00', 'new year'],
    ['4:15 PM tea', '2026-11-27 16:15', 'tea'],
    ['tomorrow Call Ada', '2026-11-28 09:00', 'Call Ada'],
    ['Tomorrow 17:45 Call Ada', '2026-11-28 17:45', 'Call Ada'],
    ['tomorrow at 17:45 Call Ada', '2026-11-28 17:45', 'Call Ada'],
    ['tomorrow at the office', '2026-11-28 09:00', 'at the office'],
    ['today 18:00 tea', '2026-11-27 18:00', 'tea'],
    ['monday plan the week', '2026-11-30 09:00', 'plan the week'],
    ['Friday 10:00 review', '2026-12-04 10:00', 'review'],
    ['2026-12-24 18:00 presents', '2026-12-24 18:00', 'presents'],
    ['2027-03-28 summer time', '2027-03-28 09:00', 'summer time'],
  ]) {
    const found = momentIn(line, NOW)
    assert.ok(found, line)
    assert.deepEqual([local(found.moment), found.rest], [when, rest], line)
  }
})

test('what says no time, or one that has passed', async () => {
  await speak('en', 'en-GB')
  for (const line of ['', 'Call Ada', 'me to call', '20 minutes', '20x tea', '24:00 tea', '13pm tea', '0am tea', '9 tea', '2026-11-26 late', '2027-02-31 tea', '2026-13-45 tea', '9999-12-31 tea', `${'9999w'.repeat(42)} tea`, 'tomorrow 25:00 tea', 'today tea', '14:3 tea', '0m now']) {
    assert.equal(momentIn(line, NOW), null, line)
  }
})

test('days are named in the language of the reader', async () => {
  await speak('de', 'de-DE')
  assert.equal(local(momentIn('morgen 8:15 Tee', NOW).moment), '2026-11-28 08:15')
  assert.equal(local(momentIn('Dienstag Tee', NOW).moment), '2026-12-01 09:00')
  assert.equal(local(momentIn('Morgen um 8:15 Tee', NOW).moment), '2026-11-28 08:15')
  assert.equal(momentIn('tomorrow Tee', NOW), null)
  await speak('he', 'he-IL')
  for (const line of ['יום שני 8:15 תה', 'שני 8:15 תה']) {
    const found = momentIn(line, NOW)
    assert.deepEqual([local(found.moment), found.rest], ['2026-11-30 08:15', 'תה'], line)
  }
  assert.equal(local(momentIn('מחר בשעה 8:15 תה', NOW).moment), '2026-11-28 08:15')
})
