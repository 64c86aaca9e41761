// A certificate authority of the test's own, and a server certificate of its for this machine.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/**
 * `ca`: the authority's file, for `--ca-file`; `key`, `cert`: the server's, as node takes them; `files`: where these are.
 * `sign(request, names)`: the certificate in PEM that a request in PEM asks for, whatever the names in it.
 */
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
  const sign = (request, names) => {
    writeFileSync(file('signed.csr'), request)
    writeFileSync(file('signed.ext'), `basicConstraints=CA:FALSE\nsubjectAltName=${names}\n`)
    openssl('x509', '-req', '-in', 'signed.csr', '-CA', 'ca.pem', '-CAkey', 'ca.key', '-CAcreateserial', '-days', '2',
      '-extfile', 'signed.ext', '-out', 'signed.pem')
    return readFileSync(file('signed.pem'))
  }
  const files = { key: file('server.key'), cert: file('server.pem') }
  writeFileSync(files.cert, sign(readFileSync(file('server.csr')), 'DNS:localhost,IP:127.0.0.1'))
  return { ca: file('ca.pem'), key: readFileSync(files.key), cert: readFileSync(files.cert), files, sign }
}
