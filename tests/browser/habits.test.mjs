// What people bring from other chats: where they tap, point and look first. In Chromium and Firefox.
import assert from 'node:assert/strict'
import test from 'node:test'
import { BROWSERS, PHONE, WIDE, launch, picture, sees, theme } from './lib/browser.mjs'
import { account, organisation, start } from './lib/server.mjs'

/** Ada and Grace talk in two channels. */
async function world(t) {
  const server = await start(t)
  const [ada, grace] = await Promise.all([
    account(server, 'ada', { first_name: 'Ada', last_name: 'King' }),
    account(server, 'grace', { first_name: 'Grace', last_name: 'Holm' }),
  ])
  const harbour = await organisation(ada, [grace])
  const general = harbour.general.id
  const dock = (await ada.call('POST', '/channels', { name: 'dry-dock', organisation_id: harbour.id, userIds: [grace.id] })).id
  const say = (content, more = {}) => grace.call('POST', `/channels/${general}/messages`, { content, ...more })
  return { server, ada, grace, harbour, general, dock, say, talk: `${server.url}/o/${harbour.slug}` }
}

/** Opens an address with the cookies of a new session. */
async function enter(page, { url }, { email, password }, address) {
  const response = await fetch(`${url}/api/v1/auth/login`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', 'Tidings-Client': 'web' },
    body: JSON.stringify({ email, password, cookie: true }),
  })
  const pairs = response.headers.getSetCookie().map(cookie => cookie.split(';')[0].split('='))
  await page.browserContext().setCookie(...pairs.map(([name, value]) => ({ name, value, domain: '127.0.0.1', path: '/', httpOnly: true })))
  await page.bringToFront() // a tab that nobody looks at does nothing
  await page.goto(address)
}

const COMPOSER = '.main .composer textarea'
const holds = (page, what, ...all) => page.waitForFunction(what, { polling: 50 }, ...all)

/** A phone: Firefox has no such mode, and is told what its pointer can do when it starts. */
const FINGER = { 'ui.primaryPointerCapabilities': 1, 'ui.allPointerCapabilities': 1 }
const phone = kind => kind === 'chrome' ? { ...PHONE, isMobile: true, hasTouch: true } : PHONE

/** Taps the middle of what a selector names. */
async function tap(page, selector) {
  await page.waitForSelector(selector, { visible: true })
  const [x, y] = await page.$eval(selector, each => {
    const { x, y, width, height } = each.getBoundingClientRect()
    return [x + width / 2, y + height / 2]
  })
  await page.touchscreen.tap(x, y)
}

for (const kind of BROWSERS) {
  test(`what a finger expects in ${kind}`, { timeout: 90_000 }, async t => {
    const scene = await world(t)
    const { server, ada, general, say, talk } = scene
    for (let number = 1; number < 12; number += 1) {
      const { id } = await say(`Buoy ${number}`)
      await say(`Seen ${number}`, { thread_id: id })
    }
    const { visitor } = await launch(t, kind, { prefs: FINGER })
    const { page, problems } = await visitor(phone(kind))
    await enter(page, server, ada, `${talk}/${general}`)
    await sees(page, 'Buoy 11')

    await t.test('a tap on a suggestion takes it, and nothing behind it', async () => {
      await tap(page, COMPOSER)
      await page.keyboard.type('Well, @')
      await page.waitForSelector('.choices li:nth-child(2)')
      const height = await page.$eval('.choices li', each => each.getBoundingClientRect().height)
      assert.ok(height >= 44, `${height} px high`)
      await picture(page, `habits-choices-${kind}`)
      for (const at of [2, 1, 2]) {
        await page.waitForSelector('.choices li:nth-child(2)')
        await tap(page, `.choices li:nth-child(${at})`)
        await holds(page, field => /@(channel|grace) $/.test(document.querySelector(field).value), COMPOSER)
        assert.ok(await page.evaluate(field => document.activeElement.matches(field), COMPOSER), 'the focus stays')
        assert.equal(await page.evaluate(() => document.querySelector('.beside, .menu, .choices')?.className), undefined)
        await page.keyboard.type('@')
      }
      await page.$eval(COMPOSER, area => { area.value = ''; area.dispatchEvent(new Event('input')) })
    })
    assert.deepEqual(problems, [])
  })

  test(`what a pointer expects in ${kind}`, { timeout: 90_000 }, async t => {
    const scene = await world(t)
    const { server, ada, general, dock, say, talk } = scene
    await say('The first buoy')
    for (let number = 1; number < 40; number += 1) await say(`Buoy ${number}`)
    const { visitor } = await launch(t, kind)
    const { page, problems } = await visitor(WIDE)
    await enter(page, server, ada, `${talk}/${general}`)
    await sees(page, 'Buoy 39')

    await t.test('a search leads to its message in a channel that was open before', async () => {
      await page.click(`.side a[href$="${dock}"]`)
      await holds(page, () => document.querySelector('.main h1')?.innerText.includes('dry-dock'))
      await page.click('.main .bar button[aria-label="Search"]')
      await page.waitForSelector('.beside input[type="search"]')
      await page.type('.beside input[type="search"]', 'first')
      await sees(page, '1 message found')
      await page.click('.result .text')
      await holds(page, () => {
        const row = document.querySelector('.row.goal')
        if (!row) return false
        const { top, bottom } = row.getBoundingClientRect()
        return row.innerText.includes('The first buoy') && top >= 0 && bottom <= innerHeight && document.activeElement === row
      })
      await picture(page, `habits-found-${kind}`)
    })
    assert.deepEqual(problems, [])
  })
}
