// Signs that belong to the one before: ten in a row are shown at most, and no writing loses one.
import assert from 'node:assert/strict'
import test from 'node:test'
import { withoutPiles } from '../../src/web/client/base/marks.js'

test('ten signs in a row are shown, whatever they are', () => {
  for (const sign of ['\u0301', '\u20dd', '\u0e49', '\u064b', '\u102b', '🏽', '\u200b', '\u200d', '\ufe0f', '\u{e0067}']) {
    assert.equal(withoutPiles('a' + sign.repeat(10)), 'a' + sign.repeat(10))
    assert.equal(withoutPiles(`a${sign.repeat(11)}b${sign.repeat(39_000)}`), `a${sign.repeat(10)}b${sign.repeat(10)}`)
  }
  assert.equal(withoutPiles('a' + '\u0301\u200b'.repeat(6)), 'a' + '\u0301\u200b'.repeat(5), 'different ones count together')
})

test('a text that begins with them has three', () => {
  assert.equal(withoutPiles('\u0301'.repeat(4) + 'a'), '\u0301'.repeat(3) + 'a')
  assert.equal(withoutPiles(`\n${'\u0301'.repeat(10)}`), `\n${'\u0301'.repeat(10)}`)
})

test('no writing and no emoji loses a sign', () => {
  for (const text of [
    'שָׁלוֹם עֲלֵיכֶם', 'क्ष्म्यै', 'བཀྲ་ཤིས་བདེ་ལེགས།', 'ကြောင့်', 'Tiê\u0301ng Viê\u0323t', '👨\u200d👩\u200d👧\u200d👦', '👩🏽\u200d🚀', '🏴\u{e0067}\u{e0062}\u{e0073}\u{e0063}\u{e0074}\u{e007f}', '1\ufe0f\u20e3',
    'plain', '', '\ud83d',
  ]) assert.equal(withoutPiles(text), text)
})
