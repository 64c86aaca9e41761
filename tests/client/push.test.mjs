// The live connection against a server that is played by the test, on a clock that the test moves.
import assert from 'node:assert/strict'
import test from 'node:test'
import { createPush } from '../../src/web/client/net/push.js'

/** Time that passes when the test says so. */
function createClock() {
  let now = 1_000_000
  const timers = new Set()
  return {
    now: () => now,
    after(ms, run) {
      const timer = { at: now + ms, run }
      timers.add(timer)
      return () => timers.delete(timer)
    },
    /** Lets time pass, and what waits for it run. */
    async pass(ms) {
      const end = now + ms
      for (;;) {
        await settled()
        const [next] = [...timers].filter(({ at }) => at <= end).sort((one, other) => one.at - other.at)
        if (!next) break
        timers.delete(next)
        now = Math.max(now, next.at)
        next.run()
      }
      now = end
      await settled()
    },
    /** The machine sleeps: its timers stand still, and its clock doesn't. */
    sleep(ms) {
      now += ms
      for (const timer of timers) timer.at += ms
    },
  }
}

const settled = () => new Promise(resolve => setImmediate(resolve))
const at = (offset, epoch = 'e') => ({ epoch, offset })

/** A connection with a server that the test plays. */
async function play({ own = [['me', at(10)]], random = () => 1, tokens = [] } = {}) {
  const clock = createClock()
  const sockets = []
  class Line {
    readyState = 0
    sent = []
    constructor() {
      sockets.push(this)
    }
    send(text) {
      this.sent.push(...text.split('\n').map(line => JSON.parse(line)))
    }
    close() {
      this.readyState = 3
    }
    open() {
      this.readyState = 1
      this.onopen()
    }
    say(...replies) {
      this.onmessage({ data: replies.map(reply => JSON.stringify(reply)).join('\n') })
    }
    end(code) {
      this.readyState = 3
      this.onclose({ code, reason: '' })
    }
    last(name) {
      return this.sent.findLast(command => command[name])
    }
  }
  const told = []
  let given = 0
  const push = createPush({
    url: () => 'ws://server', WebSocket: Line, clock, random,
    getToken: async () => `token ${given += 1}`,
    getTokens: async names => {
      tokens.push(...names)
      return new Map(names.filter(name => name !== 'forbidden').map(name => [name, `for ${name}`]))
    },
    heard: {
      published: (name, data, { offset }) => told.push(`${name} ${offset} ${data}`),
      caughtUp: (name, recovered) => told.push(`${name} ${recovered ? 'recovered' : 'lost'}`),
      gone: name => told.push(`${name} gone`),
    },
  })
  push.start('first', own)
  await settled()
  const line = () => sockets.at(-1)
  const greet = (subs = { me: { ...at(10), was_recovering: true, recovered: true } }, more = {}) => {
    line().open()
    line().say({ id: line().last('connect').id, connect: { client: 'c', ping: 25, pong: true, subs, ...more } })
  }
  return { push, clock, sockets, told, line, greet, tokens }
}

test('it recovers its own streams from where their state was fetched, in the order of the log', async () => {
  const { line, greet, told, push } = await play({ own: [['me', at(10)], ['org', at(10)]] })
  line().open()
  assert.deepEqual(line().last('connect').connect.subs, { me: { recover: true, ...at(10) }, org: { recover: true, ...at(10) } })
  assert.equal(line().last('connect').connect.token, 'first')
  greet({
    me: { ...at(14), was_recovering: true, recovered: true, publications: [{ offset: 12, data: 'b' }, { offset: 14, data: 'd' }] },
    org: { ...at(14), was_recovering: true, recovered: true, publications: [{ offset: 11, data: 'a' }, { offset: 13, data: 'c' }] },
  })
  assert.deepEqual(told, ['org 11 a', 'me 12 b', 'org 13 c', 'me 14 d', 'me recovered', 'org recovered'])
  assert.equal(push.connection.peek().state, 'live')
})

