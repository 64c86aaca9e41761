// Certificates that the server gets by itself, from a real authority; and from one that is none.
import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { join } from 'node:path'
import test from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { connect } from 'node:tls'
import { chromium } from 'playwright-core'
import { authority, missing } from './lib/authority.mjs'
import { shots } from './lib/browser.mjs'
import { fakeAuthority } from './lib/fake-authority.mjs'
import { binary, freePort, run, scratch, until } from './lib/server.mjs'

const CHAT = 'chat.tidings.test'
const TALK = 'talk.tidings.test'
const NEW = 'new.tidings.test'
const skip = missing

/** A server for these names, which runs until the test's end; on a folder of its own, or that of another. */
async function serving(t, { authority, names = [CHAT], ports, data = join(scratch(t), 'data') }) {
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('TIDINGS_')))
  const settings = ['--data-dir', data, '--domain', names.join(), '--listen', `127.0.0.1:${ports.own ?? ports.tls}`, '--http-listen', `127.0.0.1:${ports.http}`,
    '--base-url', `https://${names[0]}:${ports.own ?? ports.tls}`, '--acme-directory', authority.directory, '--acme-email', 'ops@tidings.test', '--ca-file', authority.ca]
  let child
  let output = ''
  const server = {
    data,
    output: () => output,
    folder: () => join(data, 'acme', readdirSync(join(data, 'acme'))[0]),
    async launch() {
      child = spawn(binary(), ['serve', ...settings, '--log', 'info'], { env, stdio: ['ignore', 'pipe', 'pipe'] })
      const from = output.length
      for (const stream of [child.stdout, child.stderr]) stream.on('data', chunk => { output += chunk })
      await until(() => `the server does not start\n${output}`, () => output.slice(from).includes('is running'))
    },
    async stop() {
      const gone = new Promise(resolve => child.once('exit', resolve))
      child.kill('SIGTERM')
      assert.equal(await gone, 0, output)
    },
    async kill() {
      const gone = new Promise(resolve => child.once('exit', resolve))
      child.kill('SIGKILL')
      await gone
    },
    hangUp: () => child.kill('SIGHUP'),
    doctor: () => spawnSync(binary(), ['doctor', ...settings], { env, encoding: 'utf8', timeout: 60_000 }).stdout,
    health: () => spawnSync(binary(), ['healthcheck', '--domain', names.join(), '--listen', `127.0.0.1:${ports.own ?? ports.tls}`], { env, encoding: 'utf8', timeout: 20_000 }),
  }
  t.after(() => child.kill('SIGKILL'))
  await server.launch()
  return server
}

/** One session of TLS: what it has agreed on, and the answer to `GET /health`. */
function visit(port, name, options = {}) {
  return new Promise((resolve, reject) => {
    const found = {}
    const socket = connect({ host: '127.0.0.1', port, servername: name, ...options }, () => {
      Object.assign(found, { certificate: socket.getPeerCertificate(), isResumed: socket.isSessionReused(), protocol: socket.getProtocol(), text: '' })
      socket.write(`GET /health HTTP/1.1\r\nhost: ${name}\r\nconnection: close\r\n\r\n`)
    })
    socket.on('session', session => { found.session = session })
    socket.on('data', chunk => { found.text += chunk })
    socket.on('end', () => resolve(found))
    socket.on('error', reject)
  })
}

const served = (port, name, ca) => until(`${name} is served`, () => visit(port, name, { ca }).catch(() => undefined), 30_000)

function plain(port, path, host) {
  return new Promise((resolve, reject) => {
    request({ host: '127.0.0.1', port, path, headers: { host } }, answer => {
      answer.resume()
      resolve(answer)
    }).on('error', reject).end()
  })
}

const twoPorts = async () => ({ tls: await freePort(), http: await freePort() })

