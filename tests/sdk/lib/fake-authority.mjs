// An authority for certificates (RFC 8555) that checks nothing, and answers as a test wants.
import { createServer } from 'node:https'
import { readFileSync } from 'node:fs'
import { certificates } from './certificates.mjs'
import { freePort } from './server.mjs'

/**
 * `ca`: the file that its server trusts. `visits`: the paths it was asked for. `answers`: what it says instead at some paths, each
 * `{ status, headers, body }`, a function that makes it, or a list of them, of which the last stays. `sign(names)`: a certificate
 * for these names with the key of the last request.
 */
export async function fakeAuthority(t, name) {
  const { ca, key, cert, sign } = certificates(t)
  const port = await freePort()
  const at = path => `https://localhost:${port}${path}`
  const order = more => ({ identifiers: [{ type: 'dns', value: name }], authorizations: [at('/authz')], finalize: at('/finalize'), ...more })
  const challenge = (type, status) => ({ type, url: at(`/${type}`), token: 'token-of-a-proof', status })
  const ways = status => ['tls-alpn-01', 'http-01'].map(type => challenge(type, status))
  const usual = {
    '/dir': { body: { newNonce: at('/nonce'), newAccount: at('/account'), newOrder: at('/order') } },
    '/nonce': { body: '' },
    '/account': { status: 201, headers: { location: at('/account/1') }, body: { status: 'valid' } },
    '/account/1': { body: { status: 'valid' } },
    '/order': { status: 201, headers: { location: at('/order/1') }, body: order({ status: 'pending' }) },
    '/order/1': { body: order({ status: 'ready' }) },
    '/authz': { body: { status: 'pending', identifier: { type: 'dns', value: name }, challenges: ways('pending') } },
    '/tls-alpn-01': { body: challenge('tls-alpn-01', 'processing') },
    '/http-01': { body: challenge('http-01', 'processing') },
    '/finalize': { body: order({ status: 'valid', certificate: at('/certificate') }) },
    '/certificate': { body: readFileSync(ca, 'utf8') },
  }
  let requested
  const authority = { ca, at, directory: at('/dir'), usual, answers: {}, visits: [], sign: names => sign(requested, names).toString() }
  const server = createServer({ key, cert }, async (request, response) => {
    authority.visits.push(request.url)
    const sent = Buffer.concat(await request.toArray()).toString()
    if (request.url === '/finalize') requested = requestIn(sent)
    let answer = authority.answers[request.url] ?? usual[request.url] ?? { status: 404 }
    if (Array.isArray(answer)) answer = answer.length > 1 ? answer.shift() : answer[0]
    const { status = 200, headers = {}, body = '' } = typeof answer === 'function' ? answer() : answer
    response.writeHead(status, { 'replay-nonce': `nonce-${authority.visits.length}`, ...headers })
    response.end(typeof body === 'string' ? body : JSON.stringify(body))
  })
  await new Promise(resolve => server.listen(port, '127.0.0.1', resolve))
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  return authority
}

/** The request for a certificate, in PEM, that a client has signed with its account (RFC 8555, section 7.4). */
function requestIn(signed) {
  const { csr } = JSON.parse(Buffer.from(JSON.parse(signed).payload, 'base64url'))
  const lines = Buffer.from(csr, 'base64url').toString('base64').match(/.{1,64}/g)
  return ['-----BEGIN CERTIFICATE REQUEST-----', ...lines, '-----END CERTIFICATE REQUEST-----', ''].join('\n')
}
