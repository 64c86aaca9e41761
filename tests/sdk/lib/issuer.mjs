// An OpenID Connect issuer on this machine, over HTTPS, with real keys.
import { createSign, generateKeyPairSync, createHmac } from 'node:crypto'
import { createServer } from 'node:https'

const encode = value => Buffer.from(JSON.stringify(value)).toString('base64url')

/** A key pair with its id; RSA, or EC on P-256. */
export function keyPair(kid, type = 'rsa') {
  const options = type === 'rsa' ? { modulusLength: 2048 } : { namedCurve: 'P-256' }
  const { publicKey, privateKey } = generateKeyPairSync(type, options)
  const alg = type === 'rsa' ? 'RS256' : 'ES256'
  return { kid, alg, privateKey, publicKey, jwk: { ...publicKey.export({ format: 'jwk' }), kid, alg, use: 'sig' } }
}

export function sign(claims, { kid, alg, privateKey }, header = {}) {
  const text = `${encode({ alg, kid, typ: 'JWT', ...header })}.${encode(claims)}`
  const signature = createSign('sha256').update(text).sign({ key: privateKey, dsaEncoding: 'ieee-p1363' })
  return `${text}.${signature.toString('base64url')}`
}

export const unsigned = claims => `${encode({ alg: 'none', typ: 'JWT' })}.${encode(claims)}.`

/** Signed with HMAC, the public key taken for the secret. */
export function confused(claims, { kid, publicKey }) {
  const text = `${encode({ alg: 'HS256', kid, typ: 'JWT' })}.${encode(claims)}`
  const secret = publicKey.export({ type: 'spki', format: 'pem' })
  return `${text}.${createHmac('sha256', secret).update(text).digest('base64url')}`
}

/** `keys`: those that it publishes, to be changed at will; `asked()`: how often they were fetched. */
export async function startIssuer(t, { key, cert }, keys) {
  let asked = 0
  const issuer = { keys, status: 200, asked: () => asked }
  const server = createServer({ key, cert }, (request, response) => {
    const documents = {
      '/.well-known/openid-configuration': () => ({ issuer: issuer.url, jwks_uri: `${issuer.url}/keys` }),
      '/keys': () => { asked += 1; return { keys: issuer.keys.map(({ jwk }) => jwk) } },
    }
    const document = documents[request.url]
    response.writeHead(document ? issuer.status : 404, { 'Content-Type': 'application/json' })
    response.end(JSON.stringify(document?.() ?? {}))
  })
  await new Promise((resolve, reject) => server.once('error', reject).listen(0, '127.0.0.1', resolve))
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  issuer.url = `https://127.0.0.1:${server.address().port}`
  return issuer
}
