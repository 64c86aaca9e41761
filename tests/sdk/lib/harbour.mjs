// A server with Ada, who has an organisation with two channels; and the npm SDK, listening there.
import assert from 'node:assert/strict'
import { Centrifuge as Json } from 'centrifuge'
import { Centrifuge as Protobuf } from 'centrifuge/build/protobuf'
import WebSocket from 'ws'
import { person, start, until } from './server.mjs'

export const encodings = {
  JSON: { Client: Json, read: data => data },
  Protobuf: { Client: Protobuf, read: bytes => JSON.parse(new TextDecoder().decode(bytes)) },
}
// A client that comes back soon, since every test waits for it.
const soon = { minReconnectDelay: 10, maxReconnectDelay: 100 }

export const happens = (emitter, event) => new Promise(resolve => emitter.once(event, resolve))

export async function harbour(t, { Client, read }, ...flags) {
  const server = await start(t, ...flags)
  const ada = await person(server, 'ada')
  const post = async (path, body, bearer = ada.bearer) => (await server.call('POST', path, { bearer, body })).data
  const organisation = await post('/organisations', { name: 'Harbour' })
  const [quay, pier] = await Promise.all(
    ['quay', 'pier'].map(name => post('/channels', { name, organisation_id: organisation.id })))

  return {
    server,
    ada,
    quay: quay.id,
    pier: pier.id,

    /** Posts the texts one after the other, and returns them. */
    async say(channel, ...texts) {
      for (const content of texts) await post(`/channels/${channel}/messages`, { content })
      return texts
    },

    client({ bearer = ada.bearer, socketUrl = server.socketUrl, ...options } = {}) {
      const getToken = () => server.connectionToken(bearer)
      const client = new Client(socketUrl, { websocket: WebSocket, ...soon, getToken, ...options })
      t.after(() => client.disconnect())
      client.connect()
      return client
    },

    /** A subscription that is live; `texts` grows as its messages arrive. */
    async listen(client, channel, options = {}) {
      const getToken = ({ channel }) => server.subscriptionToken(ada.bearer, channel)
      const subscription = client.newSubscription(channel, { getToken, ...options })
      const texts = []
      subscription.on('publication', ({ data }) => texts.push(read(data).content))
      const subscribed = happens(subscription, 'subscribed')
      subscription.subscribe()
      const { streamPosition, recoverable, positioned } = await subscribed
      assert.deepEqual([recoverable, positioned], [true, true])
      return { subscription, texts, position: streamPosition }
    },

    contents: publications => publications.map(({ data }) => read(data).content),
  }
}

/** Waits for the last of the texts; nothing else may have come, nothing twice, nothing out of order. */
export async function hears(listener, texts) {
  await until(() => `heard only ${listener.texts}`, () => listener.texts.includes(texts.at(-1)))
  assert.deepEqual(listener.texts, texts)
}
