// What stands between a browser and its server, and can do to the client what networks, upgrades and proxies do.
import { createServer, request } from 'node:http'
import { connect } from 'node:net'
import { HOST } from './server.mjs'

/**
 * A front before a server that isn't started yet: `url` is what the server has to be told as its address. What it does is set on it:
 *
 * - `isDown`: it answers nobody, and open connections are cut.
 * - `refuses(method, path)`: what is cut instead of being passed on.
 * - `build`: a name that the client's build gets in all that is served; files of other builds are not there.
 */
export async function front(t) {
  const sockets = new Set()
  let upstream = 0
  let real = ''
  const front = { url: '', isDown: false, refuses: () => false, build: '' }
  const server = createServer((incoming, outgoing) => {
    if (front.isDown || front.refuses(incoming.method, incoming.url)) return incoming.socket.destroy()
    const { build } = front
    const path = build ? incoming.url.replace(`/client/${real}/`, '/client/none/').replace(`/client/${build}/`, `/client/${real}/`) : incoming.url
    // What the browser has kept may be of another build, of which the server doesn't know.
    const headers = { ...incoming.headers, 'if-none-match': '', ...(build ? { 'accept-encoding': 'identity' } : {}) }
    const passed = request({ host: HOST, port: upstream, method: incoming.method, path, headers }, async answer => {
      const isText = build && /javascript|json|html|manifest/.test(answer.headers['content-type'] ?? '')
      if (!isText) return answer.pipe(outgoing.writeHead(answer.statusCode, answer.headers))
      const text = Buffer.concat(await answer.toArray()).toString().replaceAll(real, build)
      outgoing.writeHead(answer.statusCode, { ...answer.headers, 'content-length': Buffer.byteLength(text) }).end(text)
    })
    passed.on('error', () => incoming.socket.destroy())
    incoming.pipe(passed)
  })
  server.on('upgrade', (incoming, socket) => {
    if (front.isDown) return socket.destroy()
    const lines = [`${incoming.method} ${incoming.url} HTTP/1.1`]
    for (let at = 0; at < incoming.rawHeaders.length; at += 2) lines.push(`${incoming.rawHeaders[at]}: ${incoming.rawHeaders[at + 1]}`)
    const passed = connect(upstream, HOST, () => passed.write(`${lines.join('\r\n')}\r\n\r\n`))
    passed.pipe(socket).pipe(passed)
    for (const [one, other] of [[passed, socket], [socket, passed]]) one.on('error', () => other.destroy()).on('close', () => other.destroy())
  })
  server.on('connection', socket => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
  })
  await new Promise(resolve => server.listen(0, HOST, resolve))
  t.after(() => {
    server.close()
    for (const socket of sockets) socket.destroy()
  })
  front.url = `http://${HOST}:${server.address().port}`

  return Object.assign(front, {
    /** Leads to this server, whose flags have `--base-url` of this front. */
    async before({ port, url }) {
      upstream = port
      real = (await (await fetch(`${url}/client/files.json`)).json()).build
    },
    down() {
      front.isDown = true
      for (const socket of sockets) socket.destroy()
    },
    up() { front.isDown = false },
  })
}
