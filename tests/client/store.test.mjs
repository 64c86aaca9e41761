// The store against the real server, step by step.
import assert from 'node:assert/strict'
import test from 'node:test'
import { clock } from '../../src/web/client/base/clock.js'
import { start, until } from '../sdk/lib/server.mjs'
import { createRequests } from '../../src/web/client/net/request.js'
import { forgetLastVisit } from '../../src/web/client/store/kept.js'
import { createKept } from '../../src/web/client/store/kept.js'
import { memoryStorage } from '../../src/web/client/store/storage.js'
import { team, visit } from './lib/visit.mjs'

const texts = talk => talk.rows.peek().map(row => row.content)

/** Two people in an organisation, each with a store that stands in its channel. */
async function pair(t, ...flags) {
  const server = await start(t, ...flags)
  const [ada, grace] = [await visit(server, 'ada'), await visit(server, 'grace')]
  const { id, slug, channel } = await team([ada, grace])
  const stores = [ada.store(), grace.store()]
  for (const store of stores) await store.open({ slug, channel })
  t.after(() => stores.forEach(store => store.close()))
  return { server, people: [ada, grace], stores, organisation: id, slug, channel }
}

test('a talk shows what others post, in order', async t => {
  const { stores: [ada, grace], channel } = await pair(t)
  const talks = [ada.talk(channel), grace.talk(channel)]
  for (const talk of talks) await talk.open()
  await until('both are current', () => talks.every(talk => talk.state.peek() === 'current'))
  for (const text of ['one', 'two', 'three']) ada.outgoing.post({ channel, thread: null, text })
  await until('it is sent', () => ada.outgoing.all.peek().length === 0)
  for (const talk of talks) await until('all of it is heard', () => texts(talk).join(' ') === 'one two three')
  await until('it is unread', () => grace.channel(channel).unread_count === 3)
  await grace.read(channel)
  await until('it is read', () => grace.channel(channel).unread_count === 0)
})

test('a muted channel stands out for mentions alone, on each device', async t => {
  const { stores: [ada, grace], organisation, channel } = await pair(t)
  const own = () => grace.channel(channel)
  const whole = () => grace.organisations.peek().find(each => each.id === organisation)
  await grace.api.muteChannel(channel)
  await until('it is muted', () => own().is_muted)
  await ada.api.createMessage(channel, { content: 'fog on the water' })
  await until('it is counted', () => own().unread_count === 1)
  assert.deepEqual([own().is_unread, own().call_count, whole().unread_count], [false, 0, 0])
  await ada.api.createMessage(channel, { content: 'low tide, @channel' })
  await until('it is counted', () => own().unread_count === 2)
  assert.deepEqual([own().is_unread, own().call_count], [false, 0])
  await ada.api.createMessage(channel, { content: 'ashore, @grace' })
  await until('the mention is counted', () => own().mention_count === 1)
  assert.deepEqual([own().is_unread, own().call_count, whole().unread_count], [true, 1, 0])
  await grace.api.unmuteChannel(channel)
  await until('it is muted no longer', () => !own().is_muted && own().mention_count === 2)
  assert.deepEqual([own().is_unread, own().call_count, whole().unread_count], [true, 2, 3])
})

test('a status stands at a person, and in a direct message, until it is taken away', async t => {
  const { stores: [ada, grace], organisation } = await pair(t)
  const { data: { id: direct } } = await ada.api.openDirectMessage(organisation, { user_ids: [grace.me.peek().id] })
  await until('the conversation is there', () => ada.channel(direct) !== null)
  const shown = () => [ada.person(grace.me.peek().id).custom_status, ada.channel(direct).participants[0].custom_status ?? null]
  await until('grace is known', () => ada.person(grace.me.peek().id).isKnown)
  assert.deepEqual(shown(), [null, null])
  const status = { emoji: '🌴', text: 'On holiday', until: null }
  await grace.api.setCustomStatus({ emoji: '🌴', text: 'On holiday' })
  await until('it is shown', () => shown().every(each => each?.text === 'On holiday'))
  assert.deepEqual([...shown(), grace.me.peek().custom_status], [status, status, status])
  await grace.api.setCustomStatus({})
  await until('it is gone', () => shown().every(each => each === null) && grace.me.peek().custom_status === null)
})

test('reminders are the same on each device', async t => {
  const { stores: [ada] } = await pair(t)
  const { data: reminder } = await ada.api.createReminder({ text: 'Tea', due_at: '2100-01-01T00:00:00Z' })
  await until('it is there', () => ada.reminders.all.peek().length === 1)
  await ada.api.createReminder({ text: 'Breakfast', due_at: '2099-01-01T00:00:00Z' })
  await until('both are in their order', () => ada.reminders.all.peek().map(each => each.text).join() === 'Breakfast,Tea')
  await ada.api.updateReminder(reminder.id, { text: 'Green tea' })
  await until('it has changed', () => ada.reminders.all.peek()[1].text === 'Green tea')
  const kept = ada.reminders.all.peek()
  await ada.reminders.load()
  assert.deepEqual(ada.reminders.all.peek(), kept)
  await ada.api.deleteReminder(reminder.id)
  await until('it is gone', () => ada.reminders.all.peek().length === 1)
  assert.equal(ada.reminders.rung.peek(), null)
})

