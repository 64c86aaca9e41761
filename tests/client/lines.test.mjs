// From messages to the lines of a talk.
import assert from 'node:assert/strict'
import test from 'node:test'
import { lines } from '../../src/web/client/screens/chat/lines.js'

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