test('the first certificate, for two names', { skip, timeout: 120_000 }, async t => {
  const ports = await twoPorts()
  const given = await authority(t, { ports })
  const server = await serving(t, { authority: given, names: [CHAT, TALK], ports })
  const ca = await given.root()
  for (const name of [CHAT, TALK]) {
    const { certificate, text } = await served(ports.tls, name, ca)
    assert.deepEqual(certificate.subjectaltname.split(', ').sort(), [`DNS:${CHAT}`, `DNS:${TALK}`])
    assert.match(text, /^HTTP\/1\.1 200 /)
    assert.match(text, /strict-transport-security: max-age=31536000\r\n/i)
  }

  await t.test('is trusted by curl and Chromium', async () => {
    const file = join(scratch(t), 'root.pem')
    writeFileSync(file, ca)
    const curl = run('curl', ['--silent', '--show-error', '--noproxy', '*', '--cacert', file, '--resolve', `${CHAT}:${ports.tls}:127.0.0.1`, `https://${CHAT}:${ports.tls}/health`])
    assert.match(curl, /"status":"ok"/)
    const home = scratch(t)
    const store = `sql:${join(home, '.pki/nssdb')}`
    mkdirSync(join(home, '.pki/nssdb'), { recursive: true })
    run('certutil', ['-d', store, '-N', '--empty-password'])
    run('certutil', ['-d', store, '-A', '-n', 'authority', '-t', 'C,,', '-i', file])
    const browser = await chromium.launch({
      executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
      env: { ...process.env, HOME: home },
      args: ['--no-sandbox', '--disable-gpu', '--no-proxy-server', `--host-resolver-rules=MAP ${CHAT} 127.0.0.1, MAP * ~NOTFOUND, EXCLUDE 127.0.0.1`],
    })
    t.after(() => browser.close())
    const page = await browser.newPage()
    const answer = await page.goto(`http://${CHAT}:${ports.http}/`)
    assert.equal(page.url(), `https://${CHAT}:${ports.tls}/`)
    assert.equal(answer.status(), 200)
    const { protocol, issuer, subjectName } = await answer.securityDetails()
    assert.match(`${protocol} ${issuer} ${subjectName}`, /^TLS 1\.3 Pebble Intermediate CA /)
    await page.getByRole('textbox').first().waitFor()
    await page.screenshot({ path: join(shots, 'https.png') })
  })
  await t.test('is kept for its owner alone', () => {
    assert.deepEqual(readdirSync(server.folder()).sort(), ['account.json', 'certificate.pem'])
    for (const name of readdirSync(server.folder())) assert.equal(statSync(join(server.folder(), name)).mode & 0o777, 0o600, name)
    assert.match(readFileSync(join(server.folder(), 'certificate.pem'), 'utf8'), /^-----BEGIN PRIVATE KEY-----[^]*(-----BEGIN CERTIFICATE-----[^]*){2}/)
  })
  await t.test('is served by TLS 1.2 and 1.3, and sessions are resumed', async () => {
    for (const protocol of ['TLSv1.2', 'TLSv1.3']) {
      const options = { ca, minVersion: protocol, maxVersion: protocol }
      const first = await visit(ports.tls, CHAT, options)
      assert.deepEqual([first.protocol, first.isResumed], [protocol, false])
      const second = await visit(ports.tls, CHAT, { ...options, session: first.session })
      assert.equal(second.isResumed, true, protocol)
    }
    await assert.rejects(visit(ports.tls, CHAT, { ca, minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' }), /protocol|handshake failure/i)
  })
  await t.test('leaves nothing of the proofs', async () => {
    await assert.rejects(visit(ports.tls, CHAT, { ca, ALPNProtocols: ['acme-tls/1'] }))
    assert.equal((await plain(ports.http, '/.well-known/acme-challenge/x', CHAT)).statusCode, 404)
  })
  await t.test('plain HTTP leads to HTTPS', async () => {
    const port = ports.tls
    for (const [host, path, there] of [
      [CHAT, '/o/harbour?x=1', `https://${CHAT}:${port}/o/harbour?x=1`],
      [`${TALK}:80`, '/', `https://${TALK}:${port}/`],
      ['evil.example', '/a', `https://${CHAT}:${port}/a`],
    ]) {
      const { statusCode, headers } = await plain(ports.http, path, host)
      assert.deepEqual([statusCode, headers.location], [308, there])
    }
  })
  await t.test('healthcheck and doctor know of it', () => {
    assert.equal(server.health().status, 0, server.health().stderr)
    assert.match(server.doctor(), /good +certificate +it ends at /i)
  })
  await t.test('a restart while the authority is away serves it', async () => {
    const [{ certificate: before }] = [await visit(ports.tls, CHAT, { ca })]
    await server.stop()
    await given.stop()
    await server.launch()
    assert.equal((await served(ports.tls, CHAT, ca)).certificate.serialNumber, before.serialNumber)
  })
  await t.test('another name needs another certificate, and the former one is served until an authority gives it', async () => {
    await server.stop()
    const account = readFileSync(join(server.folder(), 'account.json'), 'utf8')
    const further = await serving(t, { authority: given, names: [CHAT, NEW], ports, data: server.data })
    await until('it is refused', () => further.output().includes("localhost: it can't be reached"))
    await visit(ports.tls, CHAT, { ca })
    await assert.rejects(visit(ports.tls, NEW, { ca }), /altnames/)
    await given.launch()
    further.hangUp()
    await served(ports.tls, NEW, await given.root())
    assert.notEqual(readFileSync(join(further.folder(), 'account.json'), 'utf8'), account, 'the authority knows the former account no more')
    await further.stop()
  })
})

test('no try follows another without a pause', { skip, timeout: 120_000 }, async t => {
  const ports = await twoPorts()
  const given = await authority(t, { ports, seconds: 1 })
  await t.test('if the certificate ends too soon', async () => {
    const server = await serving(t, { authority: given, ports })
    await until('it is refused', () => server.output().includes('and this machine\'s clock says'), 30_000)
    await sleep(2_000)
    assert.equal(given.orders(), 1)
    await server.stop()
  })
  await t.test('if the server is killed meanwhile', async () => {
    await given.stop()
    await given.launch()
    const before = given.orders()
    const server = await serving(t, { authority: given, names: [TALK, CHAT], ports })
    for (let n = 0; n < 3; n += 1) {
      await server.kill()
      await server.launch()
    }
    await sleep(2_000)
    assert.ok(given.orders() - before <= 1, `${given.orders() - before} orders`)
  })
})

test('a certificate is renewed in the last third of its time', { skip, timeout: 120_000 }, async t => {
  const ports = await twoPorts()
  const given = await authority(t, { ports, seconds: 24 })
  const server = await serving(t, { authority: given, ports })
  const ca = await given.root()
  const { certificate: first } = await served(ports.tls, CHAT, ca)
  const second = await until('it is renewed', async () => {
    const { certificate } = await visit(ports.tls, CHAT, { ca })
    return certificate.serialNumber !== first.serialNumber && certificate
  }, 40_000)
  assert.ok(new Date(second.valid_to) > new Date(first.valid_to))
  await t.test('and served on when it has ended and the authority is away, with a sentence in the log and in doctor', async () => {
    await given.stop()
    await until('the next try fails', () => server.output().includes("can't be reached"), 40_000)
    await until('it has ended', () => visit(ports.tls, CHAT, { ca }).then(() => false, error => /expired/.test(error.message)), 40_000)
    assert.match(server.doctor(), /bad +certificate +no certificate from localhost: it can't be reached: .*; the next try is at /i)
  })
})

test('a refusal is told in a sentence, and not asked for again and again', { skip, timeout: 120_000 }, async t => {
  const ports = await twoPorts()
  const given = await authority(t, { ports })
  await given.lead(CHAT, '127.0.0.9')
  const server = await serving(t, { authority: given, ports })
  await until('it is refused', () => server.output().includes('no certificate from localhost'), 30_000)
  assert.match(server.output(), new RegExp(`no certificate from localhost: ${CHAT}: .*; ${CHAT} has no address that this machine can find`))
  assert.equal(given.orders(), 1)
  await assert.rejects(visit(ports.tls, CHAT, { rejectUnauthorized: false }), 'there is none to serve')

  await t.test('over a restart', async () => {
    await server.stop()
    await server.launch()
    await sleep(3_000)
    assert.equal(given.orders(), 1)
    assert.match(server.doctor(), new RegExp(`bad +certificate +no certificate from localhost: ${CHAT}: .*; the next try is at `, 'i'))
  })
  await t.test('until the operator says that it is mended', async () => {
    await given.lead(CHAT, '127.0.0.1')
    server.hangUp()
    await served(ports.tls, CHAT, await given.root())
    await until('the try is forgotten, once the certificate is on disk', () => !existsSync(join(server.folder(), 'last-try.json')), 30_000)
  })
})

test('where the port of HTTPS is closed to the authority, it looks at the one of HTTP', { skip, timeout: 120_000 }, async t => {
  const ports = { ...await twoPorts(), own: await freePort() }
  const given = await authority(t, { ports })
  const server = await serving(t, { authority: given, ports })
  await until('it is refused', () => server.output().includes('no certificate from localhost'), 30_000)
  server.hangUp()
  await served(ports.own, CHAT, await given.root())
})

test('a hostile authority gets one clean line in the log, and nothing else of the server', { timeout: 120_000 }, async t => {
  const ports = await twoPorts()
  const authority = await fakeAuthority(t, CHAT)
  const { at, usual } = authority
  const refusal = detail => ({ status: 400, body: { type: 'urn:ietf:params:acme:error:malformed', detail } })
  const to = (path, more) => ({ [path]: { ...usual[path], body: { ...usual[path].body, ...more } } })
  const pending = { headers: { 'retry-after': '18446744073709551615' }, ...to('/order/1', { status: 'pending' })['/order/1'] }
  const nobody = { status: 'invalid', error: { detail: 'nobody there' } }
  const cases = [
    ['a page', { '/dir': { body: '<!doctype html>' } }, 'its answer is none of an authority: is --acme-directory right?'],
    ['no end', { '/dir': { body: ' '.repeat(2 << 20) } }, 'its answer is too long'],
    ['a redirect', { '/dir': { status: 302, headers: { location: at('/elsewhere') } } }, 'its answer is none of an authority: is --acme-directory right?'],
    ['plain http', to('/dir', { newNonce: 'http://localhost:9/nonce' }), "it can't be reached: "],
    ['words for a terminal', { '/order': refusal('a\u001b[31mb\u0007\nINFO  c') }, 'a[31mb INFO c;'],
    ['many words', { '/order': refusal('word '.repeat(10_000)) }, `${'word '.repeat(60)};`],
    ['another name', to('/authz', { identifier: { type: 'dns', value: 'evil.example' } }), "it asks for the proof of a name that is not this server's"],
    ['proofs without end', to('/order', { authorizations: Array(1000).fill(at('/authz')) }), 'it asks for more proofs than there are names'],
    ['no way', to('/authz', { challenges: [{ type: 'dns-01', url: at('/dns-01'), token: 'x', status: 'pending' }] }), 'it offers no proof by a connection to the name'],
    ['a refusal at once', { ...to('/tls-alpn-01', nobody), ...to('/http-01', nobody) }, `${CHAT}: nobody there;`],
    ['a wait without end', { '/order/1': [pending, ...Object.values(to('/order/1', { status: 'invalid' }))] }, 'it could not validate the names'],
    ['the certificate of another', { '/order/1': [usual['/order/1'], usual['/finalize']] }, "the certificate that it gave can't be served: "],
    ['a certificate for another', { '/order/1': [usual['/order/1'], usual['/finalize']], '/certificate': () => ({ body: authority.sign('DNS:evil.example') }) }, 'the certificate that it gave is for other names'],
  ]
  authority.answers = cases[0][1]
  const server = await serving(t, { authority, ports })
  let from = 0
  for (const [what, answers, sentence] of cases) {
    await t.test(what, async () => {
      authority.answers = answers
      if (from > 0) server.hangUp()
      const said = await until(() => `it says: ${sentence}\n${server.output().slice(from)}`, () => server.output().slice(from).match(/no certificate from localhost: (.*)/)?.[1], 30_000)
      assert.ok(said.startsWith(sentence), said)
      from = server.output().length
      assert.equal((await plain(ports.http, '/.well-known/acme-challenge/token-of-a-proof', CHAT)).statusCode, 404)
    })
  }
  assert.ok(!authority.visits.includes('/elsewhere'))
  assert.ok(!existsSync(join(server.folder(), 'certificate.pem')))
  assert.equal((await plain(ports.http, '/', CHAT)).statusCode, 308)
})
