// Subscriptions to streams that the server does not subscribe by itself: each needs a token, and gets it before its command.

import { batch } from '../base/signal.js'
import { backoff } from '../base/clock.js'

/** The error of a token that has expired. */
export const EXPIRED = 109
/** The error of a stream that this connection hears already. */
const TWICE = 105

/**
 * @typedef {object} Stream
 * @property {Position | null} position
 * @property {boolean} isOwn Whether the server subscribes it by itself.
 * @property {string | null} token
 * @property {number} ends When the token ends, as the server has told.
 * @property {'none' | 'asking' | 'on'} state
 * @property {() => void} cancel Of the renewal of its token.
 */

/**
 * @param {object} options
 * @param {Map<string, Stream>} options.streams
 * @param {import('../base/clock.js').Clock} options.clock
 * @param {(channels: string[]) => Promise<Map<string, string>>} options.getTokens
 * @param {() => number} options.random
 * @param {(name: string) => void} options.lose
 * @param {(name: string, epoch: string, publication: { data: any, offset: number }) => void} options.publish
 * @param {(name: string, result: any) => void} options.settle
 * @param {() => import('./socket.js').Socket | null} options.live The connection, if it stands.
 */
export function createSubscriptions({ streams, clock, getTokens, random, lose, publish, settle, live }) {
  const subscribeWaiting = async () => {
    const all = [...streams].filter(([, stream]) => !stream.isOwn && stream.state === 'none')
    const socket = live()
    if (!socket || all.length === 0) return
    for (const [, stream] of all) {
      stream.state = 'asking'
      if (clock.now() >= stream.ends) stream.token = null
    }
    const without = all.filter(([, stream]) => !stream.token).map(([name]) => name)
    try {
      const tokens = without.length > 0 ? await getTokens(without) : new Map()
      for (const name of without) {
        const stream = streams.get(name)
        if (stream) give(stream, tokens.get(name))
      }
    } catch {
      for (const [, stream] of all) if (stream.state === 'asking') stream.state = 'none'
      clock.after(backoff(1, { random }), subscribeWaiting)
      return
    }
    const asked = all.filter(([name, stream]) => streams.get(name) === stream)
    if (live() !== socket) {
      for (const [, stream] of asked) if (stream.state === 'asking') stream.state = 'none'
      return subscribeWaiting()
    }
    batch(() => {
      for (const [name, stream] of asked) if (!stream.token) lose(name)
    })
    const commands = asked.filter(([name]) => streams.has(name)).map(([channel, stream]) => ({
      name: 'subscribe',
      body: { channel, token: stream.token, ...recovery(stream.position) },
      replied: (/** @type {any} */ fault, /** @type {any} */ result) => subscribed(channel, stream, fault, result),
    }))
    socket.send(commands)
  }

  /** @param {string} name @param {Stream} stream @param {import('./socket.js').Fault | null} fault @param {any} result */
  const subscribed = (name, stream, fault, result) => {
    if (streams.get(name) !== stream) return
    if (!fault) {
      for (const each of result.publications ?? []) publish(name, result.epoch, each)
      expect(name, stream, result)
      return settle(name, result)
    }
    // Another command of the same connection was faster, and its reply tells the rest.
    if (fault.code === TWICE) return
    stream.state = 'none'
    if (fault.code === 0) return
    if (fault.code === EXPIRED) stream.token = null
    if (fault.code === EXPIRED || fault.temporary) clock.after(backoff(1, { random }), subscribeWaiting)
    else lose(name)
  }

  /** @param {string} name @param {Stream} stream */
  const renewStream = async (name, stream) => {
    const tokens = await getTokens([name]).catch(() => new Map())
    if (streams.get(name) !== stream) return
    give(stream, tokens.get(name))
    if (!stream.token) return
    live()?.send([{ name: 'sub_refresh', body: { channel: name, token: stream.token }, replied: (fault, result) => {
      if (!fault) expect(name, stream, result)
    } }])
  }

  /** @param {Stream} stream @param {string} [token] */
  const give = (stream, token = '') => Object.assign(stream, { token: token || null, ends: Infinity })

  /** The end of a token. @param {string} name @param {Stream} stream @param {{ expires?: boolean, ttl?: number }} result */
  const expect = (name, stream, { expires, ttl = 0 }) => {
    stream.ends = expires ? clock.now() + ttl * 1000 : Infinity
    if (expires) stream.cancel = clock.after(renewal(ttl), () => renewStream(name, stream))
  }

  return { go: subscribeWaiting }
}

/** What a subscription asks to recover from. @param {Position | null} position */
export const recovery = position => (position ? { recover: true, epoch: position.epoch, offset: position.offset } : {})

/** Some time before the end, in milliseconds. @param {number} seconds */
export const renewal = seconds => Math.max(1, seconds - Math.max(5, seconds / 10)) * 1000
