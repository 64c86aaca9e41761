// A certificate authority of the test's own, and a server certificate of its for this machine.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** `ca`: the authority's file, for `--ca-file`; `key`, `cert`: the server's, as node takes them; `files`: where these are. */
export function certificates(t) {
  const folder = mkdtempSync(join(tmpdir(), 'tidings-ca-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const file = name => join(folder, name)
  const openssl = (...args) => {
    const run = spawnSync('openssl', args, { cwd: folder, encoding: 'utf8' })
    assert.equal(run.status, 0, `openssl ${args.join(' ')}\n${run.stderr}`)
  }
  const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes']
  openssl('req', '-x509', ...curve, '-days', '2', '-subj', '/CN=Test authority', '-keyout', 'ca.key', '-out', 'ca.pem',
    '-addext', 'keyUsage=critical,keyCertSign')
  openssl('req', ...curve, '-subj', '/CN=localhost', '-keyout', 'server.key', '-out', 'server.csr')
  writeFileSync(file('server.ext'), 'basicConstraints=CA:FALSE\nsubjectAltName=DNS:localhost,IP:127.0.0.1\n')
  openssl('x509', '-req', '-in', 'server.csr', '-CA', 'ca.pem', '-CAkey', 'ca.key', '-CAcreateserial', '-days', '2',
    '-extfile', 'server.ext', '-out', 'server.pem')
  const files = { key: file('server.key'), cert: file('server.pem') }
  return { ca: file('ca.pem'), key: readFileSync(files.key), cert: readFileSync(files.cert), files }
}
