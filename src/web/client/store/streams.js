// The streams of channels: one is heard while one of its talks is open, and goes on from its position when it is opened again.

import { signal } from '../base/signal.js'

/**
 * @typedef {object} Stream
 * @property {import('../base/signal.js').Signal<boolean>} isCurrent Whether all that happened was heard.
 * @property {import('../base/signal.js').Signal<boolean>} isGone Whether the user may not hear it any more.
 * @property {(position: Position | null) => void} begin With that of the first page.
 * @property {() => Position | null} position
 * @property {() => void} open
 * @property {() => void} close
 */

/** @param {{ api: import('../net/request.js').Api, push: () => ReturnType<import('../net/push.js').createPush> }} options */
export function createStreams({ api, push }) {
  /** @type {Map<string, Stream & { lose: () => void, revive: () => void }>} */
  const streams = new Map()
  /** Tokens that came with the start. @type {Map<string, string>} */
  const tokens = new Map()

  /** @param {string} channel */
  const make = channel => {
    const isCurrent = signal(false)
    const isGone = signal(false)
    /** @type {Position | null} */
    let latest = null
    let opens = 0
    let isOn = false

    const go = () => {
      if (isOn || opens === 0 || !latest || isGone.peek()) return
      isOn = true
      push().subscribe(channel, latest)
    }
    const end = () => {
      if (!isOn) return
      isOn = false
      latest = push().unsubscribe(channel) ?? latest
      isCurrent.value = false
    }
    return {
      isCurrent,
      isGone,
      position: () => push().position(channel) ?? latest,
      /** @param {Position | null} position */
      begin(position) {
        latest ??= position
        go()
      },
      open() {
        opens += 1
        go()
      },
      close() {
        opens -= 1
        if (opens === 0) end()
      },
      /** The user is out of it. */
      lose() {
        isOn = false
        latest = null
        isCurrent.value = false
        isGone.value = true
      },
      /** The user is in it again. */
      revive() {
        if (!isGone.peek()) return
        isGone.value = false
        go()
      },
    }
  }

  return {
    /** @param {string} channel */
    of(channel) {
      const known = streams.get(channel)
      if (known) return known
      const made = make(channel)
      streams.set(channel, made)
      return made
    },

    /** @param {string} channel */
    peek: channel => streams.get(channel) ?? null,

    /** @param {{ channel: string, token: string }[]} given */
    keepTokens(given) {
      for (const { channel, token } of given) tokens.set(channel, token)
    },

    /** Each token that came with the start, once, and others that the server gives. @param {string[]} names */
    async getTokens(names) {
      const taken = new Map(names.flatMap(name => {
        const token = tokens.get(name)
        tokens.delete(name)
        return token ? [[name, token]] : []
      }))
      const others = names.filter(name => !taken.has(name))
      const given = others.length > 0 ? (await api.createSubscriptionToken({ channels: others })).data.tokens : []
      for (const { channel, token } of given) taken.set(channel, token)
      return taken
    },

    /** The connection is not there. */
    pause() {
      for (const { isCurrent } of streams.values()) isCurrent.value = false
    },
  }
}
