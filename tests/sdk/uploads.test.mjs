// The unmodified JavaScript client of tus uploads a file in pieces, over cuts and kills.
import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import test from 'node:test'
import * as tus from 'tus-js-client'
import { person, start } from './lib/server.mjs'

const timeout = 60_000
const PIECE = 1 << 20
const sha256 = bytes => createHash('sha256').update(bytes).digest('hex')

/** An upload of these bytes; `progress` is told after each piece. */
function upload(server, bearer, bytes, { progress = () => {}, ...options } = {}) {
  let done
  const ended = new Promise((resolve, reject) => { done = { onSuccess: resolve, onError: reject } })
  const made = new tus.Upload(Buffer.from(bytes), {
    endpoint: `${server.url}/api/v1/files/uploads`,
    headers: { Authorization: `Bearer ${bearer}` },
    metadata: { filename: 'Übersicht.bin', filetype: 'application/octet-stream' },
    chunkSize: PIECE,
    retryDelays: Array(60).fill(200),
    onChunkComplete: (_, sent) => progress(sent),
    ...done,
    ...options,
  })
  return { made, ended }
}

const idOf = made => made.url.split('/').at(-1)

async function opened(server, bearer, id) {
  const answer = await fetch(`${server.url}/api/v1/files/${id}/any`, { headers: { Authorization: `Bearer ${bearer}` } })
  assert.equal(answer.status, 200)
  return Buffer.from(await answer.arrayBuffer())
}

async function place(t) {
  const server = await start(t)
  const { bearer } = await person(server, 'ada')
  await server.call('POST', '/organisations', { bearer, body: { name: 'Harbour' } })
  return { server, bearer }
}

test('a file of eight pieces arrives over two kills', { timeout }, async t => {
  const { server, bearer } = await place(t)
  const bytes = randomBytes(7.5 * PIECE)
  const kills = [2 * PIECE, 5 * PIECE]
  let restarted = Promise.resolve()
  const { made, ended } = upload(server, bearer, bytes, {
    progress: sent => {
      if (sent < kills[0]) return
      kills.shift()
      restarted = restarted.then(() => server.kill()).then(() => server.launch())
    },
  })
  made.start()
  await ended
  await restarted
  assert.deepEqual(kills, [])
  assert.equal(sha256(await opened(server, bearer, idOf(made))), sha256(bytes))
})

test('an upload that was paused goes on in another program, by its address', { timeout }, async t => {
  const { server, bearer } = await place(t)
  const bytes = randomBytes(3 * PIECE)
  const paused = await new Promise(resolve => {
    const { made } = upload(server, bearer, bytes, { progress: () => made.abort().then(() => resolve(made)) })
    made.start()
  })
  let first
  const { made, ended } = upload(server, bearer, bytes, { uploadUrl: paused.url, onProgress: sent => { first ??= sent } })
  made.start()
  await ended
  assert.ok(first >= PIECE, `it begins at ${first}`)
  assert.equal(sha256(await opened(server, bearer, idOf(made))), sha256(bytes))
})

test('an upload that is ended is gone', { timeout }, async t => {
  const { server, bearer } = await place(t)
  const made = await new Promise(resolve => {
    const { made } = upload(server, bearer, randomBytes(3 * PIECE), { progress: () => made.abort(true).then(() => resolve(made)) })
    made.start()
  })
  const headers = { Authorization: `Bearer ${bearer}`, 'Tus-Resumable': '1.0.0' }
  assert.equal((await fetch(made.url, { method: 'HEAD', headers })).status, 404)
})
