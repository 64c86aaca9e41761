// What the processor does for a tab: while others write in the channel that is open, and while the tab is hidden and nothing happens.
//
// The rows count the processor time of the tab's whole process, as Chromium tells it: its main thread, and those that draw, since
// these machines have no graphics card.
import { logIn } from '../../tests/browser/lib/server.mjs'
import { live, person, visit } from './browser.mjs'

const [WINDOWS, SECONDS, IDLE_S] = [5, 6, 60]
const rest = ms => new Promise(resolve => setTimeout(resolve, ms))

/** Posts at an even rate, without waiting for answers. How many were answered in a second on average. */
async function post(grace, channel, rate, seconds, mark) {
  const began = performance.now()
  const answers = []
  for (let n = 0; n < rate * seconds; n += 1) {
    await rest(Math.max(0, began + n * 1000 / rate - performance.now()))
    answers.push(grace.call('POST', `/channels/${channel}/messages`, { content: `${mark} ${n}: the **ferry** leaves the harbour at six, see https://example.org/${n}` }))
  }
  await Promise.all(answers)
  return answers.length / (performance.now() - began) * 1000
}

/** Reads the clocks of a page's process. */
async function clocks(page) {
  const cdp = await page.createCDPSession()
  await cdp.send('Performance.enable')
  const read = async () => {
    const { metrics } = await cdp.send('Performance.getMetrics')
    const of = name => metrics.find(each => each.name === name).value
    return { at: of('Timestamp'), process: of('ProcessTime'), main: of('ThreadTime') }
  }
  /** The shares of a core, in percent, that were used meanwhile. */
  return async run => {
    const before = await read()
    await run()
    const after = await read()
    const share = name => 100 * (after[name] - before[name]) / (after.at - before.at)
    return { process: share('process'), main: share('main') }
  }
}

/** Waits until a post is shown below: a reader at the end follows it. */
const follows = (page, text) => page.waitForFunction(text => [...document.querySelectorAll('.main .row .text')].slice(-30).some(each => each.textContent.startsWith(text)),
  { polling: 200 }, text).catch(() => { throw new Error(`the reader at the end doesn't see "${text}"`) })
const mean = (list, name) => list.reduce((sum, each) => sum + each[name], 0) / list.length

export async function processor({ t, world, table }) {
  const ada = await person(t, world, world.email)
  const grace = await logIn(world.server, world.grace)
  const { page, another } = await ada.open()
  await visit(page, world.server.url, world)
  await live(page)
  await rest(5000)
  const used = await clocks(page)
  // From here on the talk has as many rows as it holds.
  await post(grace, world.large, 60, 5, 'Before')
  await follows(page, 'Before 299')
  const shares = []
  let rate = 0
  for (let n = 0; n < WINDOWS; n += 1) {
    shares.push(await used(async () => { rate = await post(grace, world.large, 20, SECONDS, `Calm ${n}`) }))
  }
  table.row('20 posts/s in the open channel: a core', shares.map(each => each.process), { bar: 15, unit: '%', chromium: true, note: `the tab's process; its main thread takes ${mean(shares, 'main').toFixed(1)} %; ${rate.toFixed(0)} posts/s` })
  await follows(page, `Calm ${WINDOWS - 1} ${20 * SECONDS - 1}`)
  await page.evaluate(() => { bench.longest = 0 })
  const burst = await used(async () => { rate = await post(grace, world.large, 200, 5, 'Storm') })
  await follows(page, 'Storm 999')
  const longest = await page.evaluate(() => bench.longest)
  table.row('200 posts/s for 5 s: longest task', [longest], { bar: 50, unit: 'ms', chromium: true, note: `${longest === 0 ? 'none over 50 ms; ' : ''}${rate.toFixed(0)} posts/s; the main thread takes ${burst.main.toFixed(0)} %` })
  const front = await another()
  await front.goto(`${world.server.url}/features`)
  await front.bringToFront()
  const isHidden = await page.evaluate(() => document.visibilityState === 'hidden')
  if (!isHidden) throw new Error('the tab behind another one is not hidden')
  await rest(10_000)
  const idle = await used(() => rest(IDLE_S * 1000))
  table.row('hidden idle tab: a core', [idle.process], { bar: 0.3, unit: '%', chromium: true, note: `the tab's process over ${IDLE_S} s; its main thread takes ${idle.main.toFixed(2)} %` })
}