test('a reply counts in its channel, stands in its thread, and makes it one of mine', async t => {
  const { stores: [ada, grace], channel } = await pair(t)
  const talk = ada.talk(channel)
  await talk.open()
  const { data: post } = await grace.api.createMessage(channel, { content: 'who is here?' })
  await until('the post', () => talk.rows.peek().length === 1)
  const thread = ada.thread(channel, post.id)
  await thread.open()
  ada.outgoing.post({ channel, thread: post.id, text: 'me' })
  await until('the reply', () => texts(thread).join() === 'me')
  await until('its count', () => talk.rows.peek()[0].message_count === 1)
  await until('graces thread', () => grace.threadsUnread.peek() === 1)
  assert.equal(thread.root.peek().content, 'who is here?')
  await grace.readThread(post.id)
  await until('it is read', () => grace.threadsUnread.peek() === 0)
})

test('a talk that was closed is recovered from its place', async t => {
  const { stores: [ada], people: [, grace], channel } = await pair(t)
  const talk = ada.talk(channel)
  await talk.open()
  await until('it is current', () => talk.state.peek() === 'current')
  talk.close()
  assert.equal(talk.state.peek(), 'catching-up')
  const { data: gone } = await grace.api.createMessage(channel, { content: 'a slip' })
  await grace.api.createMessage(channel, { content: 'hello' })
  await grace.api.deleteMessage(channel, gone.id)
  await talk.open()
  await until('it is current again', () => talk.state.peek() === 'current')
  assert.deepEqual(texts(talk), ['hello'])
})

test('pages lead from the first unread to both ends', async t => {
  const { people: [person], stores: [reader, grace], slug, channel } = await pair(t)
  const ids = []
  for (let at = 0; at < 180; at += 1) ids.push((await grace.api.createMessage(channel, { content: `post ${at}` })).data.id)
  await grace.api.markChannelRead(channel, { unread_from: ids[90] })
  await reader.read(channel, ids[89])
  const ada = person.store()
  t.after(() => ada.close())
  await ada.open({ slug, channel })
  const talk = ada.talk(channel)
  await talk.open()
  assert.ok(talk.rows.peek().some(row => row.id === ids[90]))
  assert.ok(talk.hasOlder.peek() && talk.hasNewer.peek())
  await grace.api.createMessage(channel, { content: 'the newest' })
  while (talk.hasNewer.peek()) await talk.newer()
  while (talk.hasOlder.peek()) await talk.older()
  assert.deepEqual(texts(talk), [...ids.map((_, at) => `post ${at}`), 'the newest'])
  await talk.around(ids[100])
  assert.ok(talk.rows.peek().length < 60)
  await talk.newest()
  assert.equal(texts(talk).at(-1), 'the newest')
})

test('a channel that one is added to appears, and goes with the membership', async t => {
  const { stores: [ada, grace], people: [, { id }], organisation } = await pair(t)
  const { data: made } = await ada.api.createChannel({ name: 'news', organisation_id: organisation, userIds: [id] })
  await until('it is there', () => grace.channels.peek().some(channel => channel.name === 'news'))
  const talk = grace.talk(made.id)
  await talk.open()
  await ada.api.removeChannelMember(made.id, id)
  await until('it is gone', () => talk.state.peek() === 'gone' && !grace.channel(made.id))
  await ada.api.addChannelMembers(made.id, { user_ids: [id] })
  await until('it is back', () => talk.state.peek() === 'current' && grace.channel(made.id))
})

test('direct messages are named after the others', async t => {
  const { stores: [ada, grace], people, organisation } = await pair(t)
  const { data } = await ada.api.openDirectMessage(organisation, { user_ids: [people[1].id] })
  ada.outgoing.post({ channel: data.channels_id, thread: null, text: 'psst' })
  await until('it is there', () => grace.directMessages.peek()[0]?.unread_count === 1)
  assert.equal(grace.directMessages.peek()[0].title, 'ada')
  assert.equal(ada.directMessages.peek()[0].title, 'grace')
})

test('a store whose session ended says so and stops', async t => {
  const { stores: [ada], people: [person] } = await pair(t)
  const { data: sessions } = await person.api.listSessions(person.id)
  await person.api.revokeSession({ user_id: person.id, session_id: sessions[0]?.id }).catch(() => {})
  await person.api.logOut().catch(() => {})
  ada.wake()
  await until('it has ended', () => ada.ended.peek() === 'session-ended', 30_000)
})

