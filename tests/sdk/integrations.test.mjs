// What docs/integrations.md offers to copy works as it is written there: the workflow's step, with Alertmanager itself, by cron, and
// signed.
import assert from 'node:assert/strict'
import { execFileSync, spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import test from 'node:test'
import { blocks, section } from './lib/document.mjs'
import { freePort, person, scratch, start, until } from './lib/server.mjs'

const timeout = 60_000
const text = section('docs/integrations.md', 'To copy')
const [alertmanager, workflow] = [...text.matchAll(/```yaml\n([^]*?)```/g)].map(([, block]) => block)
const FEED = 'https://chat.example.org/api/v1/webhooks/feed/SLUG'

/** A channel, and what its webhook has posted in it. */
async function place(t, set = {}) {
  const server = await start(t)
  const { bearer } = await person(server, 'ada')
  const make = async (path, body) => (await server.call('POST', path, { bearer, body })).data
  const organisation = await make('/organisations', { name: 'Engines' })
  const channel = (await make('/channels', { name: 'alerts', organisation_id: organisation.id })).id
  const { webhook_slug: slug } = await make(`/webhooks/${channel}`, { webhook_name: 'tools', ...set })
  const posted = async () => (await server.call('GET', `/channels/${channel}/messages`, { bearer })).messages
  return { feed: `${server.url}/api/v1/webhooks/feed/${slug}`, posted }
}

test('the step of a workflow says how it ended', { timeout }, async t => {
  const { feed, posted } = await place(t)
  const folded = workflow.split('  run: >\n')[1].replaceAll(/\n +/g, ' ').trim()
  const say = ended => execFileSync('bash', ['-ec', folded], {
    env: { ...process.env, WEBHOOK: feed, TEXT: `Deploy of main & "more": ${ended}`, STATUS: ended === 'success' ? 'success' : 'error' },
  })
  say('success')
  say('failure')
  assert.deepEqual((await posted()).map(each => [each.username, each.event_name, each.status, each.content]), [
    ['GitHub Actions', 'workflow', 'error', 'Deploy of main & "more": failure'],
    ['GitHub Actions', 'workflow', 'success', 'Deploy of main & "more": success'],
  ])
})

test('Alertmanager tells of an alert', { timeout }, async t => {
  const { feed, posted } = await place(t)
  const [folder, port] = [scratch(t), await freePort()]
  assert.ok(alertmanager.includes(FEED))
  writeFileSync(join(folder, 'alertmanager.yml'), alertmanager.replace('receiver: tidings', 'receiver: tidings\n  group_wait: 0s').replace(FEED, feed))
  const flags = [`--config.file=${folder}/alertmanager.yml`, `--storage.path=${folder}`, `--web.listen-address=127.0.0.1:${port}`, '--cluster.listen-address=']
  const running = spawn('prometheus-alertmanager', flags, { stdio: 'ignore' })
  t.after(() => running.kill())
  const alert = [{ labels: { alertname: 'BoilerHot', severity: 'critical' }, annotations: { summary: 'The boiler is hot' } }]
  await until('Alertmanager does not take the alert', async () => {
    const request = { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(alert) }
    return (await fetch(`http://127.0.0.1:${port}/api/v2/alerts`, request).catch(() => null))?.ok
  }, 30_000)
  await until('Alertmanager tells nothing', async () => (await posted()).length, 30_000)
  const [message] = await posted()
  assert.equal(message.status, 'error')
  for (const word of ['BoilerHot', 'critical', 'The boiler is hot']) assert.ok(message.content.includes(word), message.content)
})

test('a cron job tells of its failure', { timeout }, async t => {
  const { feed, posted } = await place(t)
  const [cron] = blocks(text)
  execFileSync('bash', ['-c', cron.replace(/^.* [|][|]/, 'false ||').replace(FEED, feed)], { stdio: 'ignore' })
  assert.deepEqual((await posted()).map(each => each.content), ['The backup failed'])
})

test('a script signs what it sends', { timeout }, async t => {
  const { feed, posted } = await place(t, { sender_secret: 'a-secret-of-both' })
  const [script] = blocks(section('docs/integrations.md', 'Take only what is signed'))
  for (const SECRET of ['a-secret-of-nobody', 'a-secret-of-both']) {
    execFileSync('bash', ['-ec', script], { stdio: ['ignore', 'ignore', 'ignore'], env: { ...process.env, SECRET, FEED_URL: feed } })
  }
  assert.deepEqual((await posted()).map(each => each.content), ['done'])
})
