// How soon another channel stands, and what a long way through one costs.
import { heap, live, person, visit } from './browser.mjs'
import { relay } from './line.mjs'

const ROWS = 10_000
const rest = ms => new Promise(resolve => setTimeout(resolve, ms))

/** Presses a channel of the sidebar; the milliseconds until its talk has been painted. */
export const switchTo = (page, channel) => page.evaluate(async channel => {
  const link = document.querySelector(`.side a[href$="/${channel}"]`)
  link.scrollIntoView({ block: 'nearest' })
  await bench.frame()
  const known = new Set([...document.querySelectorAll('.main .row')].map(each => each.dataset.id))
  const began = performance.now()
  link.click()
  return await bench.painted(() => [...document.querySelectorAll('.main .row')].some(each => !known.has(each.dataset.id))) - began
}, channel)

export async function switching({ t, world, table }) {
  const ada = await person(t, world, world.email)
  const { page } = await ada.open()
  await visit(page, world.server.url, world)
  await live(page)
  const fresh = async (page, from, count) => {
    const samples = []
    for (const channel of world.channels.slice(from, from + count)) {
      samples.push(await switchTo(page, channel))
      await rest(200)
    }
    return samples
  }
  await fresh(page, 60, 5)
  table.row('switching: not kept, loopback', await fresh(page, 20, 15), { bar: 120, unit: 'ms' })
  const kept = []
  for (let n = 0; n < 15; n += 1) {
    kept.push(await switchTo(page, world.channels[20 + n]))
    await rest(200)
  }
  table.row('switching: kept', kept, { bar: 32, unit: 'ms', note: 'a frame is 17 ms' })
  const far = await relay(t, world.server, { isFar: true })
  const { page: away } = await ada.open()
  await visit(away, far.url, world)
  await rest(2000)
  await fresh(away, 60, 3)
  table.row('switching: not kept, far line', await fresh(away, 20, 10), { bar: 250, unit: 'ms' })
}

/** Scrolls upwards until so many messages have been there. */
const scrollUp = (page, count) => page.evaluate(async count => {
  const scroller = document.querySelector('.main .talk')
  const seen = new Set()
  let [most, idle] = [0, 0]
  while (seen.size < count) {
    const before = seen.size
    const rows = scroller.querySelectorAll('.row')
    most = Math.max(most, rows.length)
    for (const each of rows) seen.add(each.dataset.id)
    idle = seen.size === before ? idle + 1 : 0
    if (idle > 1200) throw new Error(`no older messages come after ${seen.size}`)
    scroller.scrollTop -= 700
    await bench.frame()
  }
  return { most }
}, count)

export async function scrolling({ t, world, table }) {
  const ada = await person(t, world, world.email)
  const { page } = await ada.open()
  await visit(page, world.server.url, world)
  await rest(5000)
  await scrollUp(page, 600) // the rows that are held in any case
  const before = await heap(page)
  await page.evaluate(() => { bench.longest = 0 })
  const { most } = await scrollUp(page, ROWS)
  const longest = await page.evaluate(() => bench.longest)
  const after = await heap(page)
  const what = `${ROWS.toLocaleString('en')} messages scrolled`
  table.row(`${what}: longest task`, [longest], { bar: 50, unit: 'ms', chromium: true, note: longest === 0 ? 'none over 50 ms' : '' })
  table.row(`${what}: rows`, [most], { bar: 300 })
  table.row(`${what}: heap`, [after.megabytes - before.megabytes], { bar: 10, unit: 'MB', chromium: true, note: `${before.megabytes.toFixed(1)} to ${after.megabytes.toFixed(1)} MB` })
}

/** What rows move while their reader stands still: older pages, reactions and edits come above them, and posts below. */
export async function shift({ t, world, table }) {
  const ada = await person(t, world, world.email)
  const { page } = await ada.open()
  await visit(page, world.server.url, world)
  await live(page)
  await rest(1000)
  await scrollUp(page, 150)
  await rest(1000)
  /** Where the rows in view are, after the frames that show what came. */
  const places = () => page.evaluate(async () => {
    await bench.frame()
    const { top, bottom } = document.querySelector('.main .talk').getBoundingClientRect()
    return [...document.querySelectorAll('.main .row')].map(each => [each.dataset.id, each.getBoundingClientRect()])
      .filter(([, box]) => box.bottom > top && box.top < bottom).map(([id, box]) => [id, box.top])
  })
  const above = () => page.evaluate(() => {
    const { top } = document.querySelector('.main .talk').getBoundingClientRect()
    return [...document.querySelectorAll('.main .row')].filter(each => each.getBoundingClientRect().bottom < top - 50).map(each => each.dataset.id)
  })
  await page.evaluate(() => {
    bench.shift = 0
    bench.shifts = []
  })
  const moved = []
  const still = async (what, act) => {
    const before = new Map(await places())
    await act()
    await rest(400)
    const now = await places()
    const most = Math.max(0, ...now.filter(([id]) => before.has(id)).map(([id, top]) => Math.abs(top - before.get(id))))
    moved.push(most)
    if (most > 0.5) table.note(`${what}: rows moved by ${most.toFixed(2)} px`)
  }
  const messages = `/channels/${world.large}/messages`
  for (let n = 0; n < 5; n += 1) {
    await still('reactions above', async () => {
      for (const id of (await above()).slice(-10)) await ada.call('PUT', `${messages}/${id}/reactions/${encodeURIComponent('🎉')}`)
    })
    await still('a post below', () => ada.call('POST', messages, { content: `Below, ${n}` }))
  }
  const own = []
  for (let n = 0; n < 40; n += 1) own.push((await ada.call('POST', messages, { content: `One line, ${n}` })).id)
  await page.evaluate(() => document.querySelector('.main .jump')?.click())
  await rest(600)
  await page.evaluate(() => { document.querySelector('.main .talk').scrollTop -= 100 })
  await rest(600)
  await page.evaluate(() => {
    bench.shift = 0
    bench.shifts = []
  })
  const hidden = new Set(await above())
  const edited = own.filter(id => hidden.has(id)).slice(0, 5)
  if (edited.length < 5) throw new Error(`only ${edited.length} own rows stand above: ${JSON.stringify(await page.evaluate(() => { const s = document.querySelector('.main .talk'); return [s.scrollTop, s.scrollHeight, s.clientHeight, !!document.querySelector('.main .jump'), [...document.querySelectorAll('.main .row')].slice(-3).map(r => r.innerText), document.querySelectorAll('.main .row').length] }))}`)
  for (const id of edited) {
    await still('an edit above', () => ada.call('PUT', messages, { message_id: id, content: 'Many\n\nparagraphs\n\nin\n\nplace\n\nof\n\none' }))
  }
  // Older pages: the row at the top stays while fifty come above it.
  await page.evaluate(() => { document.querySelector('.main .talk').scrollTop = 400 })
  await page.evaluate(() => bench.frame())
  await still('older pages', () => rest(1000))
  const { score, shifts } = await page.evaluate(() => ({ score: bench.shift, shifts: bench.shifts }))
  table.row('rows that move though nobody moved them', [Math.max(...moved)], { bar: 0.5, unit: 'px', note: `${moved.length} changes` })
  table.row('layout shift meanwhile', [score], { bar: 0, chromium: true, note: shifts.slice(0, 3).join(' | ') })
}