test('the next visit shows what the last one left, and then what happened since', async t => {
  const { people: [person, grace], stores: [ada], storage = ada.storage, slug, channel } = await pair(t)
  const talk = ada.talk(channel)
  await talk.open()
  await grace.api.createMessage(channel, { content: 'before' })
  await until('it is heard', () => texts(talk).join() === 'before')
  await until('it is kept', async () => (await (await storage.open(`tidings-kept-${person.id}`)).list('')).length === 2)
  ada.close()
  await grace.api.createMessage(channel, { content: 'since' })

  const asked = []
  const next = person.store({ storage, fetch: (address, options) => {
    asked.push(address)
    return person.fetch(address, options)
  } })
  next.line.isDown = true
  t.after(() => next.close())
  await next.open({ slug, channel })
  assert.equal(next.organisation.peek().organisation_slug, slug)
  assert.ok(next.channel(channel))
  const again = next.talk(channel)
  await again.open()
  assert.equal(texts(again).join(), 'before')
  assert.equal(again.state.peek(), 'catching-up')
  next.line.isDown = false
  next.wake()
  await until('it has caught up', () => again.state.peek() === 'current' && texts(again).join() === 'before,since')
  await until('it is unread', () => next.channel(channel).unread_count === 2)
  assert.ok(!asked.some(each => each.includes('/messages')), 'what is kept is not fetched')
  await next.signOut()
  assert.deepEqual(await (await storage.open(`tidings-kept-${person.id}`)).list(''), [])
})

test('without a network the last visit is there all the same', async t => {
  const { people: [person], stores: [ada], storage = ada.storage, slug, channel } = await pair(t)
  const talk = ada.talk(channel)
  await talk.open()
  ada.outgoing.post({ channel, text: 'hello' })
  await until('it is kept', async () => (await (await storage.open(`tidings-kept-${person.id}`)).list('')).length === 2)
  ada.close()
  const next = person.store({ storage, fetch: async () => { throw new TypeError('no network') } })
  next.line.isDown = true
  t.after(() => next.close())
  await next.open({ slug, channel })
  await next.talk(channel).open()
  assert.deepEqual(texts(next.talk(channel)), ['hello'])
  assert.equal(next.talk(channel).state.peek(), 'catching-up')
})

test('who was removed from a channel while asleep sees it go, and nothing of it is kept', async t => {
  const { stores: [ada, grace], people: [, person], organisation } = await pair(t)
  const { data: made } = await ada.api.createChannel({ name: 'news', organisation_id: organisation, userIds: [person.id] })
  await ada.api.createMessage(made.id, { content: 'between us' })
  await until('it is there', () => grace.channel(made.id))
  const talk = grace.talk(made.id)
  await talk.open()
  const records = await grace.storage.open(`tidings-kept-${person.id}`)
  await until('it is kept', async () => records.get(`talk/${made.id}`))
  grace.line.isDown = true
  await ada.api.removeChannelMember(made.id, person.id)
  grace.line.isDown = false
  grace.wake()
  await until('it is gone', () => talk.state.peek() === 'gone' && !grace.channel(made.id))
  await until('it is erased', async () => !await records.get(`talk/${made.id}`))
})

test('a tab whose account was changed in another tab sends nothing in its name', async t => {
  const { server, stores: [ada], people: [person], channel, organisation } = await pair(t)
  const bob = await visit(server, 'bob', person.fetch)
  const { data } = await person.api.getChannel(channel).catch(error => ({ data: error.code }))
  assert.equal(data, 'other_user')
  ada.outgoing.post({ channel, text: 'in whose name?' })
  await until('it says so', () => ada.ended.peek() === 'other-user')
  assert.equal(ada.outgoing.all.peek()[0].state, 'waiting')
  assert.ok(bob.id !== person.id && organisation)
})

test('a clock that is two days wrong changes nothing', async t => {
  const { people: [person], slug, channel } = await pair(t)
  for (const days of [-2, 2]) {
    const store = person.store({ clock: { ...clock, now: () => Date.now() + days * 86_400_000 } })
    await store.open({ slug, channel })
    const talk = store.talk(channel)
    await talk.open()
    store.outgoing.post({ channel, text: `${days} days` })
    await until('it is sent', () => store.outgoing.all.peek().length === 0 && texts(talk).at(-1) === `${days} days`)
    store.close()
  }
})

