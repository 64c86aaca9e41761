// examples/tour.sh with somebody listening: an unmodified SDK, the specification's raw client, examples/listen.rs.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import test from 'node:test'
import { Centrifuge } from 'centrifuge'
import WebSocket from 'ws'
import { example, person, start, until } from './lib/server.mjs'
import { NOTICES, check, tour } from './lib/tour.mjs'

// SDKs reconnect for ever: without a limit, a fault would look like a test that never ends.
const timeout = 90_000

test('the npm SDK hears the tour, in order and once', { timeout }, async t => {
  const server = await start(t)
  const received = []
  const trouble = []
  let client
  t.after(() => client?.disconnect())

  const place = await tour(t, server, async ({ channel, personal, grace }) => {
    client = new Centrifuge(server.socketUrl, {
      websocket: WebSocket,
      getToken: () => server.connectionToken(grace.bearer),
    })
    client.on('error', context => trouble.push(context.error))
    const subscribed = [channel, personal].map(name => {
      const subscription = client.newSubscription(name, {
        getToken: context => server.subscriptionToken(grace.bearer, context.channel),
      })
      subscription.on('publication', context => received.push({ channel: context.channel, data: context.data }))
      subscription.on('error', context => trouble.push(context.error))
      subscription.subscribe()
      return subscription.ready(30_000)
    })
    client.connect()
    await client.ready(30_000)
    await Promise.all(subscribed)
  })
  await check(server, place, received)
  assert.deepEqual(trouble, [])

  // At its end the server says so, and the client would come back.
  const closing = new Promise(resolve => client.once('connecting', resolve))
  await server.stop()
  assert.equal((await closing).code, 3001)
})

test('the raw client of the specification hears the tour, in order and once', { timeout }, async t => {
  const server = await start(t)
  const received = []
  const others = []
  let socket
  let closed
  t.after(() => socket?.terminate())

  const place = await tour(t, server, async ({ channel, personal, grace }) => {
    const organisations = (await server.call('GET', '/users/organisations', { bearer: grace.bearer })).data
    assert.deepEqual(organisations.map(organisation => `${organisation.id}/${grace.id}`), [personal])
    const subs = {}
    for (const name of [personal, channel]) subs[name] = { token: await server.subscriptionToken(grace.bearer, name) }
    // A token that is not for the channel leaves that channel out, and nothing else.
    subs[organisations[0].id] = { token: subs[channel].token }
    const token = await server.connectionToken(grace.bearer)

    socket = new WebSocket(server.socketUrl)
    closed = new Promise(resolve => socket.once('close', (code, reason) => resolve({ code, reason: reason.toString() })))
    socket.on('message', frame => {
      for (const line of frame.toString().split('\n').filter(Boolean)) {
        const object = JSON.parse(line)
        if (object.push?.pub) received.push({ channel: object.push.channel, data: object.push.pub.data })
        else if (line !== '{}') others.push(object)
      }
    })
    await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject))
    socket.send(JSON.stringify({ connect: { token, subs } }))
    const [first] = await until('no reply to connect', () => others.length > 0 && others)
    assert.equal('id' in first, false)
    assert.deepEqual(Object.keys(first.connect.subs).sort(), [channel, personal].sort())
    assert.ok(first.connect.client && first.connect.ping > 0)
    assert.ok(!first.connect.pong, 'the raw client answers no pings')
  })
  await check(server, place, received)
  assert.equal(others.length, 1)

  await server.stop()
  const end = await closed
  assert.equal(end.code, 3001)
  assert.notEqual(end.reason, '')
})

test('curl hears the tour as server-sent events', { timeout }, async t => {
  const server = await start(t)
  let output = ''
  let exited
  const events = () => output.split('\n\n').slice(0, -1).map(event => JSON.parse(event.replace(/^data: /, '')))
  const received = []

  const place = await tour(t, server, async ({ channel, personal, grace }) => {
    const subs = {}
    for (const name of [personal, channel]) subs[name] = { token: await server.subscriptionToken(grace.bearer, name) }
    const request = JSON.stringify({ token: await server.connectionToken(grace.bearer), subs })
    const address = `${server.url}/connection/uni_sse`
    const child = spawn('curl', ['-sN', '-G', address, '--data-urlencode', `cf_connect=${request}`], { stdio: ['ignore', 'pipe', 'inherit'] })
    t.after(() => child.kill('SIGKILL'))
    child.stdout.on('data', chunk => { output += chunk })
    exited = new Promise(resolve => child.once('close', resolve))
    const [first] = await until('no answer', () => events().length > 0 && events())
    assert.deepEqual(Object.keys(first.connect.subs).sort(), [channel, personal].sort())
  })
  await until(() => `the marker has not arrived\n${output}`, () => {
    const publications = events().filter(event => event.pub)
    received.splice(0, Infinity, ...publications.map(event => ({ channel: event.channel, data: event.pub.data })))
    return received.some(item => item.data.content === place.marker)
      && received.filter(item => item.channel === place.personal).length >= NOTICES
  })
  await check(server, place, received)
  await server.stop()
  assert.equal(await exited, 0, 'the stream ends when the server does')
  assert.deepEqual(events().at(-1).disconnect, { code: 3001, reason: 'shutdown' })
})

test('examples/listen.rs hears the tour', { timeout: 600_000 }, async t => {
  const program = example('listen')
  const server = await start(t)
  let output = ''
  let errors = ''
  let exited
  const received = []

  const place = await tour(t, server, async ({ grace }) => {
    const child = spawn(program, [server.url, grace.email, grace.password], { stdio: ['ignore', 'pipe', 'pipe'] })
    t.after(() => child.kill('SIGKILL'))
    child.stdout.on('data', chunk => { output += chunk })
    child.stderr.on('data', chunk => { errors += chunk })
    exited = new Promise(resolve => child.once('close', resolve))
    // The organisation's default channel, the tour's, and the personal one.
    await until(() => `it does not listen\n${output}${errors}`, () => output.includes('listening to 3 channels\n'))
  })
  const parsed = () => output.split('\n').slice(1).filter(Boolean).map(line => {
    const space = line.indexOf(' ')
    return { channel: line.slice(0, space), data: JSON.parse(line.slice(space + 1)) }
  })
  await until(() => `the marker has not arrived\n${output}${errors}`, () => {
    if (output.endsWith('\n')) received.splice(0, Infinity, ...parsed())
    return received.some(item => item.data.content === place.marker)
      && received.filter(item => item.channel === place.personal).length >= NOTICES
  })
  await check(server, place, received)
  await server.stop()
  assert.equal(await exited, 1, 'it ends when the server does')
})

test('a wrong token is refused for good, and the SDK does not try for ever', { timeout }, async t => {
  const server = await start(t)
  const ada = await person(server, 'ada')
  const tries = []
  const client = new Centrifuge(server.socketUrl, {
    websocket: class extends WebSocket {
      constructor(...args) {
        super(...args)
        tries.push(args[0])
      }
    },
    // A bearer is no connection token.
    token: ada.bearer,
  })
  t.after(() => client.disconnect())
  const ended = new Promise(resolve => client.once('disconnected', resolve))
  client.connect()
  assert.equal((await ended).code, 3500)
  assert.equal(tries.length, 1)

  const outsider = await person(server, 'eve')
  const organisation = (await server.call('POST', '/organisations', { bearer: ada.bearer, body: { name: 'Harbour' } })).data
  await assert.rejects(server.subscriptionToken(outsider.bearer, organisation.id), /: 403 /)
  await assert.rejects(server.subscriptionToken(ada.bearer, `${organisation.id}/${outsider.id}`), /: 403 /)
  await server.stop()
})
