// The afternoon: from an empty folder to three people in a thread, by what the screens offer and nothing else. In each browser, wide
// and on a phone, with a pointer and by keyboard alone; and at plain http, by a name and by an address, where browsers trust no page
// and give no worker and no clipboard.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import test from 'node:test'
import { fileURLToPath } from 'node:url'
import { afternoon } from './lib/afternoon.mjs'
import { BROWSERS } from './lib/browser.mjs'
import { HOST } from './lib/server.mjs'

const timeout = 150_000
const LAN = '192.0.2.7'

for (const kind of BROWSERS) {
  if (HOST === LAN) test(`an afternoon in ${kind}, on a phone, by an address`, { timeout }, t => afternoon(t, kind, 'phone', 'pointer'))
  else {
    test(`an afternoon in ${kind}, wide, by a name, by keyboard alone`, { timeout }, t => afternoon(t, kind, 'wide', 'keys', 'chat.lan'))
    test(`an afternoon in ${kind}, on a phone`, { timeout }, t => afternoon(t, kind, 'phone', 'pointer'))
  }
}

// Only a network of its own has another address that is this machine's.
test('an afternoon by an address', { timeout: timeout * 2, skip: HOST === LAN }, async () => {
  const own = `ip link set lo up && ip address add ${LAN}/32 dev lo && exec "$@"`
  const command = ['--net', '--map-root-user', 'sh', '-c', own, 'sh', process.execPath, '--test', '--test-force-exit', fileURLToPath(import.meta.url)]
  const { NODE_TEST_CONTEXT, ...env } = process.env
  const running = spawn('unshare', command, { stdio: ['ignore', 'pipe', 'pipe'], env: { ...env, TEST_HOST: LAN } })
  let output = ''
  for (const stream of [running.stdout, running.stderr]) stream.on('data', chunk => { output += chunk })
  const code = await new Promise(resolve => running.on('close', resolve))
  assert.equal(code, 0, output)
  assert.match(output, new RegExp(`^# pass ${BROWSERS.length}$`, 'm'))
})