test('whoever signs in sees nothing of the last person, whose drafts stay', async t => {
  const { server, people: [person], stores: [ada], storage = ada.storage, slug, channel } = await pair(t)
  const talk = ada.talk(channel)
  await talk.open()
  ada.outgoing.post({ channel, text: 'between us' })
  ada.drafts.set(channel, 'half a thought')
  const records = await storage.open(`tidings-kept-${person.id}`)
  await until('it is kept', async () => (await records.list('')).length === 2)
  ada.close()

  const bob = await visit(server, 'bob', person.fetch)
  await forgetLastVisit(storage)
  assert.deepEqual(await records.list(''), [])
  const store = bob.store({ storage })
  t.after(() => store.close())
  await assert.rejects(store.open({ slug, channel }), { code: 'organisation_not_found' })
  assert.deepEqual(store.organisations.peek(), [])
  assert.equal((await storage.open(`tidings-${person.id}`).then(all => all.list('draft/')))[0][1], 'half a thought')
})

test('whoever signs in erases talk that no note tells of any more', async () => {
  const storage = memoryStorage()
  const talk = await storage.open('tidings-kept-one')
  await talk.set('start', { channels: [] })
  await (await storage.open('tidings-one')).set('draft/1', 'unfinished')
  await forgetLastVisit(storage)
  assert.deepEqual(await talk.list(''), [])
  assert.equal(await (await storage.open('tidings-one')).get('draft/1'), 'unfinished')
})

test('a talk that was read for the last user is not shown to another', async () => {
  for (const [user, expected] of [['one', { rows: ['between us'] }], ['two', null]]) {
    const storage = memoryStorage()
    await (await storage.open('tidings')).set('last', { user: 'one', version: 1 })
    const records = await storage.open('tidings-kept-one')
    await records.set('start', { channels: [] })
    await records.set('talk/quay', { rows: ['between us'] })
    const kept = createKept({ storage, clock: { after: () => () => {}, now: () => 0 } })
    assert.equal((await kept.last('quay')).user, 'one')
    await kept.begin(user)
    assert.deepEqual(await kept.talk('quay'), expected, user)
  }
})

test('the late end of an old tab leaves the visit of whoever came after it', async () => {
  const [storage, clock] = [memoryStorage(), { after: () => () => {}, now: () => 0 }]
  const [old, visit] = [createKept({ storage, clock }), createKept({ storage, clock })]
  await old.begin('one')
  await visit.begin('two')
  await (await storage.open('tidings-kept-two')).set('start', { channels: [] })
  await old.end()
  assert.deepEqual(await createKept({ storage, clock }).last(), { user: 'two', start: { channels: [] } })
})

test('who signs out keeps what is not sent, or has it erased', async t => {
  const server = await start(t)
  const person = await visit(server, 'ada')
  const { slug, channel } = await team([person])
  for (const forget of [false, true]) {
    const store = person.store()
    await store.open({ slug, channel })
    const records = await store.storage.open(`tidings-${person.id}`)
    await records.set('draft/1', 'unfinished')
    assert.equal(await store.unsent(), 1)
    await store.signOut({ forget })
    assert.deepEqual(await records.list('draft/'), forget ? [] : [['draft/1', 'unfinished']])
    await person.api.logIn({ email: 'ada@example.org', password: 'quiet harbour at dawn', cookie: true })
  }
})

test('no part of a path leads to another operation', async () => {
  const asked = []
  const fetch = async address => {
    asked.push(address)
    return new Response('{}')
  }
  const api = createRequests({ fetch })
  for (const emoji of ['.', '..']) await assert.rejects(api.removeReaction('1', '2', emoji), { code: 'invalid_characters' })
  for (const emoji of ['../..', '%2e%2e', '...', '?', 'a.b']) await api.removeReaction('1', '2', emoji)
  assert.deepEqual(asked.map(path => new URL(path, 'http://server').pathname.split('/').length), Array(5).fill(9))
})

test('a page of a captive portal is not taken for an answer of the server', async () => {
  const answers = { page: '<h1>Log in to this network</h1>', half: '{"data": [', nothing: '' }
  for (const [what, text] of Object.entries(answers)) {
    const asked = createRequests({ fetch: async () => new Response(text) }).getFeatures()
    if (what === 'nothing') assert.equal((await asked).data, null)
    else await assert.rejects(asked, { name: 'Unreachable' })
  }
})

test('who wrote or was found is known, in this organisation and not in another', async t => {
  const { people: [person], stores: [ada, grace], channel } = await pair(t)
  const names = () => ada.knownPeople().map(each => each.username).sort().join()
  const talk = ada.talk(channel)
  await talk.open()
  grace.outgoing.post({ channel, text: 'here I am' })
  await until('the author is known', () => names() === 'grace')
  assert.deepEqual((await ada.findPeople('ad', { channel })).map(each => each.username), ['ada'])
  assert.equal(names(), 'ada,grace')
  await person.api.createOrganisation({ name: 'Elsewhere', email: 'elsewhere@example.org' })
  await ada.open({ slug: 'elsewhere' })
  await until('nobody else is known there', () => !names().includes('grace'))
})
