// Whether the server lets a browser in that opens five tabs at once.
import { logIn } from '../../tests/browser/lib/server.mjs'
import { live, person, visit } from './browser.mjs'

const [TABS, RUNS] = [5, 5]
const rest = ms => new Promise(resolve => setTimeout(resolve, ms))

export async function restored({ t, world, table }) {
  const ada = await person(t, world, world.email)
  const grace = await logIn(world.server, world.grace)
  const channels = [world.large, ...world.channels.slice(0, TABS - 1)]
  const { page, another } = await ada.open()
  await visit(page, world.server.url, world)
  const [tooMany, others, took] = [[], [], []]
  for (let n = 0; n < RUNS; n += 1) {
    const statuses = []
    const tabs = await Promise.all(channels.map(another))
    for (const tab of tabs) tab.on('response', answer => statuses.push(answer.status()))
    const began = performance.now()
    await Promise.all(tabs.map((tab, at) => tab.goto(`${world.server.url}/o/${world.slug}/${channels[at]}`)))
    const text = `For all tabs, ${n}`
    await grace.call('POST', `/channels/${world.large}/messages`, { content: text })
    // Tabs behind another one don't draw: what they show is looked at in turn.
    for (const tab of tabs) {
      await tab.bringToFront()
      await tab.evaluate(() => bench.first)
      await live(tab)
    }
    await tabs[0].bringToFront()
    await tabs[0].waitForFunction(text => [...document.querySelectorAll('.main .row .text')].at(-1)?.innerText === text, { polling: 50 }, text)
    took.push(performance.now() - began)
    await rest(5000) // the rest of the files comes while they are idle
    tooMany.push(statuses.filter(status => status === 429).length)
    others.push(...statuses.filter(status => status >= 400 && status !== 429))
    for (const tab of tabs) await tab.close()
  }
  const note = `all five stood after ${(Math.max(...took) / 1000).toFixed(1)} s at most${others.length > 0 ? `; other refusals: ${others.join(', ')}` : ''}`
  table.row('five tabs restored: 429s', tooMany, { bar: 0, of: 1, note })
}
restored.flags = ['--rate-limit', 'on']
