// The client's own connection and centrifuge-js beside it, on the same streams: both have to hear the same.
import { Centrifuge } from 'centrifuge'
import { clock } from '../../../src/web/client/base/clock.js'
import { createPush } from '../../../src/web/client/net/push.js'
import { network } from './visit.mjs'

/** Of these, recovery tells the latest state alone. */
const STATES = new Set(['unread_thread_change', 'thread_unread', 'channel_update'])

/** @returns What was heard of each stream, and from where on it is whole. */
function createRecord() {
  const streams = new Map()
  const of = name => {
    const known = streams.get(name) ?? { from: 0, heard: [] }
    streams.set(name, known)
    return known
  }
  const record = {
    streams,
    count: 0,
    hear(name, data, offset) {
      if (name.includes('/') && STATES.has(data.notification_type)) return
      record.count += 1
      of(name).heard.push({ offset, type: data.notification_type, channel: data.data?.channels_id })
    },
    /** What came before this is not known. */
    lose(name, offset) {
      of(name).from = offset
    },
    end: name => streams.delete(name),
  }
  return record
}

export function listen(server, person) {
  const line = network()
  const token = async () => (await person.api.createConnectionToken({ streams: 'own' })).data.token
  const [ours, theirs] = [createRecord(), createRecord()]

  const push = createPush({
    url: () => server.socketUrl, WebSocket: line.WebSocket, clock, getToken: token,
    getTokens: async channels => {
      const { data } = await person.api.createSubscriptionToken({ channels })
      return new Map(data.tokens.map(one => [one.channel, one.token]))
    },
    heard: {
      published: (name, data, { offset }) => ours.hear(name, data, offset),
      caughtUp: (name, recovered, { offset }) => recovered || ours.lose(name, offset),
      gone: name => ours.end(name),
    },
  })
  const soon = { minReconnectDelay: 50, maxReconnectDelay: 1000 }
  const other = new Centrifuge(server.socketUrl, { getToken: token, websocket: line.WebSocket, ...soon })
  other.on('publication', ({ channel, data, offset }) => theirs.hear(channel, data, offset))
  other.on('subscribed', ({ channel, recovered, streamPosition }) => recovered || theirs.lose(channel, streamPosition.offset))
  other.on('unsubscribed', ({ channel }) => theirs.end(channel))
  // It gives up when a session or its token was refused, and the client doesn't.
  let isOver = false
  other.on('disconnected', () => setTimeout(() => {
    other.setToken('')
    if (!isOver) other.connect()
  }, 100))

  return {
    line,
    async start() {
      push.start(await token(), [])
      other.connect()
    },
    /** Hears a channel with both. */
    subscribe(channel) {
      if (other.getSubscription(channel)) return
      push.subscribe(channel, null)
      const getToken = async ({ channel }) => (await person.api.createSubscriptionToken({ channel })).data.token
      const options = { getToken, recoverable: true, positioned: true, minResubscribeDelay: 50 }
      const subscription = other.newSubscription(channel, options)
      subscription.on('publication', ({ data, offset }) => theirs.hear(channel, data, offset))
      subscription.on('subscribed', ({ recovered, streamPosition }) => recovered || theirs.lose(channel, streamPosition.offset))
      subscription.on('unsubscribed', () => theirs.end(channel))
      subscription.subscribe()
    },
    /**
     * What the two heard otherwise, of the streams that both hear. Recovery leaves out what concerns channels that the person
     * has left, and whoever was connected has heard it.
     *
     * @param {Set<string>} left
     */
    difference(left) {
      const isSure = (name, channel) => !name.includes('/') || !left.has(channel)
      for (const [name, own] of ours.streams) {
        const its = theirs.streams.get(name)
        if (!its) continue
        const from = Math.max(own.from, its.from)
        const [here, there] = [own, its].map(({ heard }) => heard
          .filter(({ offset, channel }) => offset > from && isSure(name, channel))
          .map(({ offset, type }) => `${offset} ${type ?? 'message'}`).join(', '))
        if (here !== there) return `${person.name} heard of ${name}: ${here}\ninstead of ${there}`
      }
      return null
    },
    /** Begins anew with the comparison. */
    forget() {
      for (const { streams } of [ours, theirs]) {
        for (const stream of streams.values()) stream.heard = []
      }
    },
    /** Connects at once, as a tab does when the network is back. By then its backoff may be 20 s. */
    wake: () => push.wake(),
    heard: () => ours.count,
    close() {
      isOver = true
      push.stop()
      other.disconnect()
    },
  }
}
