// The tour of the README works as it is written there.
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import test from 'node:test'
import { root, scratch, start } from './lib/server.mjs'

/** What a reader of the tour does: each `name=...` is filled in from the answer before, as the comment behind it says. */
const reader = `
set -eu
curl() { answer=$(command curl --fail-with-body "$@"); printf '%s\\n' "$answer"; }
field() { printf '%s' "$answer" | grep -o "\\"$1\\":\\"[^\\"]*\\"" | head -n 1 | cut -d '"' -f 4; }
`

test('the commands of the tour do what it says', { timeout: 60_000 }, async t => {
  const server = await start(t, '--allow-private-webhooks', '127.0.0.0/8')
  const [, rest] = readFileSync(join(root, 'README.md'), 'utf8').split('\n## A tour in three minutes\n')
  const [tour] = rest.split('\n## ')
  const blocks = [...tour.matchAll(/```sh\n([^]*?)```/g)].map(([, block]) => block).filter(block => block.includes('curl '))
  assert.equal(blocks.length, 3)
  const script = blocks
    .join('')
    .replaceAll('http://127.0.0.1:8080', server.url)
    .replaceAll(/^(\w+)=\.\.\. +# (?:data\.|its )(\w+).*$/gm, '$1=$(field $2)\n[ -n "$$$1" ]')
    .replaceAll(/^cargo run .*$/gm, '')
  assert.ok(!script.includes('=...'), script)
  const [hand, feed, receive] = ['"content":"Good morning"', 'Data sent successfully', '"webhook_name":"mirror"']
  const printed = execFileSync('bash', ['-c', reader + script], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] })
  for (const words of [hand, feed, receive]) assert.ok(printed.includes(words), `${words} is missing in\n${printed}`)
})

test('nobody else reads the backup that it tells to make', t => {
  const folder = scratch(t)
  const data = join(folder, 'tidings-data')
  for (const path of [data, join(folder, 'backup')]) mkdirSync(path)
  writeFileSync(join(data, 'secret.key'), 'key', { mode: 0o600 })
  const [, backups] = readFileSync(join(root, 'README.md'), 'utf8').split('\n**Backups.**')
  const [, block] = backups.match(/```sh\n([^]*?)```/)
  // Makes the file that it is told to, as the real one would.
  const stand_in = `sqlite3() { path=\${2#*"'"}; : >"\${path%"'"}"; }`
  const script = ['set -eu; umask 022', stand_in, block.replaceAll('/backup/', join(folder, 'backup/'))].join('\n')
  execFileSync('sh', ['-c', script], { cwd: folder })
  const made = readdirSync(join(folder, 'backup'))
  assert.deepEqual(made.sort(), ['secret.key', 'tidings.db'])
  for (const name of made) assert.equal(statSync(join(folder, 'backup', name)).mode & 0o077, 0, `${name} is for its owner alone`)
})
