// An empty machine: a folder that is the root of all its commands, with a few programs, and a stand-in for systemd, which no
// container has. Needs a user who may change roots.
import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { chmodSync, cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { until } from './server.mjs'

const PROGRAMS = ['cat', 'chmod', 'chown', 'cp', 'curl', 'cut', 'dirname', 'env', 'grep', 'gzip', 'head', 'id', 'ln', 'ls', 'mkdir', 'mv', 'rm',
  'sed', 'setpriv', 'sleep', 'tail', 'tar']

/** systemd for one service and one timer: it reads the unit, and runs the service as a user of its own. */
const SYSTEMCTL = `#!/bin/sh
set -eu
# The environment of whoever asks is not the service's.
[ "\${IS_CLEAN-}" ] || exec env -i IS_CLEAN=yes PATH="$PATH" "$0" "$@"
unit=/usr/local/lib/systemd/system/tidings.service
line() { sed -n "s|^$1||p" "$unit"; }
case "$*" in
    daemon-reload) [ -f "$unit" ] ;;
    'enable tidings') grep -q '^WantedBy=multi-user.target$' "$unit" ;;
    'enable --now tidings-copy.timer') [ -f /etc/systemd/system/tidings-copy.timer ] && [ -f /etc/systemd/system/tidings-copy.service ] ;;
    'restart tidings')
        if [ -f /run/tidings.pid ]; then
            kill "$(cat /run/tidings.pid)"
            while kill -0 "$(cat /run/tidings.pid)" 2>/dev/null; do sleep 0.05; done
        fi
        state=$(line StateDirectory=)
        as="setpriv --reuid 61184 --regid 61184 --clear-groups"
        CREDENTIALS_DIRECTORY=/run/credentials
        TIDINGS_DATA_DIR=$(line Environment=TIDINGS_DATA_DIR=)
        export CREDENTIALS_DIRECTORY TIDINGS_DATA_DIR
        mkdir -p "/var/lib/private/$state" "$CREDENTIALS_DIRECTORY"
        [ -e "/var/lib/$state" ] || ln -s "private/$state" "/var/lib/$state"
        for secret in "$(line LoadCredential=tidings:)"/*; do
            [ ! -f "$secret" ] || cp "$secret" "$CREDENTIALS_DIRECTORY/tidings_\${secret##*/}"
        done
        chmod 0700 "/var/lib/private/$state" "$CREDENTIALS_DIRECTORY"
        chown -R 61184:61184 "/var/lib/private/$state" "$CREDENTIALS_DIRECTORY"
        while IFS= read -r setting; do
            case $setting in '#'* | '') ;; *) export "$(printf '%s' "$setting" | sed 's/="\\(.*\\)"$/=\\1/')" ;; esac
        done <"$(line EnvironmentFile=-)"
        began=$(cat /var/log/journal 2>/dev/null | grep -c 'is running' || true)
        $as $(line ExecStartPre=) >>/var/log/journal 2>&1 || { cat /var/log/journal >&2; exit 1; }
        $as $(line ExecStart=) >>/var/log/journal 2>&1 </dev/null &
        echo $! >/run/tidings.pid
        while [ "$(grep -c 'is running' /var/log/journal || true)" = "$began" ]; do
            kill -0 "$(cat /run/tidings.pid)" || { cat /var/log/journal >&2; exit 1; }
            sleep 0.05
        done
        ;;
    *) echo "the stand-in for systemctl does not know: $*" >&2; exit 1 ;;
esac
`
const JOURNALCTL = `#!/bin/sh
[ "$*" = '-u tidings -o cat' ] || { echo "the stand-in for journalctl does not know: $*" >&2; exit 1; }
cat /var/log/journal
`

const where = program => {
  const found = spawnSync('sh', ['-c', `command -v ${program}`], { encoding: 'utf8' }).stdout.trim()
  assert.ok(found, `there is no ${program} on this machine: install it`)
  return found
}

/** A shell on an empty machine, in /root, which ends at the first command that fails; `path` leads into the machine. */
export function machine(t) {
  const root = mkdtempSync(join(tmpdir(), 'tidings-machine-'))
  chmodSync(root, 0o755) // the service has a user of its own
  const path = name => join(root, name)
  const put = (program, name) => {
    const file = realpathSync(where(program))
    cpSync(file, path(`bin/${name ?? program}`), { dereference: true })
    const { stdout } = spawnSync('ldd', [file], { encoding: 'utf8' })
    for (const [library] of (stdout ?? '').matchAll(/\/\S+/g)) {
      if (existsSync(path(library)) || !existsSync(library)) continue
      mkdirSync(dirname(path(library)), { recursive: true })
      cpSync(library, path(library), { dereference: true })
    }
  }
  for (const folder of ['bin', 'dev', 'etc/systemd/system', 'root', 'run', 'tmp', 'var/lib', 'var/log']) {
    mkdirSync(path(folder), { recursive: true })
  }
  chmodSync(path('tmp'), 0o1777)
  writeFileSync(path('etc/passwd'), 'root:x:0:0:root:/root:/bin/sh\n')
  assert.equal(spawnSync('cp', ['-a', '/dev/null', '/dev/random', '/dev/urandom', path('dev')]).status, 0)
  put('dash', 'sh')
  PROGRAMS.forEach(program => put(program))
  writeFileSync(path('bin/systemctl'), SYSTEMCTL, { mode: 0o755 })
  writeFileSync(path('bin/journalctl'), JOURNALCTL, { mode: 0o755 })

  const env = { PATH: '/usr/local/bin:/bin', HOME: '/root' }
  const shell = spawn(where('chroot'), [root, '/bin/sh'], { env, stdio: 'pipe' })
  let [output, commands, ended] = ['', 0, false]
  for (const stream of [shell.stdout, shell.stderr]) stream.on('data', chunk => { output += chunk })
  shell.on('close', () => { ended = true })
  shell.stdin.on('error', () => {}) // of a shell that has ended, which is told below
  t.after(() => {
    const pid = existsSync(path('run/tidings.pid')) && Number(readFileSync(path('run/tidings.pid'), 'utf8'))
    if (pid) try { process.kill(pid, 'SIGKILL') } catch { /* it has ended */ }
    shell.kill('SIGKILL')
    rmSync(root, { recursive: true, force: true, maxRetries: 10 })
  })

  /** Runs commands as they are typed, and returns what they print. */
  async function run(script) {
    const [began, marker] = [output.length, `-- done ${commands += 1} --`]
    shell.stdin.write(`${script}\necho '${marker}'\n`)
    const said = () => `${script}\n${output.slice(began)}`
    await until(said, () => ended || output.includes(marker, began), 60_000)
    assert.ok(!ended, `a command failed:\n${said()}`)
    return output.slice(began).split(marker)[0]
  }
  run('set -eu; cd /root')
  return { path, run }
}
