// One connection to the push endpoint: commands and their replies, pushes, and whether the other side is still there.
//
// Several commands or replies stand in one frame, one a line. Replies are handed on at once and in order, not by promises: what
// follows in the same frame may depend on them.

/** What is there beside the ping interval before a silent connection is given up. */
const GRACE_MS = 10_000
/** The time for the connection to open, and for a question to be answered. */
const OPENING_MS = 15_000
/** A connection that stands answers at once, or is dead. */
const PROBE_MS = 5000

/**
 * Incoming frames pass a leaky bucket. A burst of 8 frames, and one frame each 60 ms, are applied at once. Frames above that rate are
 * applied in batches, because each change lays out and paints the window: at the latest after 250 ms, or when 16 frames wait, which
 * take about 20 ms.
 */
const BURST = 8
const DRAIN_MS = 60
const BATCH_MS = 250
const BATCH_FRAMES = 16

/** @typedef {{ code: number, message: string, temporary?: boolean }} Fault Why a command failed. Code 0: the connection ended. */
/** @typedef {(fault: Fault | null, result: any) => void} Replied */
/** @typedef {{ name: string, body: object, replied: Replied }} Command */

/**
 * @typedef {object} Socket
 * @property {(commands: Command[]) => void} send Sends commands in one frame.
 * @property {(seconds: number, pong: boolean) => void} expectPings Gives up when nothing arrives for longer.
 * @property {(channel: string) => void} probe Asks something at once, and gives up without an answer.
 * @property {(code?: number) => void} close Ends it; `closed` is told.
 */

/**
 * @param {object} options
 * @param {string} options.url
 * @param {typeof WebSocket} options.WebSocket
 * @param {import('../base/clock.js').Clock} options.clock
 * @param {(run: () => void) => void} options.together Runs what a frame brings as one change.
 * @param {() => void} options.opened
 * @param {(push: any) => void} options.pushed
 * @param {(code: number, reason: string) => void} options.closed Told once.
 * @returns {Socket}
 */
export function openSocket({ url, WebSocket, clock, together, opened, pushed, closed }) {
  /** @type {Map<number, Replied>} */
  const asked = new Map()
  let last = 0
  let isOver = false
  let isAnswering = false
  let silence = OPENING_MS
  let heardAt = clock.now()
  let cancelWatch = () => {}
  /** Frames of the next batch. @type {string[]} */
  let batch = []
  /** @type {(() => void) | null} */
  let cancelBatch = null
  let level = 0
  let since = 0
  const line = new WebSocket(url)

  /** @param {number} code @param {string} [reason] */
  const end = (code, reason = '') => {
    if (isOver) return
    isOver = true
    cancelWatch()
    try {
      line.close(1000)
    } catch {
      // It never opened.
    }
    const waiting = [...asked.values()]
    asked.clear()
    for (const replied of waiting) replied({ code: 0, message: 'the connection ended' }, null)
    closed(code, reason)
  }
  const watch = () => {
    heardAt = clock.now()
    cancelWatch()
    cancelWatch = clock.after(silence, () => end(1006, 'nothing heard'))
  }
  /** @param {string} text */
  const write = text => {
    if (!isOver && line.readyState === 1) line.send(text)
  }
  /** @param {Command[]} commands */
  const send = commands => {
    if (commands.length === 0) return
    const lines = commands.map(({ name, body, replied }) => {
      last += 1
      asked.set(last, replied)
      return JSON.stringify({ id: last, [name]: body })
    })
    write(lines.join('\n'))
  }
  /** @param {any} reply */
  const take = reply => {
    if (reply.id) {
      const replied = asked.get(reply.id)
      asked.delete(reply.id)
      const { id, error, ...results } = reply
      replied?.(error ?? null, Object.values(results)[0] ?? {})
    } else if (reply.push) {
      pushed(reply.push)
    } else if (isAnswering) {
      write('{}')
    }
  }

  line.onopen = () => {
    if (isOver) return
    watch()
    opened()
  }
  const applyBatch = () => {
    cancelBatch?.()
    cancelBatch = null
    const frames = batch
    batch = []
    together(() => {
      for (const each of frames.flatMap(frame => frame.split('\n'))) {
        if (each !== '' && !isOver) take(JSON.parse(each))
      }
    })
  }
  line.onmessage = ({ data }) => {
    if (isOver) return
    watch()
    batch.push(String(data))
    const now = clock.now()
    level = Math.min(BURST, Math.max(0, level - (now - since) / DRAIN_MS)) + 1
    since = now
    if (level <= BURST || batch.length === BATCH_FRAMES) applyBatch()
    else cancelBatch ??= clock.after(BATCH_MS, applyBatch)
  }
  line.onclose = ({ code, reason }) => {
    applyBatch()
    end(code, reason)
  }
  line.onerror = () => {}
  watch()

  return {
    send,
    expectPings: (seconds, pong) => {
      isAnswering = pong
      silence = seconds > 0 ? seconds * 1000 + GRACE_MS : 0x7fff_ffff
      watch()
    },
    probe: channel => {
      // The machine has slept, and its timers with it: the server has given this connection up.
      if (clock.now() - heardAt > silence) return end(1006, 'nothing heard')
      let isAnswered = false
      send([{ name: 'presence_stats', body: { channel }, replied: () => (isAnswered = true) }])
      clock.after(PROBE_MS, () => isAnswered || end(1006, 'no answer'))
    },
    close: (code = 1000) => end(code),
  }
}
