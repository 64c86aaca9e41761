// The names of emoji.
import assert from 'node:assert/strict'
import test from 'node:test'
import { emojiGroups, emojiLabel, emojiNameFor, emojiNamed, findEmoji, hasEmojiNames, loadEmoji, reactionSign } from '../../src/web/client/text/emoji.js'

const list = [
  { emoji: '😀', names: ['grinning'], description: 'grinning face', group: 'SmileysAndEmotion' },
  { emoji: '❤️', names: ['heart', 'red_heart'], description: 'red heart', group: 'SmileysAndEmotion' },
  { emoji: '🎉', names: ['tada'], description: 'party popper', group: 'Activities' },
]

test('names are asked for once, and again after that failed', async () => {
  let asked = 0
  await assert.rejects(loadEmoji(async () => {
    throw new Error('no network')
  }))
  assert.equal(emojiLabel('🎉'), '🎉')
  const fetch = async () => {
    asked += 1
    return list
  }
  await Promise.all([loadEmoji(fetch), loadEmoji(fetch)])
  await loadEmoji(fetch)
  assert.equal(asked, 1)
})

test('an emoji has names, and a name an emoji', () => {
  assert.equal(emojiNamed('red_heart'), '❤️')
  assert.equal(emojiNamed('shipit'), null)
  assert.equal(emojiLabel('❤'), 'heart', 'without the sign that asks for colour')
  const thumb = { emoji: '👍', names: ['+1', 'thumbsup'], description: 'thumbs up', group: 'PeopleAndBody' }
  assert.deepEqual(['thu', 'UP', '+', 'yes'].map(query => emojiNameFor(thumb, query)), ['thumbsup', 'thumbsup', '+1', '+1'])
  assert.ok(hasEmojiNames('so :tada: it'))
  assert.ok(!hasEmojiNames('from 10:30:15 to: 11:00'))
})

test('a reaction is shown as its emoji, whether it was kept as one, as its name, or is of another place', () => {
  for (const [kept, shown] of [['🎉', '🎉'], ['tada', '🎉'], [':tada:', '🎉'], [':shipit:', ':shipit:'], ['shipit', ':shipit:'], ['👍🏽', '👍🏽'], ['…', '…']]) {
    assert.equal(reactionSign(kept), shown)
  }
})

test('emoji are found by any of their names and by what they show', () => {
  assert.deepEqual(findEmoji('ta').map(({ emoji }) => emoji), ['🎉'])
  assert.deepEqual(findEmoji('party po').map(({ emoji }) => emoji), ['🎉'])
  assert.deepEqual(findEmoji('HEART').map(({ emoji }) => emoji), ['❤️'])
  assert.deepEqual([...emojiGroups()].map(([group, { length }]) => [group, length]), [['SmileysAndEmotion', 2], ['Activities', 1]])
})
