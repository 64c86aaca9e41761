// A real certificate authority (Pebble), with a DNS of its own.
import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { Agent, request } from 'node:https'
import { join } from 'node:path'
import { certificates } from './certificates.mjs'
import { freePort, scratch, until } from './server.mjs'

/** Why the tests of certificates can't run here. */
export const missing = spawnSync('pebble', ['-help']).error && 'needs pebble'

/**
 * An authority that looks for proofs at `ports.tls` and `ports.http`, and signs for so many seconds. Its names all lead to this
 * machine until `lead` says otherwise.
 */
export async function authority(t, { ports, seconds = 3600 }) {
  const folder = scratch(t)
  const [api, management, dns, control] = [await freePort(), await freePort(), await freePort(), await freePort()]
  const { ca, files } = certificates(t)
  const config = {
    listenAddress: `127.0.0.1:${api}`,
    managementListenAddress: `127.0.0.1:${management}`,
    certificate: files.cert,
    privateKey: files.key,
    httpPort: ports.http,
    tlsPort: ports.tls,
    certificateValidityPeriod: seconds,
  }
  writeFileSync(join(folder, 'pebble.json'), JSON.stringify({ pebble: config }))
  const names = spawn('pebble-challtestsrv', ['-dns01', `127.0.0.1:${dns}`, '-management', `127.0.0.1:${control}`,
    '-http01', '', '-https01', '', '-tlsalpn01', '', '-defaultIPv6', ''], { stdio: 'ignore' })
  t.after(() => names.kill('SIGKILL'))
  const agent = new Agent({ ca: readFileSync(ca) })
  const get = (port, path) => new Promise((resolve, reject) => {
    request({ host: 'localhost', port, path, agent, timeout: 5_000 }, answer => {
      let text = ''
      answer.on('data', chunk => { text += chunk })
      answer.on('end', () => resolve(text))
    }).on('error', reject).end()
  })
  let pebble
  let said = ''
  const started = {
    ca,
    directory: `https://localhost:${api}/dir`,
    /** How many certificates it was asked for. */
    orders: () => said.split('Added order').length - 1,
    /** The root of what it signs, which it makes anew at each start. */
    root: () => get(management, '/roots/0'),
    /** Has a name lead elsewhere. */
    lead: async (name, address) => {
      const host = `${name}.`
      const post = (path, body) => fetch(`http://127.0.0.1:${control}${path}`, { method: 'POST', body: JSON.stringify(body) })
      assert.ok((await post('/clear-a', { host })).ok)
      assert.ok((await post('/add-a', { host, addresses: [address] })).ok)
    },
    async launch() {
      const env = { ...process.env, PEBBLE_VA_NOSLEEP: '1', PEBBLE_AUTHZREUSE: '0' }
      pebble = spawn('pebble', ['-config', join(folder, 'pebble.json'), '-dnsserver', `127.0.0.1:${dns}`, '-strict'], { env, stdio: ['ignore', 'pipe', 'pipe'] })
      for (const stream of [pebble.stdout, pebble.stderr]) stream.on('data', chunk => { said += chunk })
      await until(() => `pebble does not answer: ${said}`, () => get(api, '/dir').catch(() => undefined))
    },
    async stop() {
      const gone = new Promise(resolve => pebble.once('exit', resolve))
      pebble.kill('SIGKILL')
      await gone
    },
  }
  t.after(() => pebble.kill('SIGKILL'))
  await started.launch()
  return started
}
