// A bot that answers whoever mentions it together with the word "status":
//
//     npm install centrifuge ws
//     npm install --save-dev typescript@5 @types/node @types/ws
//     npm pkg set type=module
//     npx tsc --strict --target es2022 --module nodenext bot.ts
//     TIDINGS_TOKEN=tdg_... node bot.js http://127.0.0.1:8080
//
// See docs/bots.md for the token, which needs the scopes read and post.

import { Centrifuge } from 'centrifuge'
import WebSocket from 'ws'

interface Message {
  content: string
  channel_id: string
  thread_id: string
  user_type: 'user' | 'bot' | 'webhook'
}

const base = process.argv[2] ?? 'http://127.0.0.1:8080'
const headers = { Authorization: `Bearer ${process.env.TIDINGS_TOKEN}`, 'Content-Type': 'application/json' }

/** Sends a request as the bot, and returns the data of its answer. A refusal throws an error with the server's own words. */
async function call<T>(path: string, body?: object): Promise<T> {
  const request = body ? { method: 'POST', headers, body: JSON.stringify(body) } : { headers }
  const answer = await fetch(`${base}/api/v1${path}`, request)
  const { data, message } = await answer.json() as { data: T, message: string }
  if (!answer.ok) throw new Error(message)
  return data
}

// Before the SDK, which would try again and again with a wrong token.
const { username } = await call<{ username: string }>('/users/me')

// The SDK reconnects by itself, asks for a new token, and receives what it missed meanwhile.
const push = new Centrifuge(`${base.replace(/^http/, 'ws')}/connection/websocket`, {
  websocket: WebSocket, // node from version 22 on has its own
  getToken: async () => (await call<{ token: string }>('/token/connection?streams=own')).token,
})
push.on('publication', ({ data: event }) => {
  if (event.notification_type !== 'channel_mention') return
  const message: Message = event.data
  // Bots that answer bots would never end.
  if (message.user_type !== 'user' || !message.content.toLowerCase().includes('status')) return
  const answer = { content: 'All engines are running.', thread_id: message.thread_id }
  call(`/channels/${message.channel_id}/messages`, answer).catch(console.error)
})
push.connect()
await push.ready()
console.log('listening as', username)
