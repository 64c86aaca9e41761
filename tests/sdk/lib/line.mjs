// A line to the server that a test can cut: what a client loses when its network goes away.
import { connect, createServer } from 'node:net'

/** A line to `server`, under an address of its own. */
export async function lineTo(t, server) {
  const clients = new Set()
  let open = true
  const listener = createServer(client => {
    if (!open) return client.destroy()
    const far = connect(server.port, '127.0.0.1')
    clients.add(client)
    client.pipe(far).pipe(client)
    for (const [end, other] of [[client, far], [far, client]]) {
      end.on('error', () => {}) // its close follows
      end.on('close', () => other.end())
    }
    client.on('close', () => clients.delete(client))
  })
  await new Promise((resolve, reject) => listener.once('error', reject).listen(0, '127.0.0.1', resolve))

  const line = {
    socketUrl: `ws://127.0.0.1:${listener.address().port}/connection/websocket`,

    /** Lets nobody in any more; who is connected stays. */
    close() {
      open = false
    },

    /** Drops everybody without a word, and lets nobody in. */
    cut() {
      line.close()
      for (const client of clients) client.destroy()
    },

    mend() {
      open = true
    },
  }
  t.after(() => {
    line.cut()
    listener.close()
  })
  return line
}
