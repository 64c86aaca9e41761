// The bots of examples/, each with a token of its own bot: they answer whoever mentions them, and no other bot.
// Usage: bots.mjs BASE_URL COMMAND..., each command as one argument.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'

const [base, ...commands] = process.argv.slice(2)

async function call(method, path, bearer, body) {
  const headers = { 'content-type': 'application/json', ...bearer && { authorization: `Bearer ${bearer}` } }
  const answer = await fetch(`${base}/api/v1${path}`, { method, headers, body: body && JSON.stringify(body) })
  const read = await answer.json()
  assert.ok(answer.ok, `${method} ${path}: ${JSON.stringify(read)}`)
  return read
}

const account = { email: `ada-${crypto.randomUUID()}@example.org`, password: 'quiet harbour at dawn' }
await call('POST', '/auth/register', null, account)
const ada = (await call('POST', '/auth/login', null, account)).data.access_token
const { id: org } = (await call('POST', '/organisations', ada, { name: 'Engines' })).data
const { channels: [{ channels_id: channel }] } = await call('GET', '/channels', ada)

async function bot() {
  const { id, username } = (await call('POST', `/organisations/${org}/bots`, ada, { name: 'Status' })).data
  const { token } = (await call('POST', `/users/${id}/tokens`, ada, { name: 'a program', scopes: ['read', 'post'] })).data
  return { username, token }
}

const say = async (bearer, content) => (await call('POST', `/channels/${channel}/messages`, bearer, { content })).data
const replies = async ({ id }) => (await call('GET', `/threads/${id}/channels/${channel}`, ada)).data

for (const command of commands) {
  const [{ username, token }, other] = [await bot(), await bot()]
  const [program, ...args] = command.split(' ')
  const process = spawn(program, [...args, base], { env: { ...globalThis.process.env, TIDINGS_TOKEN: token }, stdio: ['ignore', 'pipe', 'inherit'] })
  const [line] = await once(createInterface(process.stdout), 'line')
  assert.equal(line, `listening as ${username}`)
  const of = { bot: await say(other.token, `@${username} status?`), nobody: await say(ada, 'status?'), person: await say(ada, `@${username}, what is the status?`) }
  let answers
  for (const end = Date.now() + 20_000; !(answers = await replies(of.person)).length; await sleep(50)) {
    assert.ok(Date.now() < end, `${command} did not answer`)
  }
  assert.deepEqual(answers.map(each => [each.content, each.username, each.user_type]), [['All engines are running.', username, 'bot']])
  // It hears mentions in their order, so it has passed these.
  for (const unanswered of [of.bot, of.nobody]) assert.deepEqual(await replies(unanswered), [])
  process.kill()
  console.log(`ok: ${command} answers whoever mentions it`)
}
