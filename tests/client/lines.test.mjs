// From messages to the lines of a talk.
import assert from 'node:assert/strict'
import test from 'node:test'
import { atOpening, lines } from '../../src/web/client/screens/chat/lines.js'

const at = '2027-01-05T17:06:40Z'
const message = (id, content) => ({ id, content, created_at: at, user_id: 'ada', user_type: 'user', message_count: 0 })
const post = (id, text) => ({ id, text, channel: 'quay', thread: null, at: Date.parse(at), state: 'waiting' })
const shown = (messages, pending) => lines(messages, pending, null, 'ada').filter(each => each.kind === 'message')
  .map(each => `${each.pending ? '… ' : ''}${each.message.content}`)

test('posts that wait stand below all messages', () => {
  assert.deepEqual(shown([message('1', 'one')], [post('2', 'two')]), ['one', '… two'])
})

test('a message whose edit waits is shown once, in its place, with the text that it will have', () => {
  assert.deepEqual(shown([message('1', 'helo'), message('2', 'two')], [post('1', 'hello'), post('3', 'three')]), ['… hello', 'two', '… three'])
})

test('a talk opens at what is new, or at its end', () => {
  const many = Array.from({ length: 30 }, (_, n) => message(String(n), `${n}`))
  const opened = (firstNew, count) => atOpening(lines(many, [], firstNew, 'ada'), count).map(each => each.message?.id ?? each.kind)
  assert.deepEqual(opened(null, 3), ['27', '28', '29'])
  assert.deepEqual(opened(null, 31), ['day', ...many.map(each => each.id)])
  assert.deepEqual(opened('20', 4), ['18', '19', 'new', '20', '21', '22'])
  assert.deepEqual(opened('0', 4), ['day', 'new', '0', '1', '2'])
})
