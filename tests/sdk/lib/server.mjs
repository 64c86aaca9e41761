// Starts the real binary for a test, and speaks to its API.
import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'

export const root = join(dirname(fileURLToPath(import.meta.url)), '../../..')

/** The newest debug build of a program of this project, if there is one. */
export function built(name) {
  const target = process.env.CARGO_TARGET_DIR ?? join(root, 'target')
  const folders = existsSync(target) ? [target, ...readdirSync(target).map(folder => join(target, folder))] : []
  const files = folders.map(folder => join(folder, 'debug', name)).filter(file => existsSync(file) && statSync(file).isFile())
  return files.sort((a, b) => statSync(b).mtimeMs - statSync(a).mtimeMs)[0]
}

export function binary() {
  const file = process.env.TIDINGS_BIN ?? built('tidings')
  assert.ok(file && existsSync(file), 'no tidings binary: run `cargo build`, or set TIDINGS_BIN')
  return file
}

/** The example of that name; built when it is missing. */
export function example(name) {
  const given = process.env[`TIDINGS_${name.toUpperCase()}_EXAMPLE`]
  const known = given ?? built(join('examples', name))
  if (known) return known
  const build = spawnSync('cargo', ['build', '--quiet', '--example', name], { cwd: root, stdio: ['ignore', 'inherit', 'inherit'] })
  assert.equal(build.status, 0, `the example ${name} does not build`)
  return built(join('examples', name))
}

export async function freePort() {
  const listener = createServer()
  await new Promise((resolve, reject) => listener.once('error', reject).listen(0, '127.0.0.1', resolve))
  const { port } = listener.address()
  await new Promise(resolve => listener.close(resolve))
  return port
}

/** Waits until `probe` gives something, or fails after `limit` milliseconds. */
export async function until(what, probe, limit = 30_000) {
  const end = Date.now() + limit
  for (;;) {
    const found = await probe()
    if (found) return found
    assert.ok(Date.now() < end, `still waiting after ${limit} ms: ${typeof what === 'function' ? what() : what}`)
    await sleep(20)
  }
}

/** What a program prints, which must succeed. */
export function run(program, args) {
  const done = spawnSync(program, args, { encoding: 'utf8', timeout: 60_000 })
  assert.equal(done.status, 0, `${program} ${args.join(' ')}: ${done.error ?? done.stdout + done.stderr}`)
  return done.stdout
}

/** A folder that is gone after the test. */
export function scratch(t) {
  const folder = mkdtempSync(join(tmpdir(), 'tidings-sdk-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/** Where servers listen. */
export const HOST = process.env.TEST_HOST ?? '127.0.0.1'

/** A server for one test, gone at its end. It can be ended and launched again, on the same folder and port, which is PORT in flags. */
export async function start(t, ...flags) {
  const folder = mkdtempSync(join(tmpdir(), 'tidings-sdk-'))
  const port = await freePort()
  // The settings of whoever runs the tests are none of the test's.
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('TIDINGS_')))
  const args = ['serve', '--listen', `${HOST}:${port}`, '--data-dir', join(folder, 'data'), ...(flags.includes('--rate-limit') ? [] : ['--rate-limit', 'off']),
    ...flags.map(flag => flag.replace('PORT', port))]
  let child
  let exited
  let ended
  let output = ''

  async function end(signal) {
    if (ended) assert.fail(`the server had ended before it was stopped: ${JSON.stringify(ended)}\n${output}`)
    child.kill(signal)
    const result = await Promise.race([exited, sleep(10_000, 'late', { ref: false })])
    assert.notEqual(result, 'late', `the server did not end within 10 s\n${output}`)
    return result
  }

  const server = {
    port,
    url: `http://${HOST}:${port}`,
    data: join(folder, 'data'),
    socketUrl: `ws://${HOST}:${port}/connection/websocket`,
    output: () => output,

    /** Starts it, with flags of this time alone, and waits until it answers. */
    async launch(...more) {
      ended = undefined
      child = spawn(binary(), [...args, ...more], { env, stdio: ['ignore', 'pipe', 'pipe'] })
      child.stdout.on('data', chunk => { output += chunk })
      child.stderr.on('data', chunk => { output += chunk })
      exited = new Promise(resolve => {
        child.once('error', error => resolve({ error }))
        child.once('exit', (code, signal) => resolve({ code, signal }))
      })
      exited.then(end => { ended = end })
      await until(() => `the server does not answer\n${output}`, async () => {
        assert.equal(ended, undefined, `the server ended: ${JSON.stringify(ended)}\n${output}`)
        return fetch(`${server.url}/health`, { signal: AbortSignal.timeout(2000) }).then(response => response.ok, () => false)
      }, 20_000)
    },

    /** SIGTERM; the server must be gone within ten seconds, with exit code 0. */
    async stop() {
      assert.deepEqual(await end('SIGTERM'), { code: 0, signal: null }, output)
    },

    /** SIGKILL, which leaves it no time for anything. */
    async kill() {
      assert.deepEqual(await end('SIGKILL'), { code: null, signal: 'SIGKILL' }, output)
    },

    /** Asks, and asks again when a server that is busy said that it would be free, as when many hash passwords on a slow machine. */
    async call(method, path, { bearer, body } = {}, again = 10) {
      const headers = {}
      if (bearer) headers.Authorization = `Bearer ${bearer}`
      if (body !== undefined) headers['Content-Type'] = 'application/json'
      const response = await fetch(`${server.url}/api/v1${path}`, {
        method,
        headers,
        body: body === undefined ? undefined : JSON.stringify(body),
        signal: AbortSignal.timeout(10_000),
      })
      const text = await response.text()
      const after = Number(response.headers.get('Retry-After'))
      if (response.status === 503 && after > 0 && again > 0) {
        await sleep(after * 1000)
        return server.call(method, path, { bearer, body }, again - 1)
      }
      assert.ok(response.ok, `${method} ${path}: ${response.status} ${text}`)
      return text ? JSON.parse(text) : null
    },

    async connectionToken(bearer) {
      return (await server.call('GET', '/token/connection', { bearer })).data.token
    },

    async subscriptionToken(bearer, channel) {
      return (await server.call('POST', '/token/subscription', { bearer, body: { channel } })).data.token
    },
  }
  t.after(async () => {
    if (!ended) child.kill('SIGKILL')
    await exited
    rmSync(folder, { recursive: true, force: true })
  })
  await server.launch()
  return server
}

/** An account with an organisation and a channel, made through the API. */
export async function person(server, name) {
  const suffix = Math.random().toString(36).slice(2, 10)
  const email = `${name}-${suffix}@example.org`
  const password = `quiet harbour at dawn ${suffix}`
  await server.call('POST', '/auth/register', { body: { email, password, username: `${name}-${suffix}` } })
  const { user, access_token: bearer } = (await server.call('POST', '/auth/login', { body: { email, password } })).data
  return { id: user.id, username: user.username, email, password, bearer }
}
