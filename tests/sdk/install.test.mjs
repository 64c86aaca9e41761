// install.sh, with a binary that is there: what it writes, and that a failure leaves nothing behind.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import test from 'node:test'
import { binary, root, scratch } from './lib/server.mjs'

const timeout = 60_000
const run = (program, args, options = {}) => spawnSync(program, args, { encoding: 'utf8', timeout, ...options })
const install = (args, options) => run('sh', [join(root, 'install.sh'), ...args], options)

test('it puts the binary and the unit in place, twice', { timeout }, t => {
  const folder = scratch(t)
  const prefix = join(folder, 'prefix')
  for (const time of ['first', 'second']) {
    const done = install(['--prefix', prefix, '--binary', binary(), '--service', '--env-file', join(folder, 'etc/tidings.env')])
    assert.equal(done.status, 0, `${time}: ${done.stderr}`)
    assert.equal(done.stderr, '')
  }
  const installed = join(prefix, 'bin/tidings')
  assert.equal(statSync(installed).mode & 0o777, 0o755)
  assert.deepEqual(readdirSync(join(prefix, 'bin')), ['tidings'])
  assert.match(run(installed, ['version']).stdout, /^tidings \d+\.\d+\.\d+/)

  const units = join(prefix, 'lib/systemd/system')
  assert.deepEqual(readdirSync(units), ['tidings.service'])
  const unit = readFileSync(join(units, 'tidings.service'), 'utf8')
  for (const line of [`ExecStart=${installed} serve`, 'Restart=always', 'StateDirectory=tidings', 'DynamicUser=yes', 'NoNewPrivileges=yes']) {
    assert.ok(unit.split('\n').includes(line), line)
  }
  assert.match(unit, /^TimeoutStopSec=\d+$/m)
  // However long an upgrade takes, and however often the start fails, the service goes on.
  assert.match(unit, /^TimeoutStartSec=infinity$/m)
  assert.match(unit, /^StartLimitIntervalSec=0$/m)
})

test('paths may be relative, have spaces, and lie below DESTDIR', { timeout }, t => {
  const folder = scratch(t)
  const done = install(['--prefix=a place', '--binary', binary()], { cwd: folder })
  assert.equal(done.status, 0, done.stderr)
  assert.ok(existsSync(join(folder, 'a place/bin/tidings')))

  const staged = install(['--prefix', '/usr', '--service', '--unit-dir', '/etc/systemd/system', '--binary', binary()], {
    env: { ...process.env, DESTDIR: join(folder, 'root') },
  })
  assert.equal(staged.status, 0, staged.stderr)
  assert.ok(existsSync(join(folder, 'root/usr/bin/tidings')))
  assert.match(readFileSync(join(folder, 'root/etc/systemd/system/tidings.service'), 'utf8'), /^ExecStart=\/usr\/bin\/tidings serve$/m)
})

test('nobody but its owner reads the file with the settings', { timeout }, t => {
  const folder = scratch(t)
  const file = join(folder, 'etc/tidings.env')
  const service = () => {
    const args = ['--prefix', '/usr', '--service', '--binary', binary()]
    const done = run('sh', ['-c', 'umask 000; exec sh "$0" "$@"', join(root, 'install.sh'), ...args], {
      env: { ...process.env, DESTDIR: folder },
    })
    assert.equal(done.status, 0, done.stderr)
    const { mode, uid } = statSync(file)
    assert.equal(mode & 0o777, 0o600)
    assert.equal(uid, process.getuid())
  }
  service()
  assert.match(readFileSync(join(folder, 'usr/lib/systemd/system/tidings.service'), 'utf8'), /^EnvironmentFile=-\/etc\/tidings\.env$/m)
  // One that is there keeps what it says.
  writeFileSync(file, 'TIDINGS_METRICS_TOKEN=a-token-of-sixteen\n')
  chmodSync(file, 0o644)
  service()
  assert.equal(readFileSync(file, 'utf8'), 'TIDINGS_METRICS_TOKEN=a-token-of-sixteen\n')
})

