// What the push endpoint promises to a client, kept to the unmodified npm SDK, in JSON and in Protobuf.
import assert from 'node:assert/strict'
import test from 'node:test'
import { encodings, happens, harbour, hears } from './lib/harbour.mjs'
import { lineTo } from './lib/line.mjs'
import { person, until } from './lib/server.mjs'

// SDKs reconnect for ever: without a limit, a fault would look like a test that never ends.
const timeout = 60_000

/** A listener over a line that `away` takes from it; what was said meanwhile arrives, once. */
async function recovers(t, sdk, away) {
  const place = await harbour(t, sdk)
  const line = await lineTo(t, place.server)
  const client = place.client({ socketUrl: line.socketUrl })
  const listener = await place.listen(client, place.quay)
  const before = await place.say(place.quay, 'before')
  await hears(listener, before)

  const connecting = happens(client, 'connecting')
  const missed = await away(place, line)
  const { code } = await connecting
  const back = happens(listener.subscription, 'subscribed')
  line.mend()
  const { wasRecovering, recovered } = await back
  assert.deepEqual([wasRecovering, recovered], [true, true])
  const after = await place.say(place.quay, 'after')
  await hears(listener, [...before, ...missed, ...after])
  return code
}

/** The server ends and is launched again while the client is away; both sides of that are recovered. */
const restarted = how => async ({ server, say, quay }, line) => {
  line.close()
  const one = await say(quay, '1', '2', '3')
  await server[how]()
  await server.launch()
  return [...one, ...await say(quay, '4', '5', '6')]
}

