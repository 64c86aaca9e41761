// What a person has posted is never lost and never doubled, and keeps its order: over cut lines, killed servers and closed tabs.
import assert from 'node:assert/strict'
import test from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { memoryStorage } from '../../src/web/client/store/storage.js'
import { start, until } from '../sdk/lib/server.mjs'
import { createChance } from './lib/chance.mjs'
import { team, visit } from './lib/visit.mjs'

const SEED = Number(process.env.TIDINGS_CLIENT_SEED ?? 1)

/** All posts of a channel, oldest first, as the server has them. */
async function posted(person, channel) {
  const found = []
  for (let query = { limit: 200 }; query;) {
    const { data, next } = await person.api.listMessages(channel, query)
    found.unshift(...data.reverse())
    query = next
  }
  return found.map(({ content }) => content)
}

/** Answers that are lost on their way: the server has done what was asked, and nobody learns of it. */
const lossy = (fetch, chance, share) => async (address, options) => {
  if (options.method === 'POST' && chance.random() < share / 2) throw new TypeError('lost on the way there')
  const response = await fetch(address, options)
  if (options.method === 'POST' && chance.random() < share) throw new TypeError('lost on the way back')
  return response
}

test('posts outlive cuts and kills: none lost, none doubled, in order', { timeout: 120_000 }, async t => {
  const chance = createChance(SEED)
  t.diagnostic(`seed ${SEED}`)
  const server = await start(t)
  const [ada, grace] = [await visit(server, 'ada'), await visit(server, 'grace')]
  const { id, slug, channel } = await team([ada, grace])
  const { data: other } = await ada.api.createChannel({ name: 'news', organisation_id: id, userIds: [grace.id] })
  const store = ada.store({ fetch: lossy(ada.fetch, chance, 0.2) })
  const watching = grace.store()
  t.after(() => [store, watching].forEach(each => each.close()))
  await store.open({ slug, channel })
  await watching.open({ slug, channel })
  const talks = [store.talk(channel), watching.talk(channel)]
  for (const talk of talks) await talk.open()

  const expected = { [channel]: [], [other.id]: [] }
  for (let at = 0; at < 120; at += 1) {
    const where = chance.below(3) === 0 ? other.id : channel
    expected[where].push(`post ${at}`)
    store.outgoing.post({ channel: where, text: `post ${at}` })
    if (chance.below(20) === 0) store.line.cut()
    if (at % 40 === 20) {
      await server.kill()
      await sleep(200)
      await server.launch()
    }
    if (chance.below(3) === 0) await sleep(chance.below(30))
  }
  await until(() => `posts that wait: ${store.outgoing.all.peek().length}`, () => {
    // A person who waits tries again.
    store.wake()
    return store.outgoing.all.peek().length === 0
  }, 60_000)
  for (const where of [channel, other.id]) assert.deepEqual(await posted(grace, where), expected[where])
  for (const talk of talks) {
    const shown = () => talk.rows.peek().map(({ content }) => content)
    await until('everybody sees them', () => shown().join() === expected[channel].join(), 30_000)
  }
})

test('posts of a closed tab are sent by the next one', async t => {
  const server = await start(t)
  const ada = await visit(server, 'ada')
  const { slug, channel } = await team([ada])
  const storage = memoryStorage()
  const dead = async () => { throw new TypeError('no network') }
  let isDead = false
  const first = ada.store({ storage, fetch: (...all) => (isDead ? dead() : ada.fetch(...all)) })
  await first.open({ slug, channel })
  isDead = true
  for (const text of ['one', 'two', 'three']) first.outgoing.post({ channel, text })
  first.drafts.set(channel, 'half a thought')
  await sleep(100)
  assert.equal(first.outgoing.of(channel).peek().length, 3)
  first.close()

  const second = ada.store({ storage })
  t.after(() => second.close())
  await second.open({ slug, channel })
  await until('all is sent', async () => (await posted(ada, channel)).join() === 'one,two,three', 30_000)
  await until('the draft is there', () => second.drafts.get(channel).peek() === 'half a thought')
  await until('nothing waits', () => second.outgoing.all.peek().length === 0)
})

test('two tabs share what is kept, and send each post once', async t => {
  const server = await start(t)
  const ada = await visit(server, 'ada')
  const { slug, channel } = await team([ada])
  const storage = memoryStorage()
  const tabs = [ada.store({ storage }), ada.store({ storage })]
  t.after(() => tabs.forEach(tab => tab.close()))
  for (const tab of tabs) await tab.open({ slug, channel })
  for (let at = 0; at < 10; at += 1) tabs[at % 2].outgoing.post({ channel, text: `post ${at}` })
  await until('all is sent', async () => (await posted(ada, channel)).length >= 10, 60_000)
  await until('nothing waits', () => tabs.every(tab => tab.outgoing.all.peek().length === 0), 30_000)
  const found = await posted(ada, channel)
  assert.equal(new Set(found).size, 10)
  assert.equal(found.length, 10)
  for (const at of tabs.keys()) {
    const own = found.filter(text => Number(text.slice(5)) % 2 === at)
    assert.deepEqual(own, [...own].sort(), `the posts of tab ${at} keep their order`)
  }
})

