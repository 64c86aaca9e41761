// Commands of the open organisation, and what they answer to the person alone. Nobody else has these answers, and no server keeps them.

import { signal } from '../base/signal.js'

/** @typedef {import('#api').components['schemas']['Command']} Command */
/** @typedef {{ id: number, command: string, text: string }} Answer */

/** Answers that stand in one place: an older one is read, or never will be. */
const MOST = 3
/** For how long a list of commands stands. */
const FRESH_MS = 60_000

/**
 * @param {object} options
 * @param {import('../net/request.js').Api} options.api
 * @param {() => string | undefined} options.organisation
 * @param {import('../base/clock.js').Clock} options.clock
 */
export function createCommands({ api, organisation, clock }) {
  /** @type {{ of: string, at: number, all: Promise<Command[]> } | null} */
  let listed = null
  /** @type {Map<string, import('../base/signal.js').Signal<Answer[]>>} By the talk of the call: a thread, or else a channel. */
  const answers = new Map()
  let count = 0

  /** @param {string} talk */
  const answersAt = talk => {
    const found = answers.get(talk) ?? signal(/** @type {Answer[]} */ ([]))
    answers.set(talk, found)
    return found
  }

  /** @param {string} talk @param {string} command @param {string} text */
  const tell = (talk, command, text) => {
    const shown = answersAt(talk)
    shown.value = [...shown.peek(), { id: count += 1, command, text }].slice(-MOST)
  }

  return {
    answers: answersAt,
    tell,

    /** @param {string} talk @param {number} id */
    dismiss(talk, id) {
      const shown = answersAt(talk)
      shown.value = shown.peek().filter(each => each.id !== id)
    },

    /** @returns {Promise<Command[]>} */
    list() {
      const of = organisation() ?? ''
      if (listed?.of === of && clock.now() - listed.at < FRESH_MS) return listed.all
      const all = api.listCommands(of, {}).then(({ data }) => data)
      listed = { of, at: clock.now(), all }
      all.catch(() => { if (listed?.all === all) listed = null })
      return all
    },

    /** @param {any} data Of a `command_answer`. */
    told: ({ channel_id: channel, thread_id: thread, command, text }) => tell(thread ?? channel, command, text),
  }
}
