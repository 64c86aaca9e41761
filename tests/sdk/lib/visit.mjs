// A visit to a server with a browser: log-in by cookie, reload, API and socket; then pages of other origins try the same.
// Usage: node visit.mjs chrome|firefox EXECUTABLE localhost|name|address|caddy, in a network of its own (cookies.test.mjs).
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { createServer } from 'node:http'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import puppeteer from 'puppeteer-core'
import { root, scratch, start, until } from './server.mjs'

const [kind, executablePath, where] = process.argv.slice(2)
const PORT = 8090
/** The flags of the server at each place, the address to open, and whether browsers trust it and say where requests come from. */
const PLACE = {
  localhost: { flags: ['--listen', `127.0.0.1:${PORT}`, '--base-url', `http://127.0.0.1:${PORT}`], url: `http://localhost:${PORT}`, trusted: true },
  name: { flags: ['--listen', `127.0.0.1:${PORT}`, '--base-url', `http://chat.lan:${PORT}`], url: `http://chat.lan:${PORT}`, trusted: false },
  address: { flags: ['--listen', `192.0.2.7:${PORT}`], url: `http://192.0.2.7:${PORT}`, trusted: false },
  caddy: {
    flags: ['--base-url', `https://chat.example.org:${PORT}`, '--trusted-proxy', '127.0.0.1'],
    url: `https://chat.example.org:${PORT}`,
    trusted: true,
  },
}[where]
const NAMES = ['chat.lan', 'evil.lan', 'chat.example.org']

const cleanups = []
const t = { after: clean => cleanups.unshift(clean) }

