// Signs up, listens to a channel, posts and pages through it. The types of all requests and answers are generated from
// the OpenAPI document:
//
//     npm install openapi-fetch centrifuge ws
//     npm install --save-dev openapi-typescript typescript@5 @types/node @types/ws
//     npm pkg set type=module
//     npx openapi-typescript http://127.0.0.1:8080/api/v1/openapi.json -o tidings.d.ts
//     npx tsc --strict --target es2022 --module nodenext client.ts
//     node client.js http://127.0.0.1:8080

import { Centrifuge } from 'centrifuge'
import createClient from 'openapi-fetch'
import WebSocket from 'ws'
import type { components, paths } from './tidings.js'

type Message = components['schemas']['Message']

const base = process.argv[2] ?? 'http://127.0.0.1:8080'
const api = createClient<paths>({ baseUrl: `${base}/api/v1` })

/** The body of an answer. A refusal throws an error with the server's own words. */
async function answer<T>(request: Promise<{ data?: T; error?: { message: string } }>): Promise<T> {
  const { data, error } = await request
  if (data === undefined) throw new Error(error?.message ?? 'the server refused')
  return data
}

/** The pages of a channel's messages, newest first. */
async function* pages(channel_id: string, limit: number): AsyncGenerator<Message[]> {
  for (let before: string | undefined; ;) {
    const params = { path: { channel_id }, query: { limit, before } }
    const { messages } = await answer(api.GET('/channels/{channel_id}/messages', { params }))
    if (messages.length === 0) return
    yield messages
    before = messages.at(-1)?.id
  }
}

// 1. An account of its own for each run, and a session, which all later requests name.
const account = { email: `ada-${crypto.randomUUID()}@example.org`, password: 'quiet harbour at dawn' }
await answer(api.POST('/auth/register', { body: account }))
const { data: session } = await answer(api.POST('/auth/login', { body: account }))
api.use({ onRequest: ({ request }) => request.headers.set('Authorization', `Bearer ${session.access_token}`) })
console.log('logged in as', session.user.email)

// 2. An organisation, and a channel in it.
const { data: harbour } = await answer(api.POST('/organisations', { body: { name: 'Harbour' } }))
const { data: channel } = await answer(api.POST('/channels', { body: { name: 'pilots', organisation_id: harbour.id } }))

// 3. Live push. The SDK reconnects by itself, asks for new tokens, and receives what it missed meanwhile.
const push = new Centrifuge(`${base.replace(/^http/, 'ws')}/connection/websocket`, {
  websocket: WebSocket, // browsers, and node from version 22 on, have their own
  getToken: async () => (await answer(api.GET('/token/connection'))).data.token,
})
const subscription = push.newSubscription(channel.id, {
  getToken: async ({ channel }) => (await answer(api.POST('/token/subscription', { body: { channel } }))).data.token,
})
const texts = ['The Fram arrives at six.', 'Who takes her in?', 'Fog is expected after eight.']
const heard = new Promise<void>(resolve => subscription.on('publication', ({ data }) => {
  if ('notification_type' in data) return // a change of something older, such as a reaction
  const { username, content }: Pick<Message, 'username' | 'content'> = data
  console.log(`heard from ${username}: ${content}`)
  if (content === texts.at(-1)) resolve()
}))
subscription.subscribe()
push.connect()
await subscription.ready()

// 4. Posts, heard as they are made, and read again in pages of two.
for (const content of texts) {
  const params = { path: { channel_id: channel.id } }
  await answer(api.POST('/channels/{channel_id}/messages', { params, body: { content } }))
}
await heard
for await (const page of pages(channel.id, 2)) console.log('page:', page.map(message => message.content).join(' | '))
push.disconnect()