const scenarios = {
  async 'hears what is posted, until it unsubscribes'(t, sdk) {
    const place = await harbour(t, sdk)
    const client = place.client()
    const quay = await place.listen(client, place.quay)
    const pier = await place.listen(client, place.pier)
    await hears(quay, await place.say(place.quay, 'The Fram arrives at six.', 'Fog after eight.'))

    quay.subscription.unsubscribe()
    await assert.rejects(client.presence(place.quay), { code: 103 })
    await place.say(place.quay, 'Not heard.')
    await hears(pier, await place.say(place.pier, 'A marker.'))
    assert.equal(quay.texts.length, 2)
  },

  async 'sees who is there, who comes and who goes'(t, sdk) {
    const place = await harbour(t, sdk)
    const [one, two] = [place.client(), place.client()]
    const [first, second] = (await Promise.all([happens(one, 'connected'), happens(two, 'connected')])).map(({ client }) => client)
    const { subscription } = await place.listen(one, place.quay, { joinLeave: true })
    const [came, went] = [[], []]
    subscription.on('join', ({ info }) => came.push(info))
    subscription.on('leave', ({ info }) => went.push(info))
    await place.listen(two, place.quay)
    await until(() => `seen coming: ${JSON.stringify(came)}`, () => came.some(({ client }) => client === second))

    const { clients } = await subscription.presence()
    assert.deepEqual(Object.keys(clients).sort(), [first, second].sort())
    for (const { user } of [...Object.values(clients), ...came]) assert.equal(user, place.ada.id)
    assert.deepEqual(await subscription.presenceStats(), { numClients: 2, numUsers: 1 })

    two.disconnect()
    await until('nobody seen going', () => went.length > 0)
    assert.deepEqual(went.map(({ client }) => client), [second])
    assert.deepEqual(await subscription.presenceStats(), { numClients: 1, numUsers: 1 })
  },

  async 'reads what was said before it came'(t, sdk) {
    const place = await harbour(t, sdk)
    const { subscription, position } = await place.listen(place.client(), place.quay)
    const texts = await place.say(place.quay, 'one', 'two', 'three')
    const all = await subscription.history({ since: position, limit: 10 })
    assert.deepEqual(place.contents(all.publications), texts)
    const offsets = all.publications.map(({ offset }) => offset)
    assert.deepEqual(offsets, offsets.toSorted((a, b) => a - b))
    assert.ok(offsets[0] > position.offset && all.offset >= offsets[2])
    assert.equal(all.epoch, position.epoch)

    const { epoch } = position
    const rest = await subscription.history({ since: { offset: offsets[0], epoch }, limit: 1 })
    assert.deepEqual(place.contents(rest.publications), ['two'])
    const newest = await subscription.history({ limit: 2, reverse: true })
    assert.deepEqual(place.contents(newest.publications), ['three', 'two'])
    assert.deepEqual((await subscription.history({ limit: 0 })).publications, [])
    await assert.rejects(subscription.history({ since: { offset: 1, epoch: 'another' }, limit: 1 }), { code: 112 })
  },

  async 'renews its tokens as they expire, and loses nothing by it'(t, sdk) {
    const place = await harbour(t, sdk, '--push-token-seconds', '2', '--push-ping-seconds', '1')
    const { server, ada, quay } = place
    const asked = { connection: 0, subscription: 0 }
    const renewing = {
      token: await server.connectionToken(ada.bearer),
      getToken: () => (asked.connection++, server.connectionToken(ada.bearer)),
    }
    const listening = {
      token: await server.subscriptionToken(ada.bearer, quay),
      getToken: () => (asked.subscription++, server.subscriptionToken(ada.bearer, quay)),
    }
    // A token is still good in the second that it names.
    const { exp } = JSON.parse(atob(listening.token.split('.')[1]))
    await until('the tokens do not expire', () => Date.now() >= (exp + 1) * 1000)

    // Both are refused with 109, and the SDK asks for better ones.
    const client = place.client(renewing)
    const listener = await place.listen(client, quay, listening)
    assert.deepEqual(asked, { connection: 1, subscription: 1 })
    const lost = []
    client.on('connecting', context => lost.push(context))
    listener.subscription.on('subscribing', context => lost.push(context))
    // The answer to one renewal says when the next is due.
    await until(() => JSON.stringify({ asked, lost }), () => asked.connection >= 3 && asked.subscription >= 3, 30_000)
    await hears(listener, await place.say(quay, 'still here'))
    assert.deepEqual(lost, [])
  },

  async 'recovers what it missed while it was cut off'(t, sdk) {
    const code = await recovers(t, sdk, async ({ say, quay }, line) => {
      line.cut()
      return say(quay, ...Array.from({ length: 20 }, (_, n) => `${n}`))
    })
    assert.equal(code, 1)
  },

  async 'recovers over a restart'(t, sdk) {
    assert.equal(await recovers(t, sdk, restarted('stop')), 3001)
  },

  async 'recovers over kill -9'(t, sdk) {
    assert.equal(await recovers(t, sdk, restarted('kill')), 1)
  },

  async 'is kept out of a foreign channel'(t, sdk) {
    const place = await harbour(t, sdk)
    const { server, quay } = place
    const eve = await person(server, 'eve')
    await assert.rejects(server.subscriptionToken(eve.bearer, quay), /: 403 /)
    const { data: { id: own } } = await server.call('POST', '/organisations', { bearer: eve.bearer, body: { name: 'Reef' } })

    const client = place.client({ bearer: eve.bearer })
    for (const [token, code] of [['', 103], ['x.y.z', 103], [eve.bearer, 103]]) {
      const subscription = client.newSubscription(quay, { token })
      const refused = happens(subscription, 'unsubscribed')
      subscription.subscribe()
      assert.equal((await refused).code, code)
      client.removeSubscription(subscription)
    }
    assert.equal(client.state, 'connected')

    const ended = happens(client, 'disconnected')
    client.newSubscription(quay, { token: await server.subscriptionToken(eve.bearer, own) }).subscribe()
    assert.equal((await ended).code, 3500)
  },

  async 'is disconnected for good when its user logs out'(t, sdk) {
    const place = await harbour(t, sdk)
    const client = place.client()
    await place.listen(client, place.quay)
    const ended = happens(client, 'disconnected')
    await place.server.call('POST', '/auth/logout', { bearer: place.ada.bearer })
    assert.equal((await ended).code, 3503)
    assert.equal(client.state, 'disconnected')
  },
}

for (const [encoding, sdk] of Object.entries(encodings)) {
  for (const [what, scenario] of Object.entries(scenarios)) {
    test(`the npm SDK, in ${encoding}, ${what}`, { timeout }, t => scenario(t, sdk))
  }
}
