// A stand-in for Slack's files, and an import that fetches from it.
// Usage: node slack.mjs NUMBER-OF-FILES, in a network and with mounts of its own (slack.test.mjs).
import assert from 'node:assert/strict'
import { execFileSync, spawn } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:https'
import { join } from 'node:path'
import { certificates } from './certificates.mjs'
import { binary, scratch, start } from './server.mjs'

const MANY = Number(process.argv[2])
const cleanups = []
const t = { after: clean => cleanups.unshift(clean) }
const folder = scratch(t)
const at = (...names) => join(folder, ...names)
const sha256 = bytes => createHash('sha256').update(bytes).digest('hex')

/** A picture of 1 pixel (GIF89a). */
const PIXEL = Buffer.from('R0lGODlhAQABAPAAAP8AAAAAACH5BAAAAAAALAAAAAABAAEAAAICRAEAOw==', 'base64')
const LARGE = 100_000_000

/** Files by their identifiers: what they have, how the stand-in answers, and why they don't come. */
const files = {
  FWHOLE: { bytes: Buffer.from('The plan of the harbour') },
  FPICTURE: { bytes: PIXEL, alt_txt: 'A red pixel' },
  FCUT: { bytes: randomBytes(300_000), cut: 100_000 },
  FBUSY: { bytes: Buffer.from('Later'), statuses: [429, 503] },
  FLARGEST: { bytes: Buffer.alloc(LARGE, 'x') },
  FPAGE: { bytes: Buffer.from('<html>a page</html>'), mimetype: 'text/html', type: 'text/html' },
  FSIZE: { bytes: Buffer.from('Longer than it says'), size: 3 },
  FFORBIDDEN: { always: 403, why: /status 403/ },
  FGONE: { always: 404, why: /status 404/ },
  FBROKEN: { always: 500, why: /status 500/ },
  FMOVED: { always: 302, why: /sign in/ },
  FLOGIN: { bytes: Buffer.from('<html>Sign in</html>'), type: 'text/html', why: /sign in/ },
  FLARGER: { bytes: Buffer.alloc(LARGE + 1, 'x'), why: /more than 100000000 bytes/ },
  FENDLESS: { bytes: Buffer.alloc(LARGE + 1, 'x'), isChunked: true, why: /more than 100000000 bytes/ },
  FELSEWHERE: { address: 'https://evil.example/a', why: /not one of Slack/ },
  FINSIDE: { address: 'https://127.0.0.1/a', why: /not one of Slack/ },
  FPLAIN: { address: 'http://files.slack.com/a', why: /not one of Slack/ },
  FPRIVATE: { address: 'https://private.slack.com/a', why: /no address on the public internet/ },
}
for (let n = 0; n < MANY; n++) files[`FMANY${n}`] = { bytes: Buffer.from(`file ${n}`) }
const external = { id: 'FEXTERNAL', name: 'A document', mode: 'external', permalink: 'https://docs.example/1', url_private: 'https://docs.example/1' }
const escape = { id: '../../escape', name: 'escape.txt', mode: 'hosted', url_private: 'https://files.slack.com/FWHOLE' }

const asked = new Map()
let [now, most] = [0, 0]
let server

function answer(request, response) {
  const id = request.url.slice(1).split('?')[0]
  asked.set(id, (asked.get(id) ?? 0) + 1)
  const file = id === 'face' ? { bytes: PIXEL } : files[id]
  assert.match(request.url, id === 'face' ? /./ : /\?t=xoxe-secret$/)
  const status = file.always ?? file.statuses?.shift()
  if (status) {
    response.writeHead(status, { 'retry-after': '1', ...(status === 302 ? { location: 'https://127.0.0.1/login' } : {}) }).end('no')
    return
  }
  const from = Number(/^bytes=(\d+)-$/.exec(request.headers.range ?? '')?.[1] ?? 0)
  const rest = file.bytes.subarray(from)
  const head = { 'content-type': file.type ?? 'application/octet-stream' }
  if (!file.isChunked) head['content-length'] = rest.length
  if (from > 0) head['content-range'] = `bytes ${from}-${file.bytes.length - 1}/${file.bytes.length}`
  response.writeHead(from > 0 ? 206 : 200, head)
  if (file.cut && from === 0) response.write(rest.subarray(0, file.cut), () => response.destroy())
  else response.end(rest)
}

