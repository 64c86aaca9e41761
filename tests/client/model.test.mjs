// State fetched once plus every push applied equals a fresh fetch: three people do random things, while lines are cut, the server
// is killed, and more is missed than a recovery holds. After each round every store is compared with one that was opened just now.
//
// TIDINGS_CLIENT_SEED is the first seed, and TIDINGS_CLIENT_THINGS how much is done with each.
import assert from 'node:assert/strict'
import test, { describe } from 'node:test'
import { start, until } from '../sdk/lib/server.mjs'
import { createChance } from './lib/chance.mjs'
import { listen } from './lib/listeners.mjs'
import { difference, personOf, piece, snapshot } from './lib/snapshot.mjs'
import { team, visit } from './lib/visit.mjs'
import { createWorld } from './lib/world.mjs'

const SEED = Number(process.env.TIDINGS_CLIENT_SEED ?? 1)
const SEEDS = Number(process.env.TIDINGS_CLIENT_SEEDS ?? 4)
const THINGS = Number(process.env.TIDINGS_CLIENT_THINGS ?? 500)
/** Things that are done between two comparisons, at most. */
const ROUND = 25
/** What people do with their tabs, and how often. */
const FIDGETS = {
  cut: 3, away: 2, back: 2, look: 4, thread: 3, close: 3, older: 2, newer: 1, around: 1, elsewhere: 1, threads: 1, reload: 1,
}
/** One publication more than a recovery holds, and some. */
const TOO_MANY = 310

// They wait more than they work.
describe('stores have what a fresh fetch gives', { concurrency: 2 }, () => {
  for (let seed = SEED; seed < SEED + SEEDS; seed += 1) {
    test(`with seed ${seed}`, { timeout: 600_000 }, async t => {
      const told = []
      try {
        await run(t, seed, told)
      } catch (error) {
        t.diagnostic(`seed ${seed}; the last of what was done: ${told.slice(-40).join(', ')}`)
        throw error
      }
    })
  }
})

async function run(t, seed, told) {
  const chance = createChance(seed)
  const server = await start(t)
  const people = []
  for (const name of ['ada', 'grace', 'bob']) people.push(await visit(server, name))
  const { id, slug, channel } = await team(people)
  const world = createWorld({ chance, people, organisation: id, channel, tell: what => told.push(what) })
  const tabs = []
  for (const person of people) {
    const store = person.store()
    await store.open({ slug, channel })
    const talk = store.talk(channel)
    await talk.open()
    const listener = listen(server, person)
    await listener.start()
    tabs.push({ person, store, talks: [talk], isAway: false, listener })
  }
  t.after(() => tabs.forEach(({ store, listener }) => (store.close(), listener.close())))

  let done = 0
  let rounds = 0
  let bursts = 0
  while (done < THINGS) {
    const most = done + 1 + chance.below(ROUND)
    while (done < most) {
      if (await world.act()) done += 1
      if (chance.below(4) === 0) await fidget(tabs, world, chance, told)
    }
    if (chance.below(8) === 0) await kill(server, world, told)
    if (chance.below(12) === 0 || (done >= THINGS && bursts === 0)) {
      const away = chance.pick(tabs)
      setAway(away, true, told)
      await world.burst(TOO_MANY)
      bursts += 1
    }
    await compare(server, tabs, world, { id, slug })
    rounds += 1
  }
  const heard = tabs.reduce((sum, tab) => sum + tab.listener.heard(), 0)
  t.diagnostic(`seed ${seed}: ${done} things, ${rounds} rounds, ${bursts} lost recoveries, ${heard} publications heard`)
}

function setAway(tab, isAway, told) {
  if (tab.isAway === isAway) return
  tab.isAway = isAway
  told.push(`${tab.person.name} is ${isAway ? 'away' : 'back'}`)
  for (const line of [tab.store.line, tab.listener.line]) line.isDown = isAway
  if (!isAway) for (const each of [tab.store, tab.listener]) each.wake()
}

