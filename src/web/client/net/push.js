// The live connection, as docs/push.md describes it: connects, subscribes, recovers what it missed, renews its tokens, and comes
// back by itself.
//
// Each stream has a position in the server's log. What is heard moves it, and every connection recovers from there. If the server
// can't prove that nothing is missing, `caughtUp` says so, and whoever keeps the state fetches it again.

import { batch, signal } from '../base/signal.js'
import { backoff } from '../base/clock.js'
import { openSocket } from './socket.js'
import { createSubscriptions, EXPIRED, recovery, renewal } from './subscriptions.js'

/** Close codes after which coming back soon is no use: see the table in docs/push.md. */
const PATIENT = new Set([3501, 3504, 3505, 3508, 3509, 1008, 1009])
const PATIENCE_MS = 60_000

/** @typedef {{ state: 'connecting' | 'live' | 'waiting' | 'ended', until?: number }} Connection */

/** @typedef {import('./subscriptions.js').Stream} Stream */

/**
 * @typedef {object} Heard
 * @property {(channel: string, data: any, position: Position) => void} published
 * @property {(channel: string, recovered: boolean, position: Position) => void} caughtUp A stream is current again. Unless it
 *   `recovered`, its state has to be fetched again.
 * @property {(channel: string) => void} gone The user may not hear the stream any more.
 */

/**
 * @param {object} options
 * @param {() => string} options.url
 * @param {typeof WebSocket} options.WebSocket
 * @param {import('../base/clock.js').Clock} options.clock
 * @param {() => Promise<string>} options.getToken
 * @param {(channels: string[]) => Promise<Map<string, string>>} options.getTokens Of streams; none for those that are refused.
 * @param {Heard} options.heard
 * @param {() => number} [options.random]
 */
