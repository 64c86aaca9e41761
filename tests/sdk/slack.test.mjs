// The import of a Slack export with its files, which are fetched from a stand-in for Slack. lib/slack.mjs has both.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import test from 'node:test'
import { fileURLToPath } from 'node:url'
import { binary } from './lib/server.mjs'

const IMPORT = fileURLToPath(new URL('lib/slack.mjs', import.meta.url))
/** More than enough for four at once to come in any order. `SLACK_FILES=9980` tries a large workspace. */
const FILES = process.env.SLACK_FILES ?? '200'

test('files come from Slack, over cuts and refusals, and from nowhere else', { timeout: Number(FILES) * 100 + 100_000 }, async () => {
  // A network of its own, with addresses that are public elsewhere, and no interface's: a server calls none of its own.
  const own = 'ip link set lo up && ip route add local 44.0.0.0/24 dev lo && exec "$@"'
  const command = ['--net', '--mount', '--map-root-user', 'sh', '-c', own, 'sh', process.execPath, IMPORT, FILES]
  const running = spawn('unshare', command, { stdio: ['ignore', 'pipe', 'pipe'], env: { ...process.env, TIDINGS_BIN: binary() } })
  let output = ''
  for (const stream of [running.stdout, running.stderr]) stream.on('data', chunk => { output += chunk })
  const code = await new Promise(resolve => running.on('close', resolve))
  assert.equal(code, 0, output)
  assert.match(output, /^all files are there/m)
  console.log(output)
})
