// How soon all are current again when the server of a thousand tabs restarts. The tabs are the client's own store and connection in
// node, each of another person in a browser of their own, from 20 addresses.
import { createRequire } from 'node:module'
import { Agent, request } from 'node:http'
import { createRequests } from '../../src/web/client/net/request.js'
import { effect } from '../../src/web/client/base/signal.js'
import { openStore } from '../../src/web/client/store/index.js'
import { memoryStorage } from '../../src/web/client/store/storage.js'
import { logIn, PASSWORD } from '../../tests/browser/lib/server.mjs'
import { write } from './world.mjs'

const Socket = createRequire(new URL('../../tests/client/package.json', import.meta.url))('ws')
const [TABS, ADDRESSES, LIMIT_MS] = [1000, 20, 60_000]
const rest = ms => new Promise(resolve => setTimeout(resolve, ms))

/** What one browser has of its own: connections from its address, and cookies. `refused` is told of each status that is one. */
function browser(address, refused) {
  const agent = new Agent({ keepAlive: true, maxSockets: 6, localAddress: address })
  const jar = new Map()
  const fetch = (url, { method = 'GET', headers, body, signal } = {}) => new Promise((resolve, reject) => {
    const cookie = [...jar].map(([name, value]) => `${name}=${value}`).join('; ')
    request(url, { method, agent, signal, headers: { ...headers, ...cookie && { Cookie: cookie } } }, async answer => {
      for (const line of answer.headers['set-cookie'] ?? []) jar.set(...line.split(';')[0].split('='))
      if (answer.statusCode >= 400) refused(answer.statusCode)
      const content = Buffer.concat(await answer.toArray().catch(() => []))
      const { 'set-cookie': _, ...rest } = answer.headers
      resolve(new Response(content.length > 0 ? content : null, { status: answer.statusCode, headers: rest }))
    }).on('error', reject).end(body)
  })
  class WebSocket extends Socket {
    constructor(url) {
      super(url, { localAddress: address })
      this.on('error', () => {})
      this.on('message', data => { if (String(data).includes('"code":111')) refused(111) })
    }
  }
  return { fetch, WebSocket, close: () => agent.destroy() }
}

/** A tab in the large channel, as soon as its talk is current. */
async function open({ server: { url: base }, slug, large }, k, refused) {
  const { fetch, WebSocket, close } = browser(`127.0.0.${2 + k % ADDRESSES}`, refused)
  await createRequests({ base, fetch }).logIn({ email: `u${k + 1}@example.org`, password: PASSWORD, cookie: true })
  const store = openStore({ base, fetch, WebSocket, storage: memoryStorage(), locks: undefined })
  await store.open({ slug, channel: large })
  const talk = store.talk(large)
  await talk.open()
  while (talk.state.peek() !== 'current') await rest(20)
  // The page itself asks for the server's build when its connection comes back.
  let wasLive = false
  effect(() => {
    if (store.connection.value.state !== 'live') return
    if (wasLive) fetch(`${base}/client/files.json`).catch(() => {})
    wasLive = true
  })
  return { talk, close: () => { store.close(); close() } }
}

/** The same for all numbers below a bound, some at a time. */
async function each(bound, together, make) {
  const all = []
  const worker = async () => { for (let k = all.length; k < bound; k = all.length) await (all[k] = make(k)) }
  await Promise.all(Array.from({ length: together }, worker))
  return Promise.all(all)
}

export async function restart({ t, world, table }) {
  const { server } = world
  await server.stop()
  write(server.data, `update users set password_hash = (select password_hash from users where email = '${world.email}')
    where email like 'u%@example.org' and cast(substr(email, 2) as integer) between 1 and ${TABS};`)
  await server.launch()
  const grace = await logIn(server, world.grace)
  const refusals = new Map()
  const tabs = await each(TABS, 4, k => open(world, k, status => refusals.set(status, (refusals.get(status) ?? 0) + 1)))
  t.after(() => tabs.forEach(tab => tab.close()))
  await rest(2000)
  refusals.clear()
  const began = performance.now()
  await server.stop()
  await server.launch()
  const away = performance.now() - began
  const text = `After the restart ${began}`
  await grace.call('POST', `/channels/${world.large}/messages`, { content: text })
  const waiting = new Set(tabs)
  const took = []
  while (waiting.size > 0 && performance.now() - began < LIMIT_MS) {
    for (const tab of waiting) {
      if (tab.talk.state.peek() !== 'current' || tab.talk.rows.peek().at(-1)?.content !== text) continue
      took.push((performance.now() - began) / 1000)
      waiting.delete(tab)
    }
    await rest(20)
  }
  for (const _ of waiting) took.push(Infinity)
  await rest(3000) // what is asked for afterwards may be refused, too
  const what = `server restart with ${TABS.toLocaleString('en')} tabs`
  const others = [...refusals].map(([status, count]) => `${status}: ${count}`).join(', ')
  const note = `from SIGTERM on; the server was away for ${(away / 1000).toFixed(1)} s, and all tabs run in one process beside it`
  table.row(`${what}: all current`, took, { bar: 10, unit: 's', of: 1, note })
  table.row(`${what}: 429s`, [(refusals.get(429) ?? 0) + (refusals.get(111) ?? 0)], { bar: 0, note: others && `refusals: ${others}` })
}
restart.flags = ['--rate-limit', 'on']
