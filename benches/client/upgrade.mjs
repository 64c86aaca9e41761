// What is lost when the server gets another build of the client under an open tab, in which a draft is being written and posts wait.
import { front } from '../../tests/browser/lib/front.mjs'
import { live, person, visit } from './browser.mjs'

const [UPGRADES, POSTS, DRAFT] = [4, 10, 'Half a thought, and\na second line']
const timeout = 60_000

/** Waits until all modules of the page's build are there. Their addresses. */
const loaded = page => page.waitForFunction(() => {
  const there = new Set(performance.getEntriesByType('resource').map(each => each.name))
  const wanted = [...document.querySelectorAll('link[rel=modulepreload]')].map(each => each.href)
  return wanted.length > 50 && wanted.every(each => there.has(each)) && wanted
}, { polling: 100, timeout }).then(handle => handle.jsonValue())

const script = page => page.evaluate(() => document.querySelector('script[type=module]').src)

/** Posts by the composer, and leaves a draft in it. */
async function write(page, texts) {
  await page.waitForSelector('.main .composer textarea', { visible: true })
  const enter = text => page.evaluate(text => {
    const area = document.querySelector('.main .composer textarea')
    area.value = text
    area.dispatchEvent(new Event('input', { bubbles: true }))
    area.focus()
  }, text)
  for (const text of texts) {
    await enter(text)
    await page.keyboard.press('Enter')
  }
  await enter(DRAFT)
}

/** Imports each module, as whatever needs it would. Those that failed. */
const importAll = (page, modules) => page.evaluate(async modules => {
  const results = await Promise.allSettled(modules.map(each => import(each)))
  return modules.filter((_, at) => results[at].status === 'rejected')
}, modules.filter(each => !each.endsWith('/service-worker.js')))

export async function upgrade({ t, table, makeWorld }) {
  const way = await front(t)
  const world = await makeWorld('--base-url', way.url)
  await way.before(world.server)
  const ada = await person(t, world, world.email)
  const { page } = await ada.open()
  const problems = []
  page.on('response', answer => { if (answer.status() >= 400) problems.push(`${answer.status()} ${new URL(answer.url()).pathname}`) })
  page.on('pageerror', error => problems.push(error.message))
  await visit(page, way.url, world)
  await live(page)
  const [lost, failed] = [[], []]
  let count = 0
  for (let n = 1; n <= UPGRADES; n += 1) {
    const modules = await loaded(page)
    count = modules.length
    const texts = Array.from({ length: POSTS }, (_, k) => `Upgrade ${n}, ${k + 1}`)
    way.down()
    await write(page, texts)
    way.build = n % 2 === 1 ? `build-${n}` : '' // every second one is a rollback
    way.up()
    await page.waitForFunction(() => document.body.innerText.includes('There is a new version.'), { polling: 50, timeout })
    failed.push((await importAll(page, modules)).length)
    const old = await script(page)
    const reloaded = page.waitForNavigation({ timeout })
    await page.evaluate(() => [...document.querySelectorAll('.toast button')].at(-1).click())
    await reloaded
    await page.evaluate(() => bench.first)
    if (await script(page) === old) throw new Error('the page loaded the old build again')
    await page.waitForFunction(last => [...document.querySelectorAll('.main .row:not(.pending) .text')].at(-1)?.innerText === last, { polling: 50, timeout }, texts.at(-1)).catch(() => {})
    const { messages } = await world.server.call('GET', `/channels/${world.large}/messages?limit=200`, { bearer: ada.bearer })
    const posted = messages.map(each => each.content).filter(each => each.startsWith(`Upgrade ${n},`)).reverse()
    const draft = await page.evaluate(() => document.querySelector('.main .composer textarea').value)
    const wrong = texts.filter((text, at) => posted[at] !== text).length + Math.max(0, posted.length - texts.length)
    lost.push(wrong + (draft === DRAFT ? 0 : 1))
  }
  const what = 'upgrade under an open tab with draft and queue'
  table.row(`${what}: lost`, lost, { bar: 0, of: 1, note: `${UPGRADES} upgrades, with ${POSTS} posts that wait and a draft at each` })
  table.row(`${what}: failed imports`, failed, { bar: 0, of: 1, note: [`${count} modules`, ...new Set(problems)].slice(0, 4).join(' | ') })
}
