// install.sh, with a binary that is there: what it writes, and that a failure leaves nothing behind.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { chmodSync, existsSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
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
