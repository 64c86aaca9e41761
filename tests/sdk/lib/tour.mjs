// Runs examples/tour.sh, and holds it while a test begins to listen.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { root, scratch, until } from './server.mjs'

/** What the tour posts at the top level of its channel. */
export const POSTS = ['The Fram arrives at six. Who takes her in?', 'Fog is expected after eight.']
export const REPLY = 'I do.'
/** What a program feeds it after the reply. */
export const FEED = 'Visibility 200 metres.'
/** The unread counts that Grace is told: her own reply reads nothing, and the marker comes last. */
export const UNREAD = [1, 2, 2, 3, 4]
/** What she is told in all: beside the counts, the state of the thread that she replied to. */
export const NOTICES = UNREAD.length + 1
export const DESCRIPTION = 'Who brings which ship in'

/**
 * Runs the tour up to the point where the channel exists, calls `listen` with the tour's people and
 * channels, lets the tour go on, and posts a marker at the end: whatever was sent before the marker has
 * arrived when the marker has.
 */
export async function tour(t, server, listen) {
  const gate = join(scratch(t), 'gate')
  const child = spawn('sh', [join(root, 'examples/tour.sh'), server.url], {
    env: { ...process.env, TOUR_WAIT: gate },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  child.stdout.on('data', chunk => { output += chunk })
  child.stderr.on('data', chunk => { output += chunk })
  let ended
  const exited = new Promise(resolve => {
    child.once('error', resolve)
    child.once('close', code => resolve(code))
  })
  exited.then(code => { ended = code ?? 'a signal' })
  t.after(() => { if (ended === undefined) child.kill('SIGKILL') })

  await until(() => `the tour makes no channel\n${output}`, () => {
    assert.equal(ended, undefined, `the tour ended early\n${output}`)
    return existsSync(`${gate}.ready`)
  }, 20_000)
  const lines = readFileSync(`${gate}.ready`, 'utf8').trim().split('\n')
  const { ORG_ID, CHANNEL_ID, ADA_TOKEN, GRACE_ID, GRACE_TOKEN, GRACE_EMAIL, PASSWORD } =
    Object.fromEntries(lines.map(line => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]))
  const place = {
    channel: CHANNEL_ID,
    personal: `${ORG_ID}/${GRACE_ID}`,
    ada: { bearer: ADA_TOKEN },
    grace: { id: GRACE_ID, bearer: GRACE_TOKEN, email: GRACE_EMAIL, password: PASSWORD },
  }

  await listen(place)
  writeFileSync(`${gate}.go`, '')
  assert.equal(await exited, 0, output)
  for (const text of [...POSTS, REPLY, FEED]) assert.ok(output.includes(`"${text}"`), `the tour does not print: ${text}\n${output}`)

  const marker = `marker ${Math.random()}`
  await server.call('POST', `/channels/${place.channel}/messages`, { bearer: place.ada.bearer, body: { content: marker } })
  return { ...place, marker, output }
}

/**
 * Waits for the marker on both of Grace's channels, then checks that what arrived is what the tour did:
 * in order, each once. `received` is the growing list of `{channel, data}`.
 */
export async function check(server, place, received) {
  const on = channel => received.filter(item => item.channel === channel).map(item => item.data)
  const notices = () => on(place.personal).filter(data => data.notification_type === 'unread_thread_change')
  const sofar = () => `the marker has not arrived\n${JSON.stringify(received, null, 1)}`
  await until(sofar, () => on(place.channel).some(data => data.content === place.marker) && notices().length >= UNREAD.length)

  const channel = (await server.call('GET', `/channels/${place.channel}`, { bearer: place.grace.bearer })).data
  assert.equal(channel.description, DESCRIPTION)

  // On the channel: the messages bare, then the reply's notice, then the feed, then the marker; nothing twice, nothing else.
  const shown = on(place.channel).map(data => data.notification_type ?? data.content)
  assert.deepEqual(shown, [...POSTS, 'reply_count_change', FEED, place.marker], sofar())
  for (const message of on(place.channel).filter(data => !data.notification_type)) {
    assert.equal(message.message, message.content)
    assert.equal(message.channel_id, place.channel)
    assert.equal(message.thread_id, message.id)
    assert.match(message.created_at, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/)
  }
  const replied = on(place.channel).find(data => data.notification_type)
  const root = on(place.channel).find(data => data.content === POSTS[0])
  assert.equal(replied.modification_ids.thread_id, root.id)
  assert.equal(replied.section, 'channels_section')
  assert.equal(replied.data.content, REPLY)
  // Both counts are of the thread's replies.
  const { last_reply, participants, ...counts } = replied.update_change
  assert.match(last_reply, /Z$/)
  assert.deepEqual(participants.map(participant => participant.user_id), [place.grace.id])
  assert.deepEqual(counts, { thread_count: 1, message_count: 1, participant_count: 1 })

  // On the personal channel: one notice for each message of others, and two for her own reply.
  assert.deepEqual(on(place.personal).map(data => data.notification_type).sort(),
    ['thread_unread', ...Array(UNREAD.length).fill('unread_thread_change')], sofar())
  // Counts are current when they are pushed: on a busy machine, the next post may be in them already.
  const counted = notices().map(notice => notice.data.thread_count)
  assert.ok(counted.every((count, at) => count >= UNREAD[at] && count >= (counted[at - 1] ?? 0)), `${counted}`)
  assert.equal(counted.at(-1), UNREAD.at(-1))
  for (const notice of notices()) {
    assert.equal(notice.data.name, channel.name)
    assert.equal(notice.data.description, channel.description)
    assert.equal(notice.data.channels_id, place.channel)
  }
  const ids = received.map(item => item.data.notification_id).filter(Boolean)
  assert.equal(new Set(ids).size, ids.length, 'a notification_id was used twice')
  assert.deepEqual(received.map(item => item.channel).filter(name => name !== place.channel && name !== place.personal), [])
}
