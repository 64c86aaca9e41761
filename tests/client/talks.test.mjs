// Talks and threads where the network is slow or away, and what is kept of them, against the real server.
import assert from 'node:assert/strict'
import test from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { memoryStorage } from '../../src/web/client/store/storage.js'
import { start, until } from '../sdk/lib/server.mjs'
import { team, visit } from './lib/visit.mjs'

test('replies that come while a thread is fetched are in it', async t => {
  const server = await start(t)
  const [ada, grace] = [await visit(server, 'ada'), await visit(server, 'grace')]
  const { slug, channel } = await team([ada, grace])
  const { data: post } = await ada.api.createMessage(channel, { content: 'who is here?' })
  /** Lets the answer through that is held. */
  let answered = null
  const slow = async (address, options) => {
    const response = await ada.fetch(address, options)
    if (address.includes(`/threads/${post.id}`)) await new Promise(resolve => { answered = resolve })
    return response
  }
  const store = ada.store({ fetch: slow })
  t.after(() => store.close())
  await store.open({ slug, channel })
  await until('the threads', () => store.threads.state.peek() === 'current')
  const reply = content => grace.api.createMessage(channel, { content, thread_id: post.id })
  const shown = () => store.threads.rows.peek()[0]?.messages.map(each => each.content).join()
  await reply('one')
  await until('the first is fetched', () => (answered?.(), shown() === 'one'))
  answered = null
  await reply('two')
  await until('it is fetched again', () => answered)
  await reply('three')
  await until('it is counted', () => store.threads.rows.peek()[0].message_count === 3)
  await until('both replies', () => (answered?.(), shown() === 'two,three'))
})

test('what is kept of an organisation goes when one is out of it', async t => {
  const server = await start(t)
  const [ada, grace] = [await visit(server, 'ada'), await visit(server, 'grace')]
  const { id, slug, channel } = await team([ada, grace])
  const second = await team([grace], 'Second')
  const storage = memoryStorage()
  const store = grace.store({ storage })
  await store.open({ slug, channel })
  await store.talk(channel).open()
  await grace.api.createMessage(channel, { content: 'mine' })
  const records = await storage.open(`tidings-kept-${grace.id}`)
  const keeps = async () => (await records.list('talk/')).length > 0
  await until('it is kept', keeps)
  store.close()
  await ada.api.removeOrganisationMember(id, grace.id)
  const next = grace.store({ storage })
  t.after(() => next.close())
  await next.open({ slug: second.slug })
  await until('it is gone', async () => !await keeps())
  assert.equal(next.organisation.peek().organisation_slug, second.slug)
})

test('a talk that could not be had is fetched again when somebody asks, and then says that it loads', async t => {
  const server = await start(t)
  const ada = await visit(server, 'ada')
  const { slug, channel } = await team([ada])
  let isAway = true
  const fetch = (address, options) => isAway && address.includes('/messages') ? Promise.reject(new TypeError('away')) : ada.fetch(address, options)
  const store = ada.store({ fetch })
  t.after(() => store.close())
  await store.open({ slug })
  const talk = store.talk(channel)
  await talk.open()
  assert.equal(talk.state.peek(), 'failed')
  isAway = false
  const again = talk.retry()
  assert.equal(talk.state.peek(), 'loading')
  await again
  await until('it is there', () => talk.state.peek() === 'current')
  talk.close()
  assert.ok(!talk.isOpen())
})

/** Somebody's `fetch` that holds the first answer of `/start` until the promise is kept, and counts the pages of messages. */
function watched(person, { until: held, messages = person.fetch }) {
  const watch = { starts: 0, pages: 0, fetch: async (address, options) => {
    if (/\/messages\?/.test(address)) return (watch.pages += 1) === 1 ? messages(address, options) : person.fetch(address, options)
    const response = await person.fetch(address, options)
    if (/\/start\?/.test(address) && (watch.starts += 1) === 1) await held(watch)
    return response
  } }
  return watch
}

const texts = talk => talk.rows.peek().map(each => each.content).join()

test('the channel that is opened first is asked for along with the start, and misses nothing', async t => {
  const server = await start(t)
  const [ada, grace] = [await visit(server, 'ada'), await visit(server, 'grace')]
  const { slug, channel } = await team([ada, grace])
  await ada.api.createMessage(channel, { content: 'one' })
  const watch = watched(grace, { until: async () => {
    await until('the page is asked for', () => watch.pages === 1)
    await pause(100)
    await ada.api.createMessage(channel, { content: 'two' })
  } })
  const store = grace.store({ fetch: watch.fetch })
  t.after(() => store.close())
  await store.open({ slug, channel })
  const talk = store.talk(channel)
  await talk.open()
  assert.equal(texts(talk), 'one')
  await until('both are there', () => talk.state.peek() === 'current' && texts(talk) === 'one,two')
  talk.close()
  await store.talk(channel).open()
  assert.equal(watch.pages, 1)
})

test('a refusal of the first page counts only once the start has said who asks', async t => {
  const server = await start(t)
  const ada = await visit(server, 'ada')
  const { slug, channel } = await team([ada])
  await ada.api.createMessage(channel, { content: 'one' })
  for (const [status, code] of [[401, 'token_invalid'], [403, 'account_disabled'], [404, 'channel_not_found']]) {
    const watch = watched(ada, { until: () => pause(50), messages: async () => {
      await pause(100)
      return Response.json({ code }, { status })
    } })
    const store = ada.store({ fetch: watch.fetch })
    await store.open({ slug, channel })
    const talk = store.talk(channel)
    await talk.open()
    assert.deepEqual([texts(talk), store.ended.peek(), watch.pages], ['one', null, 2], code)
    store.close()
  }
})

test('a first page that another session was answered is not shown to who may not read it', async t => {
  const server = await start(t)
  const [ada, grace] = [await visit(server, 'ada'), await visit(server, 'grace')]
  const { id, slug } = await team([ada, grace])
  const { data: made } = await ada.api.createChannel({ name: 'keel', organisation_id: id, is_private: true })
  await ada.api.createMessage(made.id, { content: 'between us' })
  const watch = watched(grace, { until: () => pause(50), messages: ada.fetch })
  const store = grace.store({ fetch: watch.fetch })
  t.after(() => store.close())
  await store.open({ slug, channel: made.id })
  const talk = store.talk(made.id)
  await talk.open()
  await until('it is refused', () => talk.state.peek() === 'gone')
  assert.equal(texts(talk), '')
})
