// What a webhook delivers is taken by the unmodified npm library of the Standard Webhooks specification, and by
// examples/receiver.rs.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { createServer, request } from 'node:http'
import test from 'node:test'
import { Webhook } from 'standardwebhooks'
import { example, freePort, person, start, until } from './lib/server.mjs'

const timeout = 60_000

/** A server with Ada's channel, whose webhook delivers to that port. */
async function hooked(t, port) {
  const server = await start(t, '--allow-private-webhooks', '127.0.0.0/8')
  const ada = await person(server, 'ada')
  const post = async (path, body) => (await server.call('POST', path, { bearer: ada.bearer, body })).data
  const organisation = await post('/organisations', { name: 'Harbour' })
  const channel = (await post('/channels', { name: 'quay', organisation_id: organisation.id })).id
  const url = `http://127.0.0.1:${port}/hook`
  const webhook = await post(`/webhooks/${channel}`, { webhook_name: 'out', webhook_url: url })
  return { ada, secret: webhook.webhook_secret, url, say: content => post(`/channels/${channel}/messages`, { content }) }
}

/** The texts that differ from this one in one byte. */
const bent = text => Array.from(text, (c, at) => text.slice(0, at) + String.fromCharCode(c.charCodeAt(0) ^ 1) + text.slice(at + 1))

test('the npm library takes what is delivered, and nothing that was changed', { timeout }, async t => {
  const received = []
  const receiver = createServer((request, response) => {
    let body = ''
    request.on('data', chunk => { body += chunk })
    request.on('end', () => {
      received.push({ body, headers: request.headers })
      response.end()
    })
  })
  const port = await freePort()
  await new Promise(resolve => receiver.listen(port, '127.0.0.1', resolve))
  t.after(() => receiver.close())
  const place = await hooked(t, port)
  await place.say('The Fram arrives at six.')
  await until('nothing is delivered', () => received.length)

  const { body, headers } = received[0]
  const webhook = new Webhook(place.secret)
  const event = webhook.verify(body, headers)
  assert.deepEqual([event.type, event.data.content], ['message.created', 'The Fram arrives at six.'])
  for (const other of bent(body)) assert.throws(() => webhook.verify(other, headers), other)
  for (const name of ['webhook-id', 'webhook-timestamp']) {
    for (const other of bent(headers[name])) {
      assert.throws(() => webhook.verify(body, { ...headers, [name]: other }), `${name}: ${other}`)
    }
  }
})

/** The status for a body of this length, which is announced and not sent: an answer may come before the body is. */
const announced = (url, length) => new Promise((resolve, reject) => {
  const sent = request(url, { method: 'POST', headers: { 'Content-Length': length } }, ({ statusCode }) => {
    resolve(statusCode)
    sent.destroy()
  })
  sent.on('error', reject)
  sent.flushHeaders()
})

test('examples/receiver.rs prints what is delivered, and refuses what is not signed', { timeout }, async t => {
  const port = await freePort()
  const place = await hooked(t, port)
  let printed = ''
  const child = spawn(example('receiver'), [`127.0.0.1:${port}`, place.secret], { stdio: ['ignore', 'pipe', 'inherit'] })
  t.after(() => child.kill())
  child.stdout.on('data', chunk => { printed += chunk })
  const answers = (body = '{"type":"forged"}') => fetch(place.url, { method: 'POST', body }).then(({ status }) => status, () => 0)
  await until('it does not listen', () => answers())
  assert.equal(await answers(), 401)
  assert.equal(await announced(place.url, 2 ** 20 + 1), 413, 'what anybody sends must not fill the memory')
  await place.say('The Fram arrives at six.')
  await until(() => printed, () => printed.includes(`${place.ada.username}: The Fram arrives at six.\n`))
  assert.ok(!printed.includes('forged'), printed)
})