test('what was heard moves the place, and is not heard twice', async () => {
  const { line, greet, told, push, clock } = await play()
  greet()
  const again = { push: { channel: 'me', pub: { offset: 11, data: 'a' } } }
  line().say(again, again)
  assert.deepEqual(told, ['me recovered', 'me 11 a'])
  assert.deepEqual(push.position('me'), at(11))
  line().end(1006)
  await clock.pass(1000)
  line().open()
  assert.deepEqual(line().last('connect').connect.subs.me, { recover: true, ...at(11) })
})

test('a burst is applied in batches, and nothing of it is lost when the connection closes', async () => {
  const { line, greet, told, clock } = await play()
  greet()
  await clock.pass(1000)
  let offset = 10
  const post = count => {
    for (let n = 0; n < count; n += 1) line().say({ push: { channel: 'me', pub: { offset: offset += 1, data: 'x' } } })
    return told.length - 1
  }
  assert.equal(post(8), 8, 'the first frames are applied at once')
  assert.equal(post(2), 8, 'the others wait')
  await clock.pass(249)
  assert.equal(post(0), 8)
  await clock.pass(1)
  assert.equal(post(0), 10)
  assert.equal(post(30), 29, 'until a batch is full')
  line().end(1006)
  assert.equal(post(0), 40)
  assert.deepEqual(told.slice(1), Array.from({ length: 40 }, (_, n) => `me ${11 + n} x`))
})

test('it says when recovery can not be proved, and which streams are gone', async () => {
  const { greet, told } = await play({ own: [['me', at(10)], ['left', at(10)]] })
  greet({ me: { ...at(90), was_recovering: true, recovered: false } })
  assert.deepEqual(told, ['me lost', 'left gone'])
})

test('it subscribes with tokens that it asks for together', async () => {
  const { push, line, greet, told, tokens } = await play()
  for (const name of ['news', 'tea', 'forbidden']) push.subscribe(name, at(20))
  greet()
  await settled()
  assert.deepEqual(tokens, ['news', 'tea', 'forbidden'])
  const { id, subscribe } = line().last('subscribe')
  assert.deepEqual(subscribe, { channel: 'tea', token: 'for tea', recover: true, ...at(20) })
  line().say({ id, subscribe: { ...at(30), was_recovering: true, recovered: true, publications: [{ offset: 25, data: 'x' }] } })
  assert.deepEqual(told, ['me recovered', 'forbidden gone', 'tea 25 x', 'tea recovered'])
  assert.deepEqual(push.unsubscribe('tea'), at(30))
  assert.equal(line().last('unsubscribe').unsubscribe.channel, 'tea')
})

test('what is on its way of a subscription that was given up moves no place', async () => {
  const { push, line, greet, told } = await play()
  push.subscribe('tea', at(10))
  greet()
  await settled()
  line().say({ id: line().last('subscribe').id, subscribe: { ...at(10), was_recovering: true, recovered: true } })
  const place = push.unsubscribe('tea')
  line().say({ push: { channel: 'tea', pub: { offset: 11, data: 'a' } } })
  push.subscribe('tea', place)
  line().say({ push: { channel: 'tea', pub: { offset: 12, data: 'b' } } })
  await settled()
  const { id, subscribe } = line().last('subscribe')
  assert.equal(subscribe.offset, 10)
  line().say({ id, subscribe: { ...at(12), was_recovering: true, recovered: true, publications: [{ offset: 11, data: 'a' }, { offset: 12, data: 'b' }] } })
  assert.deepEqual(told.slice(-3), ['tea 11 a', 'tea 12 b', 'tea recovered'])
})

test('it subscribes again after an expired token, and not after a lost right', async () => {
  const { push, line, greet, told, tokens } = await play()
  push.subscribe('news', at(20))
  greet()
  await settled()
  line().say({ id: line().last('subscribe').id, subscribe: { ...at(30), was_recovering: true, recovered: true } })
  line().say({ push: { channel: 'news', unsubscribe: { code: 2501 } } })
  await settled()
  assert.deepEqual(tokens, ['news', 'news'])
  assert.equal(line().last('subscribe').subscribe.offset, 30)
  line().say({ push: { channel: 'news', unsubscribe: { code: 2000 } } })
  assert.equal(told.at(-1), 'news gone')
})