test('a service is backed up before its binary is replaced, or the binary stays', { timeout }, t => {
  const folder = scratch(t)
  const data = join(folder, 'var/lib/tidings')
  const installs = (...args) => install(['--prefix', '/usr', '--binary', binary(), ...args], { env: { ...process.env, DESTDIR: folder } })
  assert.equal(installs('--service').status, 0)
  const made = run(binary(), ['user', 'create', '--email', 'ada@example.org', '--password', 'quiet harbour at dawn', '--data-dir', data])
  assert.equal(made.status, 0, made.stderr)
  const upgraded = installs()
  assert.equal(upgraded.status, 0, upgraded.stderr)
  assert.match(upgraded.stdout, /verified: it can be restored/)
  assert.equal(readdirSync(join(data, 'backups')).length, 1)

  const before = statSync(join(folder, 'usr/bin/tidings')).ino
  rmSync(join(data, 'secret.key'))
  const refused = installs()
  assert.notEqual(refused.status, 0)
  assert.match(refused.stderr, /nothing was installed/)
  assert.equal(statSync(join(folder, 'usr/bin/tidings')).ino, before)
  assert.equal(readdirSync(join(data, 'backups')).length, 1)
})

/** Installs below a folder, as on a whole system. */
const below = folder => (...args) => install(['--prefix', '/usr', ...args], { env: { ...process.env, DESTDIR: folder } })

/** A database in the data folder of a service below a folder. */
function database(folder, data) {
  const at = join(folder, data)
  const made = run(binary(), ['user', 'create', '--email', 'ada@example.org', '--password', 'quiet harbour at dawn', '--data-dir', at])
  assert.equal(made.status, 0, made.stderr)
}

test('a service keeps its folders at an upgrade, and the folder that it uses is backed up', { timeout }, t => {
  const folder = scratch(t)
  const installs = below(folder)
  const unit = () => readFileSync(join(folder, 'usr/lib/systemd/system/tidings.service'), 'utf8').split('\n')
  const names = ['--service', '--data', '/var/lib/chat', '--env-file', '/etc/chat.env', '--secrets', '/etc/chat.keys']
  const first = installs('--binary', binary(), ...names)
  assert.equal(first.status, 0, first.stderr)
  assert.match(first.stdout, /\n {2}journalctl -u tidings .*\n$/, 'it names the command that shows the first link')
  const expected = [
    'Environment=TIDINGS_DATA_DIR=/var/lib/chat',
    'StateDirectory=chat',
    'EnvironmentFile=-/etc/chat.env',
    'LoadCredential=tidings:/etc/chat.keys',
  ]
  for (const line of expected) assert.ok(unit().includes(line), line)
  assert.match(installs('--binary', binary()).stdout, /^No backup was made: there is no database in .*\/var\/lib\/chat$/m)

  database(folder, 'var/lib/chat')
  const backups = data => existsSync(join(folder, data, 'backups')) ? readdirSync(join(folder, data, 'backups')).length : 0
  for (const args of [[], ['--service']]) {
    const upgraded = installs('--binary', binary(), ...args)
    assert.equal(upgraded.status, 0, upgraded.stderr)
    assert.match(upgraded.stdout, /verified: it can be restored/)
    assert.equal(upgraded.stdout.includes('journalctl'), false, 'there is an administrator, or will be one')
    assert.equal(backups('var/lib/chat'), 1)
    for (const line of expected) assert.ok(unit().includes(line), `${args}: ${line}`)
    rmSync(join(folder, 'var/lib/chat/backups'), { recursive: true }) // their names are times in seconds
  }
  assert.deepEqual([existsSync(join(folder, 'etc/tidings.env')), existsSync(join(folder, 'var/lib/tidings'))], [false, false])

  const moved = installs('--binary', binary(), '--service', '--data', '/var/lib/other')
  assert.notEqual(moved.status, 0)
  assert.match(moved.stderr, /the service has its data in \/var\/lib\/chat: stop it and move that folder/)
  assert.ok(unit().includes(expected[0]))

  // What the administrator has set elsewhere goes before the unit.
  for (const [file, line] of [
    ['etc/systemd/system/tidings.service.d/override.conf', 'Environment=TIDINGS_DATA_DIR=/srv/one'],
    ['etc/chat.env', 'TIDINGS_DATA_DIR="/srv/two"'],
  ]) {
    mkdirSync(dirname(join(folder, file)), { recursive: true })
    writeFileSync(join(folder, file), `# mine\n${line}\n`)
    const data = line.match(/\/srv\/\w+/)[0].slice(1)
    database(folder, data)
    const upgraded = installs('--binary', binary())
    assert.equal(upgraded.status, 0, upgraded.stderr)
    assert.equal(backups(data), 1, file)
    const named = installs('--binary', binary(), '--service', '--data', '/var/lib/chat')
    assert.match(named.stderr, new RegExp(`${file} sets TIDINGS_DATA_DIR=/${data}, which goes before --data`))
  }
})

