// How soon a tab is right again after a night in which its machine slept and all channels went on.
import { connect, createServer } from 'node:net'
import { logIn } from '../../tests/browser/lib/server.mjs'
import { live, person, visit } from './browser.mjs'

const [NIGHTS, EACH, HERE, TOKEN_S] = [5, 10, 320, 12]
const rest = ms => new Promise(resolve => setTimeout(resolve, ms))

/**
 * A relay to the server. `sleep()` ends all that goes through it, as the server does with a machine that is silent; but the machine's
 * live connection still seems to stand, and what is sent on it is heard by nobody. `wake()` lets new ones through.
 */
async function relay(t, server) {
  const open = new Map()
  let isAsleep = false
  const listener = createServer({ noDelay: true }, client => {
    if (isAsleep) return client.destroy()
    const far = connect({ port: server.port, host: '127.0.0.1', noDelay: true })
    const here = { far, isLive: false }
    open.set(client, here)
    client.once('data', head => { here.isLive = head.includes('/connection/websocket') })
    client.pipe(far).pipe(client)
    client.on('error', () => {}).on('close', () => { open.delete(client); far.destroy() })
    far.on('error', () => {}).on('close', () => { if (!here.isLive || !isAsleep) client.destroy() })
  })
  await new Promise(resolve => listener.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    for (const [client] of open) client.destroy()
    listener.close()
  })
  return {
    url: `http://127.0.0.1:${listener.address().port}`,
    sleep() {
      isAsleep = true
      for (const [client, { far, isLive }] of open) {
        client.unpipe(far)
        far.unpipe(client)
        client.resume()
        far.destroy()
        if (!isLive) client.destroy()
      }
    },
    wake() { isAsleep = false },
  }
}

/** Posts into each channel, some at a time. */
async function night(grace, channels, count, n) {
  const posts = channels.flatMap(channel => Array.from({ length: count }, (_, k) => () => grace.call('POST', `/channels/${channel}/messages`, { content: `Night ${n}, ${k + 1}` })))
  const worker = async () => { for (let next = posts.shift(); next; next = posts.shift()) await next() }
  await Promise.all(Array.from({ length: 8 }, worker))
}

/** Wakes the page up: how long it takes to show the last post and all that is unread, and what it asked for until then. */
const wake = (page, last, unread) => page.evaluate(async (last, unread) => {
  const began = performance.now()
  globalThis.slept += 8 * 3600_000
  const shown = () => [...document.querySelectorAll('.main .row .text')].at(-1)?.innerText
  const count = () => document.querySelectorAll('.side a.place.unread:not([aria-current])').length
  const isRight = bench.painted(() => shown() === last && count() === unread)
  const late = new Promise((_, refuse) => setTimeout(() => refuse(new Error(`after 30 s it shows "${shown()}" and ${count()} unread instead of "${last}" and ${unread}`)), 30_000))
  document.dispatchEvent(new Event('resume'))
  dispatchEvent(new Event('online'))
  const right = await Promise.race([isRight, late])
  await new Promise(resolve => setTimeout(resolve, 2000)) // what is under way then is told when it is answered
  const asked = performance.getEntriesByType('resource').filter(each => each.startTime >= began && each.startTime < right)
  return { took: right - began, asked: asked.map(each => new URL(each.name).pathname.replace('/api/v1', '').replace(/[0-9a-f-]{36}/g, '…')) }
}, last, unread)

export async function waking({ t, world, table }) {
  const ada = await person(t, world, world.email)
  const grace = await logIn(world.server, world.grace)
  for (const channel of world.channels) await ada.call('POST', `/channels/${channel}/users`, { user_ids: [grace.id] })
  const way = await relay(t, world.server)
  const { page } = await ada.open()
  await page.evaluateOnNewDocument(() => {
    const { Date: Real } = globalThis
    globalThis.slept = 0
    globalThis.Date = class extends Real {
      constructor(...given) { super(...(given.length > 0 ? given : [Real.now() + slept])) }
      static now() { return Real.now() + slept }
    }
  })
  await visit(page, way.url, world)
  const mornings = []
  for (let n = 1; n <= NIGHTS; n += 1) {
    for (const channel of [...world.channels, world.large]) await ada.call('PUT', `/channels/${channel}/read`, {})
    await live(page)
    await page.waitForFunction(() => document.querySelectorAll('.side a.place.unread').length === 0, { polling: 200 })
    await rest(3000)
    const fell = performance.now()
    way.sleep()
    await night(grace, world.channels, EACH, n)
    await night(grace, [world.large], HERE, n)
    await grace.call('POST', `/channels/${world.large}/messages`, { content: `Good morning ${n}` })
    await rest(Math.max(0, fell + TOKEN_S * 1000 + 1000 - performance.now()))
    way.wake()
    mornings.push(await wake(page, `Good morning ${n}`, world.channels.length))
  }
  const what = 'wake after a night, all channels active'
  table.row(`${what}: right after`, mornings.map(each => each.took), { bar: 1000, unit: 'ms', note: `${world.channels.length * EACH + HERE} posts a night` })
  table.row(`${what}: requests`, mornings.map(each => each.asked.length), { bar: 3, note: mornings.at(-1).asked.join(', ') })
}
waking.flags = ['--push-token-seconds', String(TOKEN_S)]
