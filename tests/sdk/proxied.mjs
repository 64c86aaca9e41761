// A client behind each of the given proxies: a request, bodies around the largest, files, and a WebSocket that is pushed something
// after a minute of silence. Run by tests/proxies.sh.
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { request } from 'node:https'
import { setTimeout as sleep } from 'node:timers/promises'
import { Centrifuge } from 'centrifuge'
import * as tus from 'tus-js-client'
import WebSocket from 'ws'

const SILENCE = 60_000
const LARGEST = 1 << 20
/** Bytes of a file: more than a proxy takes of words, and than it holds in memory. */
const FILE = 20 << 20

/** A request from another address than the proxy's own, so that both can be told apart. */
function call(url, method, path, { bearer, text, headers = {} } = {}) {
  return new Promise((resolve, reject) => {
    const sent = request(`${url}/api/v1${path}`, { method, localAddress: '127.0.0.2', timeout: 20_000 }, async answer => {
      const chunks = await answer.toArray()
      resolve({ status: answer.statusCode, body: JSON.parse(Buffer.concat(chunks).toString()) })
    })
    if (bearer) sent.setHeader('authorization', `Bearer ${bearer}`)
    if (text) sent.setHeader('content-type', 'application/json')
    Object.entries(headers).forEach(header => sent.setHeader(...header))
    sent.on('error', reject).on('timeout', () => sent.destroy(new Error('no answer'))).end(text)
  })
}

async function data(...args) {
  const { status, body } = await call(...args)
  assert.ok(status < 300, `${args[1]} ${args[2]}: ${status} ${JSON.stringify(body)}`)
  return body.data
}

/** A message whose JSON has this many bytes. */
function padded(content, bytes) {
  const text = JSON.stringify({ content })
  return `${text.slice(0, -1)}${' '.repeat(bytes - text.length)}}`
}

/** A file goes to the server and comes back, in a form and in pieces. */
async function passFiles(url, bearer) {
  const bytes = randomBytes(FILE)
  const headers = { Authorization: `Bearer ${bearer}` }
  const body = new FormData()
  body.append('files', new Blob([bytes]), 'photo.jpg')
  const sent = await fetch(`${url}/api/v1/files/upload-files`, { method: 'POST', headers, body })
  assert.equal(sent.status, 200)
  const address = await new Promise((resolve, reject) => {
    const endpoint = `${url}/api/v1/files/uploads`
    const upload = new tus.Upload(bytes, { endpoint, headers, chunkSize: 8 << 20, onSuccess: () => resolve(upload.url), onError: reject })
    upload.start()
  })
  assert.ok(address.startsWith(url), 'the address of an upload leads through the proxy')
  for (const id of [(await sent.json()).data[0].id, address.split('/').at(-1)]) {
    const opened = await fetch(`${url}/api/v1/files/${id}/photo.jpg`, { headers })
    assert.ok(bytes.equals(Buffer.from(await opened.arrayBuffer())), 'the file is the same')
  }
}

async function check(url, n) {
  const text = JSON.stringify({ email: `ada${n}@example.org`, password: 'quiet harbour at dawn' })
  await data(url, 'POST', '/auth/register', { text })
  const login = await data(url, 'POST', '/auth/login', { text, headers: { 'x-forwarded-for': '203.0.113.9' } })
  const bearer = login.access_token
  const sessions = await data(url, 'GET', `/users/${login.user.id}/sessions`, { bearer })
  assert.deepEqual(sessions.map(session => session.address), ['127.0.0.2'], 'the client is known by its own address')

  const organisation = await data(url, 'POST', '/organisations', { bearer, text: JSON.stringify({ name: 'Engines' }) })
  const channel = (await data(url, 'POST', '/channels', { bearer, text: JSON.stringify({ name: 'dev', organisation_id: organisation.id }) })).id
  const messages = `/channels/${channel}/messages`
  await data(url, 'POST', messages, { bearer, text: padded('the largest', LARGEST) })
  const refused = await call(url, 'POST', messages, { bearer, text: padded('too large', LARGEST + 1) })
  assert.deepEqual([refused.status, refused.body.status_code], [413, 413], 'the server refuses it, not the proxy')

  await passFiles(url, bearer)

  const centrifuge = new Centrifuge(`${url.replace('https', 'wss')}/connection/websocket`, {
    websocket: WebSocket,
    getToken: async () => (await data(url, 'GET', '/token/connection', { bearer })).token,
  })
  let connects = 0
  centrifuge.on('connected', () => { connects += 1 })
  const subscription = centrifuge.newSubscription(channel, {
    getToken: async () => (await data(url, 'POST', '/token/subscription', { bearer, text: JSON.stringify({ channel }) })).token,
  })
  const pushed = new Promise(resolve => subscription.on('publication', publication => resolve(JSON.stringify(publication.data))))
  subscription.subscribe()
  centrifuge.connect()
  await subscription.ready(30_000)
  await sleep(SILENCE)
  await data(url, 'POST', messages, { bearer, text: JSON.stringify({ content: 'after the silence' }) })
  const late = sleep(30_000, 'nothing was pushed', { ref: false })
  assert.match(await Promise.race([pushed, late]), /after the silence/)
  assert.equal(connects, 1, 'the socket stayed open')
  centrifuge.disconnect()
  console.log(`${url}: requests, bodies of ${LARGEST} bytes, files of ${FILE} and a socket pass`)
}

await Promise.all(process.argv.slice(2).map(check))