test('a unit that stands in /etc is the one that is read', { timeout }, t => {
  const folder = scratch(t)
  const installs = below(folder)
  const args = ['--service', '--unit-dir', '/etc/systemd/system', '--data', '/var/lib/chat']
  assert.equal(installs('--binary', binary(), ...args).status, 0)
  database(folder, 'var/lib/chat')
  const upgraded = installs('--binary', binary())
  assert.match(upgraded.stdout, /verified: it can be restored/, upgraded.stderr)
})

test('the archive of a release has all that its documents name, and installs what is in it', { timeout }, t => {
  const folder = scratch(t)
  const packed = run(join(root, 'dist.sh'), [binary(), join(folder, 'dist')])
  assert.equal(packed.status, 0, packed.stderr)
  const [archive] = readdirSync(join(folder, 'dist')).filter(name => name.endsWith('.tar.gz'))
  assert.equal(run('sha256sum', ['-c', `${archive}.sha256`], { cwd: join(folder, 'dist') }).status, 0)
  assert.equal(run('tar', ['-xzf', join(folder, 'dist', archive), '-C', folder]).status, 0)
  const unpacked = join(folder, archive.replace('.tar.gz', ''))
  const documents = ['README.md', 'SECURITY.md', 'CHANGELOG.md', ...readdirSync(join(unpacked, 'docs')).map(name => `docs/${name}`)]
  let checked = 0
  for (const document of documents.filter(name => name.endsWith('.md'))) {
    const text = readFileSync(join(unpacked, document), 'utf8')
    const links = [...text.matchAll(/\]\(([^)#:]+)(?:#[^)]*)?\)/g)].map(([, link]) => join(dirname(document), link))
    const examples = [...text.matchAll(/\bexamples\/[\w.-]*\w/g)].map(([path]) => path)
    for (const path of [...links, ...examples]) {
      assert.ok(existsSync(join(unpacked, path)), `${document} names ${path}`)
      checked += 1
    }
  }
  assert.ok(checked > 50, `only ${checked} names were found`)
  const installed = run('sh', [join(unpacked, 'install.sh'), '--prefix', join(folder, 'prefix')])
  assert.equal(installed.status, 0, installed.stderr)
  assert.ok(existsSync(join(folder, 'prefix/bin/tidings')))
})

test('wrong use is one clear line, and leaves nothing behind', { timeout }, t => {
  const folder = scratch(t)
  const text = join(folder, 'text')
  writeFileSync(text, 'not a program')
  const prefix = join(folder, 'prefix')
  const cases = [
    [['--bogus'], /unknown option: --bogus/],
    [['--prefix'], /--prefix needs a value/],
    [['--prefix', ''], /--prefix needs a value/],
    [['--prefix', prefix, '--unit-dir', '/x', '--binary', binary()], /--unit-dir is only of use with --service/],
    [['--prefix', prefix, '--binary', join(folder, 'none')], /no such file/],
    [['--prefix', prefix, '--binary', text], /is not executable/],
    [['--prefix', prefix, '--binary', '/bin/echo'], /is not tidings/],
    [['--prefix', join(text, 'below'), '--binary', binary()], /can't make the folder/],
    [['--prefix', join(folder, 'a b'), '--service', '--binary', binary()], /may hold only letters/],
    [['--prefix', prefix, '--env-file', '/x', '--binary', binary()], /--env-file is only of use with --service/],
    [['--prefix', prefix, '--service', '--env-file', '/a b', '--binary', binary()], /may hold only letters/],
    [['--prefix', prefix, '--service', '--data', '/srv/chat', '--binary', binary()], /\/srv\/chat of a service must be below \/var\/lib/],
    [['--prefix', prefix, '--service', '--data', '/var/lib/../x', '--binary', binary()], /must be below \/var\/lib/],
    [['--prefix', prefix, '--service', '--data', '/var/lib', '--binary', binary()], /must be below \/var\/lib/],
  ]
  for (const [args, message] of cases) {
    const done = install(args)
    assert.notEqual(done.status, 0, args.join(' '))
    assert.match(done.stderr, message)
    assert.equal(done.stderr.trimEnd().split('\n').length, 1, done.stderr)
  }
  assert.deepEqual(readdirSync(folder), ['text'])
  assert.equal(install(['--help']).status, 0)
})

test('the binary is static', { timeout, skip: process.platform !== 'linux' && 'only on Linux' }, t => {
  const check = file => run('sh', [join(root, 'tests/static.sh'), file])
  const done = check(binary())
  assert.equal(done.status, 0, done.stderr)
  // The check can fail: this program is not.
  assert.notEqual(check(process.execPath).status, 0)
})