test('a refusal steps aside with its reason, and others go on', async t => {
  const server = await start(t)
  const ada = await visit(server, 'ada')
  const { id, slug, channel } = await team([ada])
  const { data: other } = await ada.api.createChannel({ name: 'news', organisation_id: id })
  const store = ada.store()
  t.after(() => store.close())
  await store.open({ slug, channel })
  await ada.api.archiveChannel(other.id, { archived: true })
  const refused = store.outgoing.post({ channel: other.id, text: 'too late' })
  store.outgoing.post({ channel, text: 'in time' })
  await until('one is refused', () => store.outgoing.of(other.id).peek()[0]?.state === 'refused')
  assert.equal(store.outgoing.of(other.id).peek()[0].error.code, 'channel_archived')
  await until('the other is sent', async () => (await posted(ada, channel)).join() === 'in time')
  assert.equal(store.outgoing.discard(refused), 'too late')
  assert.equal(store.outgoing.all.peek().length, 0)
})

/** A store whose post has arrived, though nobody heard of it; requests whose method `lost` has are lost. */
async function unanswered(t, text) {
  const server = await start(t)
  const ada = await visit(server, 'ada')
  const { id: organisation, slug } = await team([ada])
  const { data: { id: channel } } = await ada.api.createChannel({ name: 'news', organisation_id: organisation })
  const lost = new Set()
  const storage = memoryStorage()
  const store = ada.store({ storage, fetch: async (...all) => {
    const { method } = all[1]
    if (lost.has('PUT') && method === 'PUT') throw new TypeError('the edit is lost')
    const response = await ada.fetch(...all)
    if (lost.has(method)) throw new TypeError('the answer is lost')
    return response
  } })
  t.after(() => store.close())
  await store.open({ slug, channel })
  // Nobody hears of it by push, either.
  store.line.isDown = true
  lost.add('POST')
  const id = store.outgoing.post({ channel, text })
  await until('it arrived', async () => (await posted(ada, channel)).length === 1)
  await until('it waits', () => store.outgoing.all.peek()[0].error)
  return { ada, slug, channel, storage, store, lost, id }
}

test('a post that is changed while it waits is sent as it stands', async t => {
  const { ada, channel, store, lost, id } = await unanswered(t, 'helo')
  lost.clear()
  store.outgoing.retry(id, 'hello')
  await until('it was edited', async () => (await posted(ada, channel)).join() === 'hello')
  await until('nothing waits', () => store.outgoing.all.peek().length === 0)
})

test('the edit of a post that had arrived is sent until it is answered, by another tab as well', async t => {
  const { ada, slug, channel, storage, store, lost, id } = await unanswered(t, 'helo')
  lost.delete('POST')
  lost.add('PUT')
  store.outgoing.retry(id, 'hello')
  await until('the edit failed', () => store.outgoing.all.peek()[0].error)
  store.wake()
  await until('it failed again', () => store.outgoing.all.peek()[0].error)
  assert.deepEqual(await posted(ada, channel), ['helo'])
  store.close()
  const next = ada.store({ storage })
  t.after(() => next.close())
  await next.open({ slug, channel })
  const talk = next.talk(channel)
  await talk.open()
  await until('it was edited', async () => (await posted(ada, channel)).join() === 'hello', 30_000)
  await until('nothing waits', () => next.outgoing.all.peek().length === 0)
  await until('nothing is kept', async () => (await (await storage.open(`tidings-${ada.id}`)).list('post/')).length === 0)
})

test('an edit that is refused steps aside with its reason, and can be sent again', async t => {
  const { ada, channel, store, lost, id } = await unanswered(t, 'helo')
  await ada.api.archiveChannel(channel, { archived: true })
  lost.clear()
  store.outgoing.retry(id, 'hello')
  await until('it is refused', () => store.outgoing.all.peek()[0].state === 'refused')
  assert.equal(store.outgoing.all.peek()[0].error.code, 'channel_archived')
  await ada.api.archiveChannel(channel, { archived: false })
  store.outgoing.retry(id)
  await until('it was edited', async () => (await posted(ada, channel)).join() === 'hello')
})

test('what was edited elsewhere is not undone by a post that is repeated', async t => {
  const { ada, channel, store, lost, id } = await unanswered(t, 'helo')
  await ada.api.updateMessage(channel, { message_id: id, content: 'hello from the phone' })
  lost.clear()
  store.wake()
  await until('nothing waits', () => store.outgoing.all.peek().length === 0)
  assert.deepEqual(await posted(ada, channel), ['hello from the phone'])
})

test('a tab learns what another was refused, and what is sent again there', async t => {
  const server = await start(t)
  const ada = await visit(server, 'ada')
  const { id, slug, channel } = await team([ada])
  const { data: other } = await ada.api.createChannel({ name: 'news', organisation_id: id })
  const storage = memoryStorage()
  const far = ada.store({ storage, fetch: async (...all) => {
    if (all[1].method === 'POST' && all[0].endsWith('/messages')) throw new TypeError('no network')
    return ada.fetch(...all)
  } })
  await far.open({ slug, channel })
  await ada.api.archiveChannel(other.id, { archived: true })
  const post = far.outgoing.post({ channel: other.id, text: 'too late' })
  await until('it waits', () => far.outgoing.all.peek()[0].error)
  const near = ada.store({ storage })
  t.after(() => [near, far].forEach(store => store.close()))
  await near.open({ slug, channel })
  await until('one tab is refused it', () => near.outgoing.all.peek()[0]?.state === 'refused', 30_000)
  far.wake()
  await until('the other tells it', () => far.outgoing.all.peek()[0].state === 'refused')
  assert.equal(far.outgoing.all.peek()[0].error.code, 'channel_archived')
  await ada.api.archiveChannel(other.id, { archived: false })
  near.outgoing.retry(post)
  await until('it is sent', () => near.outgoing.all.peek().length === 0)
  far.wake()
  await until('and gone in the other tab', () => far.outgoing.all.peek().length === 0)
  assert.deepEqual(await posted(ada, other.id), ['too late'])
})
