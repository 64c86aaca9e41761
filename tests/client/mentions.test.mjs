// Names in texts: whom they mean, and completing them.
import assert from 'node:assert/strict'
import test from 'node:test'
import { commandIn, complete, completionAt, folded, isMentioned, rank, resolver } from '../../src/web/client/text/mentions.js'
import { leastWork } from './lib/work.mjs'

const mentions = [{ id: '1', type: 'user', username: 'Ada' }, { id: 'c', type: 'channel', username: 'channel' }]

test('a name means whom the server found, in any case, and each word for everybody means the channel', () => {
  const find = resolver(mentions)
  assert.deepEqual(find('ada'), { kind: 'user', id: '1', name: 'Ada' })
  for (const name of ['channel', 'here', 'All', 'everyone']) assert.equal(find(name)?.kind, 'channel', name)
  assert.equal(find('bob'), null)
  assert.equal(resolver([mentions[0]])('here'), null)
  assert.equal(resolver(null)('ada'), null)
})

test('whom a message mentions is told by id, everybody by the channel', () => {
  assert.ok(isMentioned([mentions[0]], '1'))
  assert.ok(!isMentioned([mentions[0]], '2'))
  assert.ok(isMentioned(mentions, '2'))
  assert.ok(!isMentioned(null, '2'))
})

/** `|` is the caret. */
const at = marked => completionAt(marked.replace('|', ''), marked.indexOf('|'))

test('a name that is being written is completed, and nothing else is', () => {
  for (const [marked, sign, query] of [
    ['@|', '@', ''], ['hi @ad|', '@', 'ad'], ['(@ad|)', '@', 'ad'], ['@Mü|', '@', 'Mü'], ['@ada.l|', '@', 'ada.l'], ['#|', '#', ''], ['a\n#gen|x', '#', 'gen'],
    ['so :ta|', ':', 'ta'], ['`a` @b|', '@', 'b'], ['```\n@a\n```\n@b|', '@', 'b'],
  ]) {
    const found = at(marked)
    assert.deepEqual([found?.sign, found?.query], [sign, query], marked)
  }
  for (const marked of ['|', 'a|', 'mail@ad|', ':t|', ':)|', '10:30|', 'http://a|', '`@ad|', '```\n@ad|', '@ada |', 'c#ma|', `@${'a'.repeat(65)}|`]) {
    assert.equal(at(marked), null, marked)
  }
})

test('a completed name stands in place of what was written, with one space behind it', () => {
  const text = 'hi @ad, you'
  const one = completionAt(text, 6)
  assert.deepEqual(complete(text, one, '@ada'), { text: 'hi @ada , you', caret: 8 })
  assert.deepEqual(complete('@a b', completionAt('@a b', 2), '@ada'), { text: '@ada b', caret: 5 })
})

test('those who are found first are those whose username begins so, then names, words in names, and parts of them', () => {
  const people = [
    { username: 'joanna', name: 'Joanna' }, { username: 'x.ann', name: 'X' }, { username: 'y', name: 'Lee Ann' }, { username: 'z', name: 'Ann Lee' }, { username: 'anna', name: 'Q' },
  ]
  const found = rank(people, 'ANN', ({ username, name }) => [username, name])
  assert.deepEqual(found.map(({ username }) => username), ['anna', 'z', 'x.ann', 'y', 'joanna'])
  assert.deepEqual(rank(people, 'ann', ({ username }) => [username], 2).length, 2)
  assert.equal(rank(people, '', ({ username }) => [username]).length, 5)
  assert.deepEqual(rank([{ n: 'Müller' }], 'muller', ({ n }) => [n, null]), [{ n: 'Müller' }])
  assert.equal(folded('Çelik'), 'celik')
})

test('a key among 10,000 names takes less than 30 ms', () => {
  const people = Array.from({ length: 10_000 }, (_, index) => ({ username: `person-${index}`, name: `Person Number ${index} Müller` }))
  const work = leastWork(() => rank(people, 'mull', ({ username, name }) => [username, name]))
  assert.ok(work < 30, `${work} ms`)
})

test('a command is completed at the beginning of a text, and nowhere else', () => {
  assert.deepEqual(at('/|'), { sign: '/', query: '', from: 0, to: 1 })
  assert.deepEqual(at('/top|ic'), { sign: '/', query: 'top', from: 0, to: 4 })
  for (const text of [' /top|', 'see /top|', '/topic new|', '/etc/ho|', '//|']) assert.equal(at(text), null, text)
  assert.deepEqual(['/deploy', '/café_2.x-y', '/', '/etc/hosts', `/${'x'.repeat(33)}`, ' /deploy'].map(each => commandIn(each) !== null), [true, true, false, false, false, false])
  assert.deepEqual(commandIn('/Deploy  the quay\nat dawn '), { name: 'deploy', text: 'the quay\nat dawn' })
})