/** The export, as Slack zips it. */
function write(name) {
  const of = ([id, { bytes, address, size, ...file }]) => ({
    id, name: `${id.toLowerCase()}.txt`, mode: 'hosted', size: size ?? bytes?.length ?? 10, ...file,
    url_private: `https://files.slack.com/${id}`, url_private_download: address ?? `https://files.slack.com/${id}?t=xoxe-secret`,
  })
  const all = [...Object.entries(files).map(of), external, escape]
  const posts = []
  for (let n = 0; n < all.length; n += 5) {
    posts.push({ type: 'message', user: 'U1', text: n ? '' : 'Look', ts: `${1700000000 + n}.000100`, files: all.slice(n, n + 5) })
  }
  const profile = { email: 'ada@x.example', real_name: 'Ada King', image_512: 'https://avatars.slack-edge.com/face' }
  const lists = {
    'users.json': [{ id: 'U1', name: 'ada', is_primary_owner: true, profile }, { id: 'U2', name: 'bob', profile: { email: 'bob@x.example', image_512: 'https://elsewhere.example/b' } }],
    'channels.json': [{ id: 'C1', name: 'general', created: 1700000000, creator: 'U1', is_general: true, members: ['U1', 'U2'] }],
  }
  mkdirSync(at('export/general'), { recursive: true })
  for (const [list, content] of Object.entries(lists)) writeFileSync(at('export', list), JSON.stringify(content))
  writeFileSync(at('export/general/2023-11-14.json'), JSON.stringify(posts))
  execFileSync('python3', ['-m', 'zipfile', '-c', at(name), 'channels.json', 'general', 'users.json'], { cwd: at('export') })
}

/** Runs a command beside the server, and gives what it printed. */
async function tidings(...args) {
  const running = spawn(binary(), [...args, '--data-dir', server.data], { stdio: ['ignore', 'pipe', 'inherit'] })
  let printed = ''
  running.stdout.on('data', chunk => { printed += chunk })
  const code = await new Promise(resolve => running.on('close', resolve))
  assert.equal(code, 0, `tidings ${args.join(' ')}`)
  return printed
}