/** Somebody looks elsewhere, or their line breaks. Nobody waits for it. */
async function fidget(tabs, world, chance, told) {
  const tab = chance.pick(tabs)
  const { store } = tab
  const act = chance.weighed(FIDGETS)
  told.push(`${tab.person.name}'s tab: ${act}`)
  const visible = [...store.channels.peek(), ...store.directMessages.peek()]
  const open = talk => {
    if (!tab.talks.includes(talk)) {
      tab.talks.push(talk)
      talk.open()
    }
  }
  const talk = tab.talks.length > 0 ? chance.pick(tab.talks) : null
  const ignored = () => {}
  if (act === 'cut') for (const line of [store.line, tab.listener.line]) line.cut()
  if (act === 'away') setAway(tab, true, told)
  if (act === 'back') setAway(tab, false, told)
  if (act === 'look' && visible.length > 0) {
    const { id } = chance.pick(visible)
    open(store.talk(id))
    tab.listener.subscribe(id)
  }
  if (act === 'thread' && world.messages.length > 0) {
    const { channel, thread } = chance.pick(world.messages)
    if (visible.some(({ id }) => id === channel)) open(store.thread(channel, thread))
  }
  if (act === 'close' && tab.talks.length > 1) {
    tab.talks.splice(tab.talks.indexOf(talk), 1)
    talk.close()
  }
  if (act === 'older') talk?.older().catch(ignored)
  if (act === 'newer') talk?.newer().catch(ignored)
  if (act === 'around' && talk?.rows.peek().length > 0) talk.around(chance.pick(talk.rows.peek()).id)
  if (act === 'elsewhere') {
    const { organisation_slug: slug } = chance.pick(store.organisations.peek()) ?? {}
    if (slug) store.open({ slug }).catch(ignored)
  }
  if (act === 'threads') store.threads.load()
  if (act === 'reload') reload(tab)
  await new Promise(resolve => setTimeout(resolve, chance.below(20)))
}

/** The tab is closed, and opened again with what it kept. */
function reload(tab) {
  const { store } = tab
  const channels = tab.talks.filter(talk => !talk.thread).map(talk => talk.id)
  const slug = store.organisation.peek()?.organisation_slug
  store.close()
  tab.store = tab.person.store({ storage: store.storage, line: store.line })
  tab.store.open({ slug }).catch(() => {})
  tab.talks = channels.map(id => tab.store.talk(id))
  for (const talk of tab.talks) talk.open()
}

/** Kills the server while things are under way, and starts it again. */
async function kill(server, world, told) {
  told.push('the server is killed')
  const underWay = [1, 2, 3, 4].map(() => world.act().catch(() => false))
  await underWay[0]
  await server.kill()
  await Promise.all(underWay)
  await server.launch()
}

async function compare(server, tabs, world, { id, slug }) {
  await world.restoreMembers()
  for (const tab of tabs) setAway(tab, false, [])
  for (const { store, listener } of tabs) {
    listener.wake()
    // A first visit that failed leaves nothing to go on with.
    if (!store.me.peek()) await store.open({ slug })
    store.wake()
    await until('the organisation is there again', () => store.organisations.peek().some(one => one.id === id), 20_000)
    await store.open({ slug })
    const how = () => `the connection: ${JSON.stringify(store.connection.peek())} ${store.ended.peek()}`
    await until(how, () => store.connection.peek().state === 'live', 30_000)
  }
  for (const tab of tabs) {
    const { person, store, talks } = tab
    const fresh = person.store()
    try {
      await fresh.open({ slug })
      await until('it is live', () => fresh.connection.peek().state === 'live')
      await Promise.all([store, fresh].map(each => each.threads.state.peek() === 'current' || each.threads.load()))
      await until('its threads are there', () => fresh.threads.state.peek() === 'current')
      let found = null
      await until(() => `${person.name}: ${found}`, async () => {
        // Who was removed and came back opens it again.
        if (!store.organisation.peek()) await store.open({ slug }).catch(() => {})
        return (found = difference(snapshot(store), snapshot(fresh))) === null
      }, 15_000)
      for (const talk of talks) await compareTalk(person, talk, fresh)
      for (const { id } of tabs.map(({ person }) => person)) {
        await until(() => `${person.name}: ${found}`, () => {
          found = difference(personOf(store, id), personOf(fresh, id), 'person')
          return found === null
        })
      }
    } finally {
      fresh.close()
    }
    const unequal = () => tab.listener.difference(world.left.get(person.id))
    await until(unequal, () => unequal() === null)
    tab.listener.forget()
  }
  for (const channels of world.left.values()) channels.clear()
}

async function compareTalk(person, talk, fresh) {
  const what = `${person.name}'s talk ${talk.id}/${talk.thread}`
  const other = talk.thread ? fresh.thread(talk.id, talk.thread) : fresh.talk(talk.id)
  await other.open()
  try {
    const isSettled = each => ['current', 'gone'].includes(each.state.peek())
    await until(() => `${what} is ${talk.state.peek()}, ${other.state.peek()}`, () => isSettled(talk), 20_000)
    await until(() => `${what}, fetched again, is ${other.state.peek()}`, () => isSettled(other))
    assert.equal(talk.state.peek(), other.state.peek(), what)
    if (talk.state.peek() === 'gone') return
    if (other.hasNewer.peek()) await other.newest()
    while (other.hasNewer.peek()) await other.newer()
    const from = talk.hasOlder.peek() ? talk.rows.peek()[0]?.position : 0
    const to = talk.hasNewer.peek() ? talk.rows.peek().at(-1)?.position : Infinity
    while (other.hasOlder.peek() && !(other.rows.peek()[0]?.position < from)) await other.older()
    let found = null
    await until(() => `${what}: ${found}`, () => (found = difference(piece(talk, from, to), piece(other, from, to))) === null)
  } finally {
    other.close()
  }
}