test('it answers pings, and gives up a connection that is silent for a ping and ten seconds', async () => {
  const { line, greet, sockets, clock, push } = await play()
  greet()
  line().say({})
  assert.deepEqual(line().sent.at(-1), {})
  await clock.pass(34_000)
  assert.equal(push.connection.peek().state, 'live')
  await clock.pass(1100)
  assert.equal(push.connection.peek().state, 'waiting')
  await clock.pass(1000)
  assert.equal(sockets.length, 2)
})

test('it waits longer after each failure, but no more than 20 seconds', async () => {
  const { line, clock, push } = await play()
  const waits = []
  for (let at = 0; at < 7; at += 1) {
    line().end(1006)
    waits.push(push.connection.peek().until - clock.now())
    await clock.pass(waits.at(-1))
  }
  assert.deepEqual(waits, [1000, 2000, 4000, 8000, 16_000, 20_000, 20_000])
})

test('the wait is anything up to its bound', async () => {
  for (const random of [() => 0, () => 0.25]) {
    const { line, clock, push } = await play({ random })
    line().end(1006)
    assert.equal(push.connection.peek().until - clock.now(), random() * 1000)
  }
})

test('waking asks at once: for a connection, or for an answer', async () => {
  const { line, greet, sockets, clock, push } = await play()
  line().end(1006)
  push.wake()
  await settled()
  assert.equal(sockets.length, 2)
  greet()
  push.wake()
  const { id, presence_stats: asked } = line().last('presence_stats')
  assert.equal(asked.channel, 'me')
  line().say({ id, presence_stats: { num_clients: 1 } })
  await clock.pass(6000)
  assert.equal(push.connection.peek().state, 'live')
  push.wake()
  await clock.pass(5100)
  assert.equal(push.connection.peek().state, 'waiting')
})

test('after a night it connects at once, with new tokens', async () => {
  const { line, greet, sockets, clock, push, tokens } = await play()
  push.subscribe('news', at(20))
  greet(undefined, { expires: true, ttl: 3600 })
  await settled()
  line().say({ id: line().last('subscribe').id, subscribe: { ...at(30), expires: true, ttl: 3600 } })
  clock.sleep(8 * 3600_000)
  push.wake()
  await settled()
  assert.equal(sockets.length, 2)
  greet(undefined, { expires: true, ttl: 3600 })
  await settled()
  assert.equal(line().last('connect').connect.token, 'token 1')
  assert.equal(line().last('subscribe').subscribe.offset, 30)
  assert.deepEqual(tokens, ['news', 'news'])
})

test('a token is renewed before it ends, and asked for again when it was refused', async () => {
  const { line, greet, sockets, clock } = await play()
  greet(undefined, { expires: true, ttl: 3600 })
  for (let at = 0; at < 180; at += 1) {
    line().say({})
    await clock.pass(18_000)
  }
  const { id, refresh } = line().last('refresh')
  assert.equal(refresh.token, 'token 1')
  line().say({ id, refresh: { expires: true, ttl: 3600 } })
  line().end(3500)
  await clock.pass(1000)
  line().open()
  assert.equal(sockets.length, 2)
  assert.equal(line().last('connect').connect.token, 'token 2')
  line().say({ id: line().last('connect').id, error: { code: 109, message: 'token expired' } })
  await clock.pass(2000)
  line().open()
  assert.equal(line().last('connect').connect.token, 'token 3')
})

test('it is patient where coming back soon is no use', async () => {
  const { line, clock, push } = await play()
  line().end(3501)
  assert.ok(push.connection.peek().until - clock.now() >= 60_000)
})

test('a stream that the server adds is new, and its state has to be fetched', async () => {
  const { line, greet, told, push } = await play()
  greet()
  const added = { push: { channel: 'org', subscribe: { recoverable: true, ...at(40) } } }
  line().say(added, { push: { channel: 'org', pub: { offset: 41, data: 'a' } } })
  assert.deepEqual(told, ['me recovered', 'org lost', 'org 41 a'])
  assert.deepEqual(push.own(), [['me', at(10)], ['org', at(41)]])
})

test('a connection that was stopped stays so', async () => {
  const { line, greet, sockets, clock, push } = await play()
  greet()
  push.stop()
  assert.equal(line().readyState, 3)
  push.wake()
  await clock.pass(120_000)
  assert.equal(sockets.length, 1)
  assert.equal(push.connection.peek().state, 'ended')
})
