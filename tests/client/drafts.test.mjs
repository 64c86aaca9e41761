// What was written and not sent: kept between visits, and shared by the tabs of a user.
import assert from 'node:assert/strict'
import test from 'node:test'
import { start, until } from '../sdk/lib/server.mjs'
import { team, visit } from './lib/visit.mjs'

/** Somebody whose store stands in a channel. */
async function alone(t) {
  const server = await start(t)
  const person = await visit(server, 'ada')
  const { slug, channel } = await team([person])
  const store = person.store()
  t.after(() => store.close())
  await store.open({ slug, channel })
  return { person, store, slug, channel }
}

test('an edit that is not saved is kept like a draft, and counts as no unsent message', async t => {
  const { person, store: ada, channel, slug } = await alone(t)
  ada.drafts.set(channel, 'half a thought')
  ada.drafts.set('edit/1', 'a better word')
  const records = await ada.storage.open(`tidings-${person.id}`)
  await until('both are kept', async () => (await records.list('draft/')).length === 2)
  assert.equal(await ada.unsent(), 1)
  const next = person.store({ storage: ada.storage })
  t.after(() => next.close())
  await next.open({ slug, channel })
  await until('the edit is there', () => next.drafts.get('edit/1').peek() === 'a better word')
  next.drafts.set('edit/1', '')
  await until('it is erased', async () => (await records.list('draft/')).length === 1)
})

test('the tabs of a user tell each other what is written, and the last writer wins', async t => {
  const { person, store: one, channel, slug } = await alone(t)
  const none = () => { throw new DOMException('no way', 'SecurityError') }
  const [two, apart] = [person.store({ storage: one.storage }), person.store({ storage: one.storage, tabs: none })]
  t.after(() => [two, apart].forEach(store => store.close()))
  for (const store of [two, apart]) await store.open({ slug, channel })
  const drafts = [one, two, apart].map(store => store.drafts.get(channel))
  one.drafts.set(channel, 'from one')
  await until('the other tab has it', () => drafts[1].peek() === 'from one')
  two.drafts.set(channel, 'from two')
  await until('and the first what came after', () => drafts[0].peek() === 'from two')
  const records = await one.storage.open(`tidings-${person.id}`)
  await until('it is kept', async () => await records.get(`draft/${channel}`) === 'from two')
  two.drafts.set(channel, '')
  await until('what was sent is a draft nowhere', () => drafts[0].peek() === '')
  // A tab that can't hear of others keeps its drafts all the same.
  apart.drafts.set(channel, 'from afar')
  await until('it is kept, too', async () => await records.get(`draft/${channel}`) === 'from afar')
  assert.deepEqual(drafts.map(draft => draft.peek()), ['', '', 'from afar'])
})
