// A far line to the server: 80 ms there and back, 10 Mbit/s, as TCP would use it. It is a relay, since `tc netem` is not in each
// kernel; unlike the browser's own throttling it delays sockets and the worker's requests too.
import { connect, createServer } from 'node:net'

const RTT_MS = 80
const BYTES_PER_MS = 10_000 / 8
const SEGMENT = 1460
/** What TCP sends before the first answer, and again after a rest. */
const WINDOW = 10 * SEGMENT
const REST_MS = 1000

/** One direction of the link, which all connections share. */
function link() {
  let free = 0
  return bytes => {
    const now = performance.now()
    free = Math.max(free, now) + bytes / BYTES_PER_MS
    return free - now + RTT_MS / 2
  }
}

/** Sends to `target` what comes from `source`, with slow start: the window grows by what has been acknowledged. */
function carry(source, target, transit, delay) {
  const queue = []
  /** Segments in flight, in order: the timers of a busy process may fire out of order. */
  const sent = []
  let [window, flying, last, isEnded] = [WINDOW, 0, 0, false]
  const send = () => {
    if (performance.now() - last > REST_MS && flying === 0) window = WINDOW
    while (queue.length > 0 && flying + queue[0].length <= window) {
      const piece = queue.shift()
      flying += piece.length
      last = performance.now()
      const wait = transit(piece.length)
      sent.push(piece)
      setTimeout(() => {
        const first = sent.shift()
        if (!target.destroyed) target.write(first)
      }, wait)
      setTimeout(() => {
        flying -= piece.length
        window += piece.length
        send()
      }, wait + RTT_MS / 2)
    }
    if (isEnded && queue.length === 0) setTimeout(() => target.end(), transit(0))
  }
  const take = chunk => {
    for (let at = 0; at < chunk.length; at += SEGMENT) queue.push(chunk.subarray(at, at + SEGMENT))
    send()
  }
  const opened = performance.now() + delay
  source.on('data', chunk => setTimeout(() => take(chunk), Math.max(0, opened - performance.now())))
  source.on('end', () => setTimeout(() => { isEnded = true; send() }, Math.max(0, opened - performance.now())))
}

/** A relay to a server; `isFar` makes its line long. `cut()` drops everybody without a word and lets nobody in until `mend()`. */
export async function relay(t, server, { isFar = false } = {}) {
  const open = new Set()
  let isOpen = true
  const [up, down] = [link(), link()]
  const listener = createServer({ noDelay: true, allowHalfOpen: isFar }, client => {
    if (!isOpen) return client.destroy()
    const far = connect({ port: server.port, host: '127.0.0.1', noDelay: true, allowHalfOpen: isFar })
    open.add(client)
    if (isFar) {
      carry(client, far, up, RTT_MS) // the connection itself takes a round trip
      carry(far, client, down, 0)
    } else client.pipe(far).pipe(client)
    for (const [end, other] of [[client, far], [far, client]]) {
      end.on('error', () => {})
      end.on('close', () => setTimeout(() => other.destroy(), isFar ? 2 * RTT_MS : 0))
    }
    client.on('close', () => open.delete(client))
  })
  await new Promise(resolve => listener.listen(0, '127.0.0.1', resolve))
  const cut = () => {
    isOpen = false
    for (const client of open) client.destroy()
  }
  t.after(() => {
    cut()
    listener.close()
  })
  return { port: listener.address().port, url: `http://127.0.0.1:${listener.address().port}`, cut, mend: () => { isOpen = true } }
}
