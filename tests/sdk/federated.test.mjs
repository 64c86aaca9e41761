// Federated log-in against an issuer on this machine: what is let in, and everything that must not be.
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import test from 'node:test'
import { certificates } from './lib/certificates.mjs'
import { confused, keyPair, sign, startIssuer, unsigned } from './lib/issuer.mjs'
import { person, start } from './lib/server.mjs'

const timeout = 120_000
const CLIENT = 'tidings-test.apps.example.org'
const seconds = () => Math.floor(Date.now() / 1000)

/** A server that trusts an issuer, which publishes one key; `claims` are good ones. */
async function scene(t, ...flags) {
  const files = certificates(t)
  const rsa = keyPair('first')
  const issuer = await startIssuer(t, files, [rsa])
  const server = await start(t, '--google-client-id', `other,${CLIENT}`, '--oidc-issuer', issuer.url, '--ca-file', files.ca, ...flags)
  const claims = more => ({
    iss: issuer.url, aud: CLIENT, sub: '10769150350006150715113082367', iat: seconds(), exp: seconds() + 3600, jti: randomUUID(),
    email: 'Ada@Example.org', email_verified: true, given_name: 'Ada', family_name: 'Lovelace', ...more,
  })
  const post = async token => {
    const response = await fetch(`${server.url}/api/v1/auth/google`, {
      method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ id_token: token }),
    })
    return { ...await response.json(), status: response.status }
  }
  return { server, issuer, rsa, claims, post, files }
}

test('a good token makes an account, and finds it again by its subject', { timeout }, async t => {
  const { server, issuer, rsa, claims, post } = await scene(t)
  const first = await post(sign(claims(), rsa))
  assert.deepEqual([first.status, first.message], [200, 'Login successful'])
  const { user } = first.data
  assert.deepEqual([user.email, user.username, user.fullname, user.is_verified], ['ada@example.org', 'ada', 'Ada Lovelace', true])
  assert.equal((await server.call('GET', '/profile', { bearer: first.data.access_token })).data.id, user.id)
  assert.ok(first.data.notification_token)

  const moved = await post(sign(claims({ email: 'elsewhere@example.org', email_verified: false }), rsa))
  assert.equal(moved.data.user.id, user.id)
  const other = await post(sign(claims({ sub: 'somebody else', email: 'grace@example.org' }), rsa))
  assert.notEqual(other.data.user.id, user.id)
  assert.equal(issuer.asked(), 1)

  // There is no password to log in with, or to change.
  await assert.rejects(server.call('POST', '/auth/login', { body: { email: 'ada@example.org', password: '' } }), /: 401 /)
  const change = { old_password: '', new_password: 'quiet harbour at dawn' }
  await assert.rejects(server.call('PUT', '/auth/change-password', { bearer: first.data.access_token, body: change }), /: 401 /)
  await server.stop()
})

test('bad tokens are refused, each for its own reason', { timeout }, async t => {
  const { server, issuer, rsa, claims, post } = await scene(t)
  const stranger = keyPair('first')
  const [head, body, signature] = sign(claims(), rsa).split('.')
  const refused = {
    'wrong audience': sign(claims({ aud: 'another.apps.example.org' }), rsa),
    'no audience': sign(claims({ aud: undefined }), rsa),
    'for several, and we are not the party': sign(claims({ aud: [CLIENT, 'another'], azp: 'another' }), rsa),
    'for several, and no party named': sign(claims({ aud: [CLIENT, 'another'] }), rsa),
    'wrong issuer': sign(claims({ iss: 'https://accounts.google.com' }), rsa),
    'issuer with a slash': sign(claims({ iss: `${issuer.url}/` }), rsa),
    'no issuer': sign(claims({ iss: undefined }), rsa),
    expired: sign(claims({ exp: seconds() - 120 }), rsa),
    'no expiry': sign(claims({ exp: undefined }), rsa),
    'issued in the future': sign(claims({ iat: seconds() + 600 }), rsa),
    'no time of issue': sign(claims({ iat: undefined }), rsa),
    'no subject': sign(claims({ sub: undefined }), rsa),
    'empty subject': sign(claims({ sub: '' }), rsa),
    unsigned: unsigned(claims()),
    'signature cut off': `${head}.${body}.`,
    'signature of another token': `${sign(claims({ sub: 'x' }), rsa).split('.').slice(0, 2).join('.')}.${signature}`,
    'HS256 with the public key as its secret': confused(claims(), rsa),
    "another's key under the known id": sign(claims(), stranger),
    'unknown key id': sign(claims(), keyPair('unheard of')),
    'no key id': sign(claims(), rsa, { kid: undefined }),
    'a key that the token brings along': sign(claims(), stranger, { jwk: stranger.jwk, jku: `${issuer.url}/keys` }),
    'another algorithm than the key is for': sign(claims(), rsa, { alg: 'ES256' }),
    'unverified address': sign(claims({ email_verified: false }), rsa),
    'no address': sign(claims({ email: undefined }), rsa),
    'not a token': 'a.b.c',
  }
  for (const [reason, token] of Object.entries(refused)) {
    const { status, message, error } = await post(token)
    assert.equal(status, 401, reason)
    assert.equal(message, error)
  }
  assert.equal((await post(sign(claims(), rsa))).status, 200)
  assert.equal((await post(sign(claims({ aud: [CLIENT, 'another'], azp: CLIENT }), rsa))).status, 200)
  for (const unreadable of [5, '', ' ', null]) assert.equal((await post(unreadable)).status, 400)
  assert.doesNotMatch(server.output(), /eyJ/, 'no token in the log')
  await server.stop()
})