/** Caddy with the example's settings, and a certificate of its own authority. */
async function caddy(upstream) {
  const folder = scratch(t)
  const example = readFileSync(join(root, 'examples/Caddyfile'), 'utf8')
  const site = example.replace('chat.example.org {', `https://chat.example.org:${PORT} {\n\ttls internal`).replace('127.0.0.1:8080', `127.0.0.1:${upstream}`)
  assert.notEqual(site, example)
  writeFileSync(join(folder, 'Caddyfile'), `{\n\tskip_install_trust\n\tauto_https disable_redirects\n\tadmin off\n}\n${site}`)
  const env = { ...process.env, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder, HOME: folder }
  const running = spawn('caddy', ['run', '--adapter', 'caddyfile', '--config', join(folder, 'Caddyfile')], { env, stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  for (const stream of [running.stdout, running.stderr]) stream.on('data', chunk => { output += chunk })
  t.after(() => running.kill())
  await until(() => `Caddy has no certificate\n${output}`, () => /certificate obtained successfully/.test(output), 20_000)
}

function launch() {
  const chrome = { args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--no-proxy-server', `--host-resolver-rules=${NAMES.map(name => `MAP ${name} 127.0.0.1`).join(',')}`] }
  const firefox = { extraPrefsFirefox: { 'network.dns.localDomains': NAMES.join(','), 'network.proxy.type': 0 } }
  return puppeteer.launch({ browser: kind, executablePath, acceptInsecureCerts: true, ...(kind === 'chrome' ? chrome : firefox) })
}

/** In a page: a request of the API, as a client makes it. The status, or `null` if the browser let nobody see an answer. */
const call = (page, method, address, { body, client = true, type = 'application/json', ...options } = {}) => page.evaluate(
  async (method, address, body, headers, options) => {
    try {
      const answer = await fetch(address, { method, body, headers, ...options })
      return { status: answer.status, body: answer.type === 'opaque' ? null : await answer.json().catch(() => null) }
    } catch {
      return { status: null }
    }
  },
  method, address, body && JSON.stringify(body), { ...(body ? { 'Content-Type': type } : {}), ...(client ? { 'Tidings-Client': 'test' } : {}) }, options,
)

/** In a page: opens a socket and connects with the token. The first frame, or why there is none. */
const connect = (page, address, token) => page.evaluate((address, token) => new Promise(resolve => {
  const socket = new WebSocket(address)
  socket.onopen = () => socket.send(JSON.stringify({ id: 1, connect: { token } }))
  socket.onmessage = message => { resolve(JSON.parse(message.data.split('\n')[0])); socket.close() }
  socket.onclose = () => resolve('closed')
}), address, token)

const ada = { email: 'ada@example.org', password: 'quiet harbour at dawn' }

async function ownPage(page, api, socket) {
  await page.goto(`${PLACE.url}/`)
  assert.equal(await page.evaluate(() => isSecureContext), PLACE.trusted, 'the place is as the test supposes')
  const login = await call(page, 'POST', `${api}/auth/login`, { body: { ...ada, cookie: true } })
  assert.equal(login.status, 200, JSON.stringify(login))
  assert.equal(login.body.data.access_token, '')
  assert.equal(await page.evaluate(() => document.cookie), '', 'no script reads the cookies')

  await page.reload()
  const profile = await call(page, 'GET', `${api}/profile`)
  assert.equal(profile.body.data?.email, ada.email, JSON.stringify(profile))
  // Only where browsers say where a request comes from is the client's header not needed.
  const bare = await call(page, 'GET', `${api}/profile`, { client: false })
  assert.equal(bare.status, PLACE.trusted ? 200 : 401)

  const { token } = (await call(page, 'GET', `${api}/token/connection`)).body.data
  const connected = await connect(page, socket, token)
  assert.ok(connected.connect?.client, JSON.stringify(connected))
  return token
}

/** What a page of another origin can do with a visitor's cookies: nothing. */
async function otherOrigin(browserContext, origin, api, socket, token) {
  const page = await browserContext.newPage()
  await page.goto(origin)
  const credentials = 'include'
  for (const client of [true, false]) {
    for (const mode of ['cors', 'no-cors']) {
      const attempts = [
        ['GET', '/profile'],
        ['POST', '/auth/logout'],
        ['PATCH', '/profile', { first_name: 'Stolen' }],
        ['POST', '/auth/login', { ...ada, cookie: true }],
      ]
      for (const [method, path, body] of attempts) {
        const answer = await call(page, method, api + path, { body, client, mode, credentials, type: mode === 'cors' ? 'application/json' : 'text/plain' })
        assert.ok(!answer.body, `${origin}: ${method} ${path} ${mode}: ${JSON.stringify(answer)}`)
      }
    }
  }
  assert.equal(await connect(page, socket, token), 'closed', 'no socket opens, even with a token')
  // A form needs no permission, and is a navigation.
  await Promise.all([
    page.waitForNavigation(),
    page.evaluate(address => {
      const form = document.createElement('form')
      Object.assign(form, { method: 'post', action: address })
      document.body.append(form)
      form.submit()
    }, `${api}/auth/logout`),
  ])
  assert.match(await page.evaluate(() => document.body.innerText), /bearer token is required/i)
  await page.close()
}

async function main() {
  const server = await start(t, ...PLACE.flags)
  if (where === 'caddy') await caddy(server.port)
  const evil = createServer((_, answer) => answer.setHeader('content-type', 'text/html').end('<!doctype html><body>another page'))
  await new Promise(resolve => evil.listen(0, '0.0.0.0', resolve))
  t.after(() => evil.close())
  await server.call('POST', '/auth/register', { body: ada })
  const browser = await launch()
  t.after(() => browser.close())
  const context = await browser.createBrowserContext()
  const page = await context.newPage()
  const [api, socket] = [`${PLACE.url}/api/v1`, `${PLACE.url.replace('http', 'ws')}/connection/websocket`]

  const token = await ownPage(page, api, socket)
  const kept = async () => (await context.cookies()).filter(cookie => cookie.name.includes('tidings-'))
  const cookies = await kept()
  assert.equal(cookies.length, 2)
  for (const { name, httpOnly, secure, sameSite } of cookies) {
    assert.equal(name.startsWith('__Host-'), where === 'caddy', name)
    assert.deepEqual({ httpOnly, secure, sameSite: sameSite.toLowerCase() }, { httpOnly: true, secure: where === 'caddy', sameSite: 'lax' })
  }

  const { port } = evil.address()
  const sameSite = `http://${new URL(PLACE.url).hostname}:${port}`
  for (const origin of [sameSite, `http://evil.lan:${port}`]) await otherOrigin(context, origin, api, socket, token)
  const values = list => list.map(({ name, value }) => `${name}=${value}`).sort()
  assert.deepEqual(values(await kept()), values(cookies), 'no other page set or removed a cookie')

  const profile = await call(page, 'GET', `${api}/profile`)
  assert.equal(profile.status, 200, 'the session goes on')
  assert.equal(profile.body.data.first_name, '')
  assert.equal((await call(page, 'GET', `${api}/users/${profile.body.data.id}/sessions`)).body.data.length, 1)
  assert.equal((await call(page, 'POST', `${api}/auth/logout`)).status, 200)
  assert.deepEqual((await kept()).map(({ name }) => name.endsWith('-device')), [true], 'the browser forgot the session alone')
  assert.equal((await call(page, 'GET', `${api}/profile`)).status, 401)
  console.log(`${kind} at ${where}: ${await browser.version()}, the session stayed over a reload, and two other origins did nothing`)
}

try {
  await main()
} catch (error) {
  console.error(error)
  process.exitCode = 1
} finally {
  for (const clean of cleanups) await clean()
}
process.exit()
