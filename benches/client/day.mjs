// What a tab holds after a working day that it did not hold in the morning.
import { logIn } from '../../tests/browser/lib/server.mjs'
import { effects, heap, live, person, visit } from './browser.mjs'
import { switchTo } from './moving.mjs'

const [PUSHES, SWITCHES, FAVOURITES] = [5000, 400, 6]
const rest = ms => new Promise(resolve => setTimeout(resolve, ms))

/** Counts the pushes that the page hears, several of which may come in one frame. */
async function countPushes(page) {
  const cdp = await page.createCDPSession()
  let count = 0
  await cdp.send('Network.enable')
  cdp.on('Network.webSocketFrameReceived', ({ response }) => { count += response.payloadData.split('"push":').length - 1 })
  return { get count() { return count }, end: () => cdp.detach() }
}

/** What colleagues do in the channel that is open, and in another one. */
async function colleagues(grace, channel, elsewhere, n) {
  const here = `/channels/${channel}/messages`
  const posts = await Promise.all([1, 2, 3, 4].map(k => grace.call('POST', here, { content: `Said ${n}.${k}: the **ferry** leaves at six, see https://example.org/${n}` })))
  await Promise.all([
    grace.call('PUT', `${here}/${posts[0].id}/reactions/${encodeURIComponent('🎉')}`),
    grace.call('PUT', here, { message_id: posts[1].id, content: `Said ${n} in other words` }),
    grace.call('POST', here, { content: `A reply to ${n}`, thread_id: posts[2].id }),
    ...[1, 2].map(k => grace.call('POST', `/channels/${elsewhere}/messages`, { content: `Elsewhere ${n}.${k}` })),
  ])
}

/** Opens and closes the thread that was written in last. */
const readThread = page => page.evaluate(async () => {
  const links = document.querySelectorAll('.main .replies')
  if (links.length === 0) return
  const back = location.pathname
  links[links.length - 1].click()
  await bench.painted(() => document.querySelector('.beside .row .text'))
  document.querySelector(`.side a[href="${back}"]`).click()
  await bench.painted(() => !document.querySelector('.beside'))
})

export async function day({ t, world, table }) {
  const ada = await person(t, world, world.email)
  const grace = await logIn(world.server, world.grace)
  const channels = world.channels.slice(0, 40)
  for (const channel of channels) await ada.call('POST', `/channels/${channel}/users`, { user_ids: [grace.id] })
  const { page } = await ada.open()
  await visit(page, world.server.url, world)
  await live(page)
  await rest(5000)
  // More channels than talks are kept: each is loaded anew, morning and evening, and the last one is where nobody else writes.
  const round = async () => {
    for (const channel of [...channels, world.direct[0]]) {
      await switchTo(page, channel)
      await rest(350) // until it is marked as read
    }
    await rest(2000)
    return { ...await heap(page), effects: await effects(page) }
  }
  await round()
  const morning = await round()
  const pushes = await countPushes(page)
  const at = n => channels[n % 2 === 0 ? (n / 2) % FAVOURITES : FAVOURITES + ((n - 1) / 2) % (channels.length - FAVOURITES)]
  for (let n = 0; n < SWITCHES - channels.length - 1 || pushes.count < PUSHES; n += 1) {
    await switchTo(page, at(n))
    await colleagues(grace, at(n), at(n + 1), n)
    if (n % 10 === 9) await readThread(page)
    await rest(200)
  }
  const { count } = pushes
  await pushes.end()
  const evening = await round()
  const what = 'a working day'
  const change = (name, digits = 0) => `${morning[name].toFixed(digits)} to ${evening[name].toFixed(digits)}`
  table.row(`${what}: heap`, [evening.megabytes - morning.megabytes], { bar: 10, unit: 'MB', chromium: true, note: `${change('megabytes', 1)} MB; ${count} pushes, ${SWITCHES} switches` })
  table.row(`${what}: detached nodes`, [evening.detached], { bar: 0, chromium: true, note: `${change('detached')}; nodes ${change('nodes')}` })
  table.row(`${what}: live effects more than at the start`, [evening.effects - morning.effects], { bar: 0, note: change('effects') })
}