test('unknown key ids fetch the keys once a minute at the most', { timeout }, async t => {
  const { server, issuer, rsa, claims, post } = await scene(t)
  const second = keyPair('second', 'ec')
  assert.equal((await post(sign(claims(), second))).status, 401)
  issuer.keys = [rsa, second]
  await Promise.all(Array.from({ length: 20 }, (_, n) => post(sign(claims(), { ...second, kid: `unknown ${n}` }))))
  assert.equal(issuer.asked(), 1)
  assert.equal((await post(sign(claims(), rsa))).status, 200, 'the known key still works')
  await server.stop()
})

test('EC keys work, and keys of unknown kinds spoil nothing', { timeout }, async t => {
  const { server, issuer, claims, post } = await scene(t)
  const ec = keyPair('curve', 'ec')
  const secret = { jwk: { kty: 'oct', kid: 'secret', k: 'c2VjcmV0', alg: 'HS256' } }
  const encryption = keyPair('encryption')
  encryption.jwk.use = 'enc'
  issuer.keys = [{ jwk: { kty: 'FUTURE', kid: 'x' } }, { jwk: {} }, secret, encryption, ec]
  assert.equal((await post(sign(claims(), ec))).status, 200)
  assert.equal((await post(sign(claims({ sub: 'other' }), encryption))).status, 401)
  await server.stop()
})

test('an issuer that is away is told as such', { timeout }, async t => {
  const { server, issuer, rsa, claims, post } = await scene(t)
  issuer.status = 500
  const away = await post(sign(claims(), rsa))
  assert.deepEqual([away.status, away.status_code], [503, 503])
  await server.stop()
})

test('an issuer that nobody vouches for is not believed', { timeout }, async t => {
  const files = certificates(t)
  const rsa = keyPair('first')
  const issuer = await startIssuer(t, files, [rsa])
  const server = await start(t, '--google-client-id', CLIENT, '--oidc-issuer', issuer.url)
  const response = await fetch(`${server.url}/api/v1/auth/google`, {
    method: 'POST', headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ id_token: sign({ iss: issuer.url, aud: CLIENT, sub: '1', iat: seconds(), exp: seconds() + 60 }, rsa) }),
  })
  assert.equal(response.status, 503)
  assert.equal(issuer.asked(), 0)
  await server.stop()
})

test('an address that was registered by somebody else first is taken back', { timeout }, async t => {
  const { server, rsa, claims, post } = await scene(t)
  const stranger = await person(server, 'ada')
  const entered = await post(sign(claims({ email: stranger.email }), rsa))
  assert.equal(entered.data.user.id, stranger.id)
  await assert.rejects(server.call('GET', '/profile', { bearer: stranger.bearer }), /: 401 /)
  const body = { email: stranger.email, password: stranger.password }
  await assert.rejects(server.call('POST', '/auth/login', { body }), /: 401 /)
  await server.stop()
})

test('a closed server lets in whom it knows, and registers nobody', { timeout }, async t => {
  const { server, rsa, claims, post } = await scene(t, '--registration', 'closed')
  assert.equal((await post(sign(claims(), rsa))).status, 403)
  await server.stop()
})
