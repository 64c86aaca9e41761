// Talks and threads where the network is slow or away, and what is kept of them, against the real server.
import assert from 'node:assert/strict'
import test from 'node:test'
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
