// Sessions by cookie in real browsers, at each kind of place where a server is reached. lib/visit.mjs is the visit.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import test from 'node:test'
import { fileURLToPath } from 'node:url'
import { binary } from './lib/server.mjs'

const VISIT = fileURLToPath(new URL('lib/visit.mjs', import.meta.url))
const BROWSERS = {
  chrome: process.env.CHROMIUM ?? '/usr/bin/chromium',
  firefox: process.env.FIREFOX ?? '/usr/bin/firefox-esr',
}

/** Runs the visit in a network of its own, which has this machine alone, under an address that browsers don't take for it. */
function visit(...args) {
  const own = 'ip link set lo up && ip address add 192.0.2.7/32 dev lo && exec "$@"'
  const command = ['--net', '--map-root-user', 'sh', '-c', own, 'sh', process.execPath, VISIT, ...args]
  const running = spawn('unshare', command, { stdio: ['ignore', 'pipe', 'pipe'], env: { ...process.env, TIDINGS_BIN: binary() } })
  let output = ''
  for (const stream of [running.stdout, running.stderr]) stream.on('data', chunk => { output += chunk })
  return new Promise(resolve => running.on('close', code => resolve({ code, output })))
}

for (const [browser, file] of Object.entries(BROWSERS)) {
  for (const place of ['localhost', 'name', 'address', 'caddy']) {
    test(`${browser} keeps a session at ${place}, and other origins can't use it`, { timeout: 120_000 }, async () => {
      assert.ok(existsSync(file), `there is no ${file}`)
      const { code, output } = await visit(browser, file, place)
      assert.equal(code, 0, output)
      assert.match(output, new RegExp(`^${browser} at ${place}: `, 'm'))
    })
  }
}
