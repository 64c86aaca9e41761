// The commands in README.md and docs/ work as they are written there.
import assert from 'node:assert/strict'
import { execFileSync, spawn } from 'node:child_process'
import { mkdirSync, readdirSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import test from 'node:test'
import { blocks, filled, reader, section } from './lib/document.mjs'
import { binary, freePort, person, scratch, start, until } from './lib/server.mjs'

test('the first message, the webhooks after it and a call of a tool work as written', { timeout: 60_000 }, async t => {
  const server = await start(t, '--allow-private-webhooks', '127.0.0.0/8')
  const sections = [
    ['README.md', 'The first message'],
    ['docs/webhooks.md', 'Post from a program'],
    ['docs/webhooks.md', 'Receive what is posted'],
    ['docs/tokens.md', 'Make a token'],
    ['docs/bots.md', 'Make a bot'],
    ['docs/slash-commands.md', 'Make a command'],
    ['docs/assistants.md', 'Try it'],
  ]
  const tour = sections.flatMap(([document, heading]) => blocks(section(document, heading))).filter(block => block.includes('curl '))
  assert.equal(tour.length, 7)
  const script = filled(tour.join(''))
    .replaceAll('http://127.0.0.1:8080', server.url)
    .replaceAll(/^cargo run .*$/gm, '')
  assert.ok(!script.includes('=...'), script)
  const expected = ['"content":"Good morning"', 'Data sent successfully', '"webhook_name":"mirror"', '"content":"Build 7 passed"',
    '"content":"Here I am"', '"hint":"[environment]"',    '"isError":false']
  const printed = execFileSync('bash', ['-c', `set -eu\n${reader}${script}`], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] })
  for (const words of expected) assert.ok(printed.includes(words), `${words} is missing in\n${printed}`)
})

test('the command that the guide tries answers', { timeout: 60_000 }, async t => {
  const server = await start(t, '--allow-private-webhooks', '127.0.0.0/8')
  const guide = section('docs/slash-commands.md', 'Try it')
  const port = await freePort()
  const program = /```python\n([^]*?)```/.exec(guide)[1].replace('9000', port)
  const running = spawn('python3', ['-c', program], { stdio: 'ignore' })
  t.after(() => running.kill('SIGKILL'))
  await until('the program listens', () => fetch(`http://127.0.0.1:${port}/`).then(() => true, () => false))
  const { bearer } = await person(server, 'ada')
  const { data: { id: org } } = await server.call('POST', '/organisations', { bearer, body: { name: 'Harbour' } })
  const { channels: [{ id: channel }] } = await server.call('GET', '/channels', { bearer })
  const named = { api: `${server.url}/api/v1`, json: 'Content-Type: application/json', auth: `Authorization: Bearer ${bearer}`, org, channel }
  const [calling] = blocks(guide)
  execFileSync('bash', ['-euc', calling.replace('9000', port)], { env: { ...process.env, ...named }, stdio: ['ignore', 'pipe', 'inherit'] })
  const { messages: [answer] } = await server.call('GET', `/channels/${channel}/messages`, { bearer })
  assert.deepEqual([answer.content, answer.username], ['High water in Whitby is at six.', 'tide'])
})

test('the first administrator is created by the command of the README', { timeout: 60_000 }, async t => {
  const server = await start(t)
  const [command] = blocks(section('README.md', 'The first administrator'))
  const [program, ...args] = command.trim().split(/\s+/)
  assert.equal(program, 'tidings')
  const [email, password] = [args[args.indexOf('--email') + 1], 'quiet harbour at dusk']
  // It reads the password from standard input, as the test has no terminal to be asked on.
  execFileSync(binary(), [...args, '--data-dir', server.data, '--password-stdin'], { input: `${password}\n` })
  const { user } = (await server.call('POST', '/auth/login', { body: { email, password } })).data
  assert.equal(user.role, 'superadmin')
})

test('the push commands publish a message and receive it', { timeout: 60_000 }, async t => {
  const key = 'a-key-of-16-or-more-characters'
  const server = await start(t, '--push-api-key', key)
  const { bearer } = await person(server, 'ada')
  await server.call('POST', '/organisations', { bearer, body: { name: 'Harbour' } })
  const { channels: [channel] } = await server.call('GET', '/channels', { bearer })
  const [listening] = blocks(section('docs/push.md', 'Without an SDK'))
  const [publishing] = blocks(section('docs/push.md', 'Publish from other programs'))
  const replaced = (block, values) => Object.entries({ 'http://127.0.0.1:8080': server.url, ...values })
    .reduce((text, [name, value]) => text.replace(name, value), block)

  const listen = replaced(listening, {
    '"T"': `"${await server.connectionToken(bearer)}"`,
    '"S"': `"${await server.subscriptionToken(bearer, channel.id)}"`,
    NAME: channel.id,
  })
  const listener = spawn('bash', ['-c', `exec ${listen}`], { stdio: ['ignore', 'pipe', 'inherit'] })
  t.after(() => listener.kill('SIGKILL'))
  let heard = ''
  listener.stdout.on('data', chunk => { heard += chunk })
  await until(() => `no connection: ${heard}`, () => heard.includes('"client"'))
  execFileSync('bash', ['-c', replaced(publishing, { KEY: key, '<channel_id>': channel.id })], { stdio: ['ignore', 'pipe', 'inherit'] })
  await until(() => `nothing was received: ${heard}`, () => /"build": ?"green"/.test(heard))
})

test('the backup that the guide describes can be restored, and nobody else can read it', t => {
  const folder = scratch(t)
  const backups = join(folder, 'backup')
  mkdirSync(backups)
  const sh = script => {
    const env = { ...process.env, PATH: `${dirname(binary())}:${process.env.PATH}` }
    return execFileSync('sh', ['-c', `set -eu; umask 022; ${script}`], { cwd: folder, env, encoding: 'utf8' })
  }
  sh('tidings user create --email ada@example.org --password "quiet harbour at dawn"')
  const [block] = blocks(section('docs/operating.md', 'Backups'))
  sh(block.replaceAll('/backup', backups))
  const made = readdirSync(backups)
  assert.equal(made.length, 1)
  assert.equal(statSync(join(backups, made[0])).mode & 0o077, 0, `${made[0]} is for its owner alone`)
  assert.match(sh(`tidings restore ${join(backups, made[0])} --dry-run`), /can be restored: 0 messages and 1 accounts/)
})