async function main() {
  writeFileSync(at('hosts'), '127.0.0.1 localhost\n44.0.0.7 files.slack.com avatars.slack-edge.com evil.example elsewhere.example\n10.0.0.1 private.slack.com\n')
  execFileSync('mount', ['--bind', at('hosts'), '/etc/hosts'])
  const { ca, key, files: { key: keyFile }, sign } = certificates(t)
  const request = execFileSync('openssl', ['req', '-new', '-key', keyFile, '-subj', '/CN=files.slack.com'])
  const cert = sign(request, 'DNS:files.slack.com,DNS:avatars.slack-edge.com,DNS:evil.example,DNS:elsewhere.example')
  const slack = createServer({ key, cert }, (request, response) => {
    now += 1
    most = Math.max(most, now)
    response.on('close', () => { now -= 1 })
    answer(request, response)
  })
  await new Promise(resolve => slack.listen(443, '44.0.0.7', resolve))
  t.after(() => slack.close())

  server = await start(t)
  write('export.zip')
  await tidings('user', 'create', '--email', 'root@x.example', '--password', 'correct horse battery', '--role', 'superadmin')
  const command = ['import', 'slack', at('export.zip'), '--name', 'Harbour', '--fetch-files', '--ca-file', ca, '--json']
  const began = Date.now()
  const report = JSON.parse(await tidings(...command))
  console.log(`imported ${Object.keys(files).length} files in ${Date.now() - began} ms`)
  const come = Object.entries(files).filter(([, file]) => !file.why)
  const count = report.imported.find(({ records }) => records === 'files')
  assert.equal(count.written, come.length, JSON.stringify(report))
  assert.ok(most > 1 && most <= 5, `${most} at once: four, and one that the client has left`)
  const missing = readFileSync(at('export.zip.files/missing.txt'), 'utf8').trim().split('\n')
  assert.ok(!missing.join().includes('xoxe'), 'the right to open a file is told to nobody')
  const refused = Object.entries(files).filter(([, file]) => file.why)
  assert.equal(missing.length, refused.length, missing.join('\n'))
  for (const [id, { why }] of refused) {
    const said = missing.find(line => line.startsWith(`the file ${id} `)) ?? ''
    assert.match(said, why, id)
    assert.ok(report.left_out.some(({ left_out: text }) => text.endsWith(said.split('.txt: ')[1])), said)
  }
  assert.ok(!asked.has('a') && !asked.has('b'), 'other hosts are asked for nothing')
  assert.equal(asked.get('FCUT'), 2)
  const fetched = readdirSync(at('export.zip.files'))
  assert.deepEqual(fetched.filter(name => name.endsWith('.partial')), [])
  assert.deepEqual(fetched.sort(), [...come.map(([id]) => id), 'faces', 'missing.txt'].sort())
  assert.ok(!existsSync(at('escape')))

  // Nothing that is there is fetched again, nothing is doubled, and what has come since stands in its message.
  const before = asked.get('FWHOLE')
  files.FGONE = { bytes: Buffer.from('It is back') }
  const again = JSON.parse(await tidings(...command))
  assert.equal(asked.get('FWHOLE'), before)
  assert.equal(readFileSync(at('export.zip.files/FGONE'), 'utf8'), 'It is back')
  assert.ok(again.imported.every(({ records, written }) => written === (records === 'files' ? 1 : 0)), JSON.stringify(again))
  come.push(['FGONE', files.FGONE])

  const link = (await tidings('user', 'reset-link', '--email', 'ada@x.example')).trim()
  const call = async (method, path, body, token) => {
    const headers = { 'content-type': 'application/json', ...(token ? { authorization: `Bearer ${token}` } : {}) }
    const reply = await fetch(`${server.url}/api/v1${path}`, { method, headers, body: body && JSON.stringify(body) })
    assert.ok(reply.ok, `${path}: ${reply.status}`)
    return reply.json()
  }
  await call('POST', '/auth/password-reset/verify', { token: link.split('token=').pop(), new_password: 'a louder harbour' })
  const { data: session } = await call('POST', '/auth/login', { email: 'ada@x.example', password: 'a louder harbour' })
  const token = session.access_token
  const { data: profile } = await call('GET', '/profile', undefined, token)
  const face = await fetch((profile.user ?? profile).avatar_url)
  assert.deepEqual([face.status, face.headers.get('content-type')], [200, 'image/jpeg'])
  const organisation = report.organisation
  const { data: channels } = await call('GET', `/organisations/${organisation}/user-channels`, undefined, token)
  const general = channels.find(({ name }) => name === 'general').id
  let [found, page] = [[], 1]
  for (;;) {
    const { data } = await call('GET', `/channels/${general}/files?limit=100&page=${page}`, undefined, token)
    found.push(...data)
    if (data.length < 100) break
    page += 1
  }
  assert.equal(found.length, come.length)
  for (const media of found) {
    const id = media.file_name.replace('.txt', '').toUpperCase()
    const reply = await fetch(media.file_link, { headers: { authorization: `Bearer ${token}` } })
    assert.equal(sha256(Buffer.from(await reply.arrayBuffer())), sha256(files[id].bytes), id)
    if (id === 'FPICTURE') assert.deepEqual([media.width, media.height, media.description], [1, 1, 'A red pixel'])
  }
  console.log('all files are there')
}

try {
  await main()
} finally {
  for (const clean of cleanups) await clean()
}
process.exit(0)
