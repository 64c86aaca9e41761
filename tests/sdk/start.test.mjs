// docs/start.md, from an empty machine to its end: every command as it is written there, every file as the page has it.
import assert from 'node:assert/strict'
import { cpSync, existsSync, readFileSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import test from 'node:test'
import { filled, reader } from './lib/document.mjs'
import { machine } from './lib/machine.mjs'
import { link, mailServer } from './lib/mailserver.mjs'
import { binary, freePort, root, run, scratch, until } from './lib/server.mjs'

const skip = process.getuid?.() !== 0 && 'changes the root, which needs root'
const page = readFileSync(join(root, 'docs/start.md'), 'utf8')
/** The blocks in their order. `sh` is typed on the server, `sh outside` elsewhere; any other names the file that it goes to. */
const steps = [...page.matchAll(/^```(\w+)(?: (.+))?\n([^]*?)^```$/gm)].map(([, kind, at, text]) => ({ kind, at, text }))

/** What needs another machine or the internet is not run: its programs read the flags and do nothing. */
const OUTSIDE = {
  ssh: args => run('ssh', ['-G', ...args]),
  scp: args => assert.ok(!args.some(arg => arg.startsWith('-')), 'scp has no flag here'),
  journalctl: ([flag, unit]) => assert.deepEqual([flag, unit], ['-u', 'tidings']),
}

async function post(url, path, body) {
  const response = await fetch(`${url}${path}`, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) })
  const text = await response.text()
  assert.ok(response.ok, `${path}: ${response.status} ${text}`)
  return JSON.parse(text)
}

test('docs/start.md leads from an empty machine to an invited team', { timeout: 240_000, skip }, async t => {
  const mails = await mailServer(t)
  const server = machine(t)
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  run(join(root, 'dist.sh'), [binary(), server.path('root')])
  const files = join(root, 'src/web') // a debug build reads its pages and its client from there
  cpSync(files, server.path(files), { recursive: true })
  const backups = server.path('var/lib/private/tidings/backups')
  const printed = []
  await server.run(reader)
  for (const { kind, at, text } of steps) {
    if (at === 'outside') {
      for (const command of text.trim().split('\n')) {
        const [program, ...args] = command.split(' ')
        assert.ok(OUTSIDE[program], `${program}: how is it checked?`)
        OUTSIDE[program](args)
      }
    } else if (kind === 'sh') {
      assert.equal(at, undefined)
      if (text.includes('tidings backup') || text.startsWith('./install.sh')) await forgetBackups()
      printed.push(await server.run(filled(text).replaceAll('https://chat.example.org/api', `${url}/api`)))
      if (text.includes('/setup')) await administrator(printed.at(-1))
    } else {
      assert.match(at ?? '', /^[\w./-]+$/, `a block of ${kind} names the file that it goes to`)
      const content = at.endsWith('/mail_url') ? `${mails.url}\n` : at.endsWith('.env') ? settings(text) : text
      await server.run(`cat >>${at} <<'end of the file'\n${content}end of the file`)
    }
  }

  /** No authority can look at this machine: acme.test.mjs has one that can. */
  function settings(text) {
    assert.match(text, /^TIDINGS_DOMAIN=chat\.example\.org$/m)
    return `${text.replace(/^TIDINGS_DOMAIN=(.*)$/m, 'TIDINGS_BASE_URL=https://$1')}TIDINGS_LISTEN=127.0.0.1:${port}\n`
  }

  /** Backups are named by the second: removes them, and before that waits for the one that the server makes by itself. */
  async function forgetBackups() {
    const made = () => existsSync(backups) && readdirSync(backups).some(name => name.endsWith('.zst'))
    await until('the server makes no backup', made)
    rmSync(backups, { recursive: true })
  }

  /** Opens the link on the server's port, as through a tunnel, and makes the account that the page speaks of. */
  async function administrator(said) {
    const setup = new URL(said.trim())
    assert.equal(setup.origin, 'https://chat.example.org')
    assert.equal((await fetch(`${url}${setup.pathname}${setup.search}`)).status, 200)
    await post(url, '/setup/administrator', {
      token: setup.searchParams.get('token'),
      email: 'ada@example.org',
      first_name: 'Ada',
      last_name: 'Lovelace',
      password: 'quiet harbour at dawn',
      organisation: 'Harbour',
    })
  }

  const said = printed.join('')
  assert.match(said, / harbour +Harbour +ada@example\.org /)
  await mails.mails('ada@example.org', 1)
  for (const name of ['grace', 'linus', 'mary', 'ken', 'alan', 'joan']) {
    const [mail] = await mails.mails(`${name}@example.org`, 1)
    assert.equal(mail.subject, 'Ada Lovelace invites you to Harbour')
    assert.equal(mail.from.address, 'chat@example.org')
    assert.equal(link(mail).origin, 'https://chat.example.org')
    const { data } = await post(url, '/api/v1/invite/verify', { token: link(mail).searchParams.get('invitation_token') })
    assert.deepEqual([data.user.email, data.user.is_verified], [`${name}@example.org`, true])
  }
  const [toGrace] = await mails.mails('grace@example.org', 1)
  assert.ok(said.includes(link(toGrace).href), said)
  for (const words of [/grace@example\.org +yes/, /mary@example\.org +guest +ada@example\.org/, /can be restored/, /database is intact/]) {
    assert.match(said, words)
  }
  assert.equal(readdirSync(backups).length, 1, 'the upgrade made a backup')

  // What systemd and rsync think of the files that the page writes.
  run('systemd-analyze', ['verify', server.path('etc/systemd/system/tidings-copy.timer')])
  const copy = readFileSync(server.path('etc/systemd/system/tidings-copy.service'), 'utf8').match(/^ExecStart=(.*)$/m)[1].split(' ')
  const folder = scratch(t)
  run(copy[0], [...copy.slice(1, -2), `${backups}/`, folder])
  assert.equal(readdirSync(folder).length, 1)
})