export function createPush({ url, WebSocket, clock, getToken, getTokens, heard, random = Math.random }) {
  /** @type {import('../base/signal.js').Signal<Connection>} */
  const connection = signal(/** @type {Connection} */ ({ state: 'connecting' }))
  /** @type {Map<string, Stream>} */
  const streams = new Map()
  /** @type {import('./socket.js').Socket | null} */
  let socket = null
  /** @type {string | null} */
  let token = null
  /** When the token ends, as the server has told. */
  let tokenEnds = Infinity
  let isRunning = false
  let isLive = false
  let attempt = 0
  let run = 0
  let cancelWait = () => {}
  let cancelRenewal = () => {}

  const subscriptions = createSubscriptions({
    streams, clock, getTokens, random,
    lose: name => lose(name),
    publish: (name, epoch, publication) => publish(name, epoch, publication),
    settle: (name, result) => settle(name, result),
    /** @returns {import('./socket.js').Socket | null} */
    live: () => (isLive ? socket : null),
  })

  const connect = async () => {
    cancelWait()
    run += 1
    const own = run
    connection.value = { state: 'connecting' }
    try {
      // A refusal would cost another connection.
      if (clock.now() >= tokenEnds) token = null
      if (token === null) {
        token = await getToken()
        tokenEnds = Infinity
      }
    } catch {
      if (own === run) wait(0)
      return
    }
    if (own !== run || !isRunning) return
    socket = openSocket({ url: url(), WebSocket, clock, together: batch, opened: greet, pushed, closed })
  }

  const greet = () => {
    const own = [...streams].filter(([, { isOwn }]) => isOwn)
    const subs = Object.fromEntries(own.map(([name, { position }]) => [name, recovery(position)]))
    socket?.send([{ name: 'connect', body: { token, name: 'tidings-web', subs }, replied: greeted }])
  }

  /** @type {import('./socket.js').Replied} */
  const greeted = (fault, result) => {
    if (fault) {
      if (fault.code === EXPIRED || !fault.temporary) token = null
      socket?.close()
      return
    }
    isLive = true
    attempt = 0
    socket?.expectPings(result.ping ?? 0, result.pong ?? false)
    connection.value = { state: 'live' }
    expect(result)
    const subs = result.subs ?? {}
    const missed = Object.entries(subs)
      .flatMap(([name, sub]) => (sub.publications ?? []).map((/** @type {any} */ each) => [name, sub, each]))
    for (const name of Object.keys(subs)) keep(name, true)
    // One log numbers all streams: in its order, a channel is known before what happens in it.
    for (const [name, sub, each] of missed.sort((one, other) => one[2].offset - other[2].offset)) publish(name, sub.epoch, each)
    for (const [name, sub] of Object.entries(subs)) settle(name, sub)
    for (const [name, stream] of streams) if (stream.isOwn && !subs[name]) lose(name)
    subscriptions.go()
  }

  /** A stream with its result: all that it recovered was handed on. @param {string} name @param {any} result */
  const settle = (name, result) => {
    const stream = keep(name, false)
    stream.state = 'on'
    const recovered = Boolean(result.was_recovering && result.recovered)
    const heardTo = recovered ? stream.position?.offset ?? 0 : 0
    stream.position = { epoch: result.epoch ?? '', offset: Math.max(result.offset ?? 0, heardTo) }
    heard.caughtUp(name, recovered, stream.position)
  }

  /** @param {string} name @param {string} epoch @param {{ data: any, offset: number }} publication */
  const publish = (name, epoch, { data, offset }) => {
    const stream = streams.get(name)
    if (!stream) return
    // A server that was killed in a burst may publish twice.
    if (stream.position?.epoch === epoch && offset <= stream.position.offset) return
    stream.position = { epoch, offset }
    heard.published(name, data, stream.position)
  }

  /** @param {any} push */
  const pushed = push => {
    const { channel } = push
    if (push.pub) {
      const stream = streams.get(channel)
      // What comes before the reply belongs to a subscription that was given up: it would move the position past what was missed.
      if (stream?.state === 'on') publish(channel, stream.position?.epoch ?? '', push.pub)
    } else if (push.unsubscribe) {
      const stream = streams.get(channel)
      if (!stream) return
      if (stream.isOwn || push.unsubscribe.code < 2500) return lose(channel)
      Object.assign(stream, { state: 'none', token: null })
      subscriptions.go()
    } else if (push.subscribe) {
      keep(channel, true)
      settle(channel, push.subscribe)
    } else if (push.disconnect) {
      socket?.close(push.disconnect.code)
    }
  }

  /** @param {string} name @param {boolean} isOwn @returns {Stream} */
  const keep = (name, isOwn) => {
    const known = streams.get(name)
    if (known) {
      known.isOwn ||= isOwn
      return known
    }
    /** @type {Stream} */
    const made = { position: null, isOwn, token: null, ends: Infinity, state: 'none', cancel: () => {} }
    streams.set(name, made)
    return made
  }

  /** @param {string} name */
  const lose = name => {
    streams.get(name)?.cancel()
    streams.delete(name)
    heard.gone(name)
  }

  /** The end of the token. @param {{ expires?: boolean, ttl?: number }} result */
  const expect = ({ expires, ttl = 0 }) => {
    tokenEnds = expires ? clock.now() + ttl * 1000 : Infinity
    if (expires) cancelRenewal = clock.after(renewal(ttl), renew)
  }

  const renew = async () => {
    const own = run
    try {
      const next = await getToken()
      if (own !== run) return
      token = next
      tokenEnds = Infinity
      socket?.send([{ name: 'refresh', body: { token }, replied: (fault, result) => {
        if (!fault) expect(result)
      } }])
    } catch {
      // The server closes the connection when the token ends, and the next connection asks again.
      token = null
    }
  }

  /** @param {number} code */
  const closed = code => {
    const old = socket
    socket = null
    isLive = false
    cancelRenewal()
    for (const stream of streams.values()) {
      stream.cancel()
      stream.state = 'none'
    }
    old?.close()
    if (!isRunning) return
    // The token was refused, or belongs to a session that ended: asking for another one tells.
    if (code === 3005 || code === 3011 || (code >= 3500 && code < 4000)) token = null
    wait(PATIENT.has(code) ? PATIENCE_MS : 0)
  }

  /** @param {number} least */
  const wait = least => {
    if (!isRunning) return
    const ms = least + backoff(attempt, { random })
    attempt += 1
    connection.value = { state: 'waiting', until: clock.now() + ms }
    cancelWait()
    cancelWait = clock.after(ms, connect)
  }

  return {
    connection,

    /**
     * Connects, and recovers the user's own streams from where their state was fetched or kept.
     *
     * @param {string | null} first A connection token with `streams=own`, if there is one.
     * @param {Iterable<[string, Position | null]>} own
     */
    start(first, own) {
      for (const [name, position] of own) keep(name, true).position = position
      token = first
      isRunning = true
      connect()
    },

    /** The positions of the user's own streams. @returns {[string, Position | null][]} */
    own: () => [...streams].filter(([, { isOwn }]) => isOwn).map(([name, { position }]) => [name, position]),

    /** @param {string} name @param {Position | null} position */
    subscribe(name, position) {
      if (streams.has(name)) return
      keep(name, false).position = position
      subscriptions.go()
    },

    /** @param {string} name @returns {Position | null} Where to go on later. */
    unsubscribe(name) {
      const stream = streams.get(name)
      if (!stream) return null
      streams.delete(name)
      stream.cancel()
      if (isLive && stream.state !== 'none') {
        socket?.send([{ name: 'unsubscribe', body: { channel: name }, replied: () => {} }])
      }
      return stream.position
    },

    /** @param {string} name */
    position: name => streams.get(name)?.position ?? null,

    /** Something says that the world has changed: the network is back, or the tab is looked at. */
    wake() {
      if (!isRunning) return
      if (isLive && socket) {
        const own = [...streams].find(([, { isOwn, state }]) => isOwn && state === 'on')
        if (own) socket.probe(own[0])
      }
      if (connection.peek().state === 'waiting') {
        attempt = 0
        connect()
      }
    },

    stop() {
      isRunning = false
      run += 1
      cancelWait()
      socket?.close()
      streams.clear()
      connection.value = { state: 'ended' }
    },
  }
}
