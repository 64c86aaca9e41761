// How soon what is typed is seen.
import { live, person, visit } from './browser.mjs'

const rest = ms => new Promise(resolve => setTimeout(resolve, ms))
const POSTS = 100

/** Notes when texts with a mark are painted, by the clock that all pages share. */
const watchMarks = page => page.evaluate(() => {
  bench.marks = {}
  new MutationObserver(records => {
    for (const { addedNodes } of records) {
      for (const node of addedNodes) {
        const mark = node.textContent?.match(/mark-\d+-/)?.[0]
        if (!mark || bench.marks[mark] || !node.parentElement?.closest('.main .talk')) continue
        bench.marks[mark] = 1
        bench.frame().then(at => { bench.marks[mark] = performance.timeOrigin + at })
      }
    }
  }).observe(document.body, { childList: true, subtree: true })
  addEventListener('keydown', event => {
    const mark = event.key === 'Enter' && event.target.value?.match(/mark-\d+-/)?.[0]
    if (mark) bench.entered = { ...bench.entered, [mark]: performance.timeOrigin + event.timeStamp }
  }, true)
})

export async function enter({ t, world, table }) {
  const [ada, grace] = [await person(t, world, world.email), await person(t, world, world.grace)]
  const [{ page }, { page: other }] = [await ada.open(), await grace.open()]
  for (const each of [page, other]) {
    await visit(each, world.server.url, world)
    await live(each)
  }
  await rest(5000)
  for (const each of [page, other]) await watchMarks(each)
  await page.focus('.composer textarea')
  for (let n = 0; n < POSTS; n += 1) {
    await page.evaluate(n => {
      const area = document.querySelector('.composer textarea')
      area.value = `mark-${n}- said in the harbour`
      area.dispatchEvent(new Event('input', { bubbles: true }))
    }, n)
    await page.keyboard.press('Enter')
    await rest(120)
  }
  await rest(1000)
  const entered = Object.entries(await page.evaluate(() => bench.entered))
  const [own, theirs] = [await page.evaluate(() => bench.marks), await other.evaluate(() => bench.marks)]
  const after = marks => entered.filter(([mark]) => marks[mark] > 1).map(([mark, at]) => marks[mark] - at)
  table.row('Enter to own row', after(own), { bar: 24, unit: 'ms', of: 0.95, note: `${after(own).length} posts; a frame is 17 ms` })
  table.row('Enter to another browser', after(theirs), { bar: 50, unit: 'ms' })
  table.row('Enter to another browser', after(theirs), { bar: 200, unit: 'ms', of: 0.99 })
}

/** The milliseconds that the main thread works for each key of a text: its handlers, and the frames that show what they did. */
async function typed(page, text) {
  const cdp = await page.createCDPSession()
  await cdp.send('Performance.enable')
  const worked = async () => (await cdp.send('Performance.getMetrics')).metrics.find(each => each.name === 'TaskDuration').value * 1000
  const spent = []
  for (const key of text) {
    const before = await worked()
    await page.keyboard.press(key)
    await rest(60)
    spent.push(await worked() - before)
  }
  await cdp.detach()
  return spent
}

export async function keys({ t, world, table }) {
  const ada = await person(t, world, world.email)
  const { page } = await ada.open()
  await visit(page, world.server.url, world)
  await live(page)
  await rest(5000)
  await page.focus('.composer textarea')
  await page.evaluate(() => {
    const area = document.querySelector('.composer textarea')
    area.value = 'The ferry leaves the harbour at six, and comes back when the fog has gone.\n'.repeat(140).slice(0, 10_000)
    area.dispatchEvent(new Event('input', { bubbles: true }))
    area.setSelectionRange(10_000, 10_000)
  })
  await typed(page, 'warm up')
  const busy = await typed(page, 'and what is written now goes on at the end of a draft that is long')
  table.row('a key in a draft of 10,000 characters', busy, { bar: 16, unit: 'ms', of: 0.95, note: 'the main thread is busy' })
  await page.keyboard.down('Control')
  await page.keyboard.press('k')
  await page.keyboard.up('Control')
  await page.waitForSelector('dialog[open] input')
  await rest(500)
  const spent = []
  for (const name of ['harb', 'ada ', 'emil', 'quin', 'zimm']) {
    spent.push(...await typed(page, name))
    await page.evaluate(() => { document.querySelector('dialog[open] input').select() })
  }
  table.row('switcher over 10,000 names, a key', spent, { bar: 30, unit: 'ms', of: 0.95, note: 'the main thread is busy; people come from the server' })
}
