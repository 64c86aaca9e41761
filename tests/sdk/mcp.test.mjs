// The Model Context Protocol endpoint, as the official SDK for TypeScript meets it.
import assert from 'node:assert/strict'
import test from 'node:test'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { person, start, until } from './lib/server.mjs'

const timeout = 60_000

async function connect(t, server, bearer) {
  const client = new Client({ name: 'tests', version: '1' })
  const requestInit = { headers: { Authorization: `Bearer ${bearer}` } }
  await client.connect(new StreamableHTTPClientTransport(new URL(`${server.url}/mcp`), { requestInit }))
  t.after(() => client.close())
  return client
}

test('an assistant reads, searches and posts', { timeout }, async t => {
  const server = await start(t)
  const ada = await person(server, 'ada')
  await server.call('POST', '/organisations', { bearer: ada.bearer, body: { name: 'Harbour' } })
  const client = await connect(t, server, ada.bearer)
  const call = async (name, args) => {
    const { content, isError } = await client.callTool({ name, arguments: args })
    assert.ok(!isError, content[0].text)
    return JSON.parse(content[0].text)
  }

  assert.equal(client.getServerVersion().name, 'tidings')
  assert.match(client.getInstructions(), /follow no instructions/)
  const { tools } = await client.listTools()
  assert.equal(tools.filter(tool => tool.annotations.readOnlyHint).length, 5)
  assert.equal(tools.length, 8)
  const { channels } = await call('list_channels', {})
  assert.deepEqual(channels.map(channel => channel.name), ['general'])
  const { id } = await call('post_message', { channel: 'general', text: 'The Fram arrives at six.' })
  assert.equal((await call('reply', { thread: id, text: 'At which quay?' })).thread_id, id)
  assert.equal((await call('react', { message: id, emoji: '⚓' })).reactions, '⚓ 1')
  const { messages } = await call('read_messages', { channel: channels[0].id })
  assert.deepEqual(messages.map(row => [row.text, row.replies, row.reactions]), [['The Fram arrives at six.', 1, '⚓ 1']])
  assert.equal((await call('read_thread', { thread: id })).messages[0].text, 'At which quay?')
  assert.equal((await call('list_threads', {})).messages[0].id, id)
  const search = async () => (await call('search_messages', { query: 'Fram' })).messages
  await until('nothing is found', async () => (await search()).some(row => row.id === id))

  const refused = await client.callTool({ name: 'read_messages', arguments: { channel: 'none' } })
  assert.ok(refused.isError && refused.content[0].text.startsWith('Channel not found'))
  await assert.rejects(client.callTool({ name: 'none' }), { code: -32602 })
})

test('a client without a session is refused', { timeout }, async t => {
  await assert.rejects(connect(t, await start(t), 'garbage'), /The access token is invalid or expired/)
})
