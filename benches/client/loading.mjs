// How soon the talk stands after an address was opened.
import { person, visit } from './browser.mjs'
import { relay } from './line.mjs'

const RUNS = 5
const [COLD, KEPT] = ['first paint with talk, cold', 'first paint with talk']

async function cold(ada, world, url, prepare = async () => {}) {
  const samples = []
  for (let n = 0; n < RUNS; n += 1) {
    const { page, close } = await ada.open()
    await prepare(page)
    samples.push(await visit(page, url, world))
    await close()
  }
  return samples
}

/** What was asked for before the paint, as the page's own timing tells. */
const asked = page => page.evaluate(() => {
  const all = [...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')].filter(each => each.startTime < bench.firstAt)
  const of = test => all.filter(each => test(new URL(each.name).pathname)).map(({ name, startTime, responseEnd, encodedBodySize, decodedBodySize }) => ({
    name, startTime, responseEnd, encodedBodySize, decodedBodySize,
  }))
  return { page: of(path => !path.startsWith('/api/') && !/\.(svg|png|webmanifest)$/.test(path)), api: of(path => path.startsWith('/api/')) }
})

/** How many of the requests waited for one before. */
function chain(requests) {
  const depth = new Map()
  for (const each of requests.sort((one, other) => one.startTime - other.startTime)) {
    const before = [...depth].filter(([other]) => other.responseEnd <= each.startTime).map(([, value]) => value)
    depth.set(each, 1 + Math.max(0, ...before))
  }
  return Math.max(0, ...depth.values())
}

export async function bytes({ t, world, table }) {
  const ada = await person(t, world, world.email)
  const { page } = await ada.open()
  await visit(page, world.server.url, world)
  const { page: files, api } = await asked(page)
  const sum = (list, what) => list.reduce((all, each) => all + each[what], 0) / 1024
  const modules = files.filter(each => each.name.endsWith('.js'))
  table.row('HTML, JS, CSS compressed before the first paint', [sum(files, 'encodedBodySize')], { bar: 80, unit: 'KB' })
  table.row('modules before the first paint', [modules.length], { bar: 12 })
  const names = api.map(each => new URL(each.name).pathname.replace('/api/v1', '').replace(/[0-9a-f-]{36}/g, '…'))
  table.row('before talk stands: requests', [api.length], { bar: 3, note: names.join(', ') })
  table.row('before talk stands: round trips', [chain(api)], { bar: 2 })
  table.row('before talk stands: bytes raw', [sum(api, 'decodedBodySize')], { bar: 110, unit: 'KB' })
}

export async function firstPaint({ t, world, table }) {
  const ada = await person(t, world, world.email)
  await cold(ada, world, world.server.url)
  table.row(`${COLD}: loopback`, await cold(ada, world, world.server.url), { bar: 400, unit: 'ms' })
  const far = await relay(t, world.server, { isFar: true })
  table.row(`${COLD}: far line`, await cold(ada, world, far.url), { bar: 1500, unit: 'ms' })
  const slow = async page => (await page.createCDPSession()).send('Emulation.setCPUThrottlingRate', { rate: 4 })
  table.row(`${COLD}: 4x slower CPU`, await cold(ada, world, world.server.url, slow), { bar: 1200, unit: 'ms', chromium: true })
}

export async function kept({ t, world, table }) {
  const ada = await person(t, world, world.email)
  const { page, another } = await ada.open()
  const { url } = world.server
  await visit(page, url, world)
  await page.evaluate(() => navigator.serviceWorker.ready)
  await new Promise(resolve => setTimeout(resolve, 3000)) // the kept pages are written once a second
  await page.close()
  const again = async () => {
    const samples = []
    for (let n = 0; n < RUNS; n += 1) {
      const page = await another()
      samples.push(await visit(page, url, world))
      await new Promise(resolve => setTimeout(resolve, 1500))
      await page.close()
    }
    return samples
  }
  table.row(`${KEPT}: from the kept state`, await again(), { bar: 150, unit: 'ms' })
  await world.server.stop()
  table.row(`${KEPT}: offline`, await again(), { bar: 250, unit: 'ms', note: 'the server is stopped' })
  await world.server.launch()
}
