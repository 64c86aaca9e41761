// What people bring from other chats: where they tap, point and look first. In Chromium and Firefox.
import assert from 'node:assert/strict'
import test from 'node:test'
import { BROWSERS, PHONE, WIDE, enter, launch, picture, press, sees, theme } from './lib/browser.mjs'
import { account, organisation, start, until } from './lib/server.mjs'

/** Three people talk in general; Ada and Grace have a channel of their own. */
async function world(t) {
  const server = await start(t)
  const [ada, grace, tove] = await Promise.all([
    account(server, 'ada', { first_name: 'Ada', last_name: 'King' }),
    account(server, 'grace', { first_name: 'Grace', last_name: 'Holm' }),
    account(server, 'tove', { first_name: 'Tove', last_name: 'Olsen' }),
  ])
  const harbour = await organisation(ada, [grace, tove])
  const general = harbour.general.id
  const dock = (await ada.call('POST', '/channels', { name: 'dry-dock', organisation_id: harbour.id, userIds: [grace.id] })).id
  const say = (content, more = {}) => grace.call('POST', `/channels/${general}/messages`, { content, ...more })
  return { server, ada, grace, tove, harbour, general, dock, say, talk: `${server.url}/o/${harbour.slug}` }
}

const COMPOSER = '.main .composer textarea'
const holds = (page, what, ...all) => page.waitForFunction(what, { polling: 50 }, ...all).catch(async error => {
  const at = await page.evaluate(() => [location.href, document.activeElement?.outerHTML.slice(0, 300), document.querySelector('.composer textarea')?.value, document.querySelector('.toast')?.innerText, document.body.innerText].join('\n'))
  assert.fail(`${error.message}: ${what} at ${at}`)
})

/** A phone: Firefox has no such mode, and is told what its pointer can do when it starts. */
const FINGER = { 'ui.primaryPointerCapabilities': 1, 'ui.allPointerCapabilities': 1 }
const phone = kind => kind === 'chrome' ? { ...PHONE, isMobile: true, hasTouch: true } : PHONE

/** Taps the middle of what a selector names. */
async function tap(page, selector) {
  await page.waitForSelector(selector, { visible: true })
  const [x, y] = await page.evaluate(selector => {
    const { x, y, width, height } = document.querySelector(selector).getBoundingClientRect()
    return [x + width / 2, y + height / 2]
  }, selector)
  await page.touchscreen.tap(x, y)
}

for (const kind of BROWSERS) {
  test(`what a finger expects in ${kind}`, { timeout: 90_000 }, async t => {
    const scene = await world(t)
    const { server, ada, grace, tove, general, say, talk } = scene
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
      await page.waitForSelector('.choices li:nth-child(2)', { visible: true })
      // In one step: what the server finds makes the rows anew.
      const height = await page.evaluate(() => document.querySelector('.choices li').getBoundingClientRect().height)
      assert.ok(height >= 44, `${height} px high`)
      await picture(page, `habits-choices-${kind}`)
      for (const at of [2, 1, 2]) {
        await page.waitForSelector('.choices li:nth-child(2)')
        await new Promise(resolve => setTimeout(resolve, 500)) // what the server finds moves the rows
        await tap(page, `.choices li:nth-child(${at})`)
        await holds(page, field => /@\w+ $/.test(document.querySelector(field).value), COMPOSER)
        assert.ok(await page.evaluate(field => document.activeElement.matches(field), COMPOSER), 'the focus stays')
        assert.equal(await page.evaluate(() => document.querySelector('.beside, .menu, .choices')?.className), undefined)
        await page.keyboard.type('@')
      }
      await page.$eval(COMPOSER, area => { area.value = ''; area.dispatchEvent(new Event('input')) })
    })

    await t.test('a tap opens a thread and leaves nothing behind on its message, and a reload shows no tools', async () => {
      await page.$eval('.row-item:last-child', row => row.scrollIntoView())
      await tap(page, '.row-item:last-child .text')
      await sees(page, 'Seen 11')
      await press(page, 'Close')
      await page.waitForSelector('.main .row-item:last-child .row')
      const looks = selector => page.$eval(selector, row => ({
        ground: getComputedStyle(row).backgroundColor, frame: getComputedStyle(row).outlineStyle, tools: getComputedStyle(row.querySelector('.tools .icon')).visibility,
      }))
      assert.deepEqual(await looks('.row-item:last-child .row'), { ground: 'rgba(0, 0, 0, 0)', frame: 'none', tools: 'hidden' })
      const id = await page.$eval('.row-item:last-child .row', row => row.dataset.id)
      await page.goto(`${talk}/${general}?m=${id}`)
      await holds(page, () => document.activeElement?.matches('.row.goal'))
      const { frame, tools } = await looks('.row.goal')
      assert.deepEqual({ frame, tools }, { frame: 'none', tools: 'hidden' })
      await picture(page, `habits-goal-${kind}`)
    })

    await t.test('how many replied stays in one line, and what is small is high enough', async () => {
      const { id } = await say('Who comes along?')
      for (const each of [ada, tove, grace, ada]) await each.call('POST', `/channels/${general}/messages`, { content: 'I do', thread_id: id })
      await grace.call('PUT', `/channels/${general}/messages/${id}/reactions/${encodeURIComponent('🎉')}`)
      await page.goto(`${talk}/${general}`)
      await sees(page, '4 replies')
      await page.waitForSelector('.reaction')
      const { lines, height, add, pressed } = await page.evaluate(() => {
        const number = [...document.querySelectorAll('.replies .number')].at(-1)
        const time = document.querySelector('.row .when').getBoundingClientRect()
        return {
          lines: number.getClientRects().length,
          height: document.querySelector('.reaction').getBoundingClientRect().height,
          add: document.querySelector('.reaction.add').getBoundingClientRect().height,
          pressed: document.elementFromPoint(time.x + time.width / 2, time.y + time.height / 2)?.closest('a')?.className,
        }
      })
      assert.deepEqual({ lines, high: height >= 32 && add >= 32, pressed }, { lines: 1, high: true, pressed: undefined }, `${height} and ${add} px`)
      await page.evaluate(() => { document.documentElement.lang = 'de' })
      await picture(page, `habits-replies-${kind}`)
      await theme(page, kind, 'dark')
      await picture(page, `habits-replies-${kind}-dark`)
      await theme(page, kind, 'light')
    })

    await t.test('deleting raises no keyboard', async () => {
      await tap(page, COMPOSER)
      await page.keyboard.type('Never mind')
      await tap(page, '.main .send')
      await sees(page, 'Never mind')
      await page.waitForSelector('.row-item:last-child .row:not(.pending)')
      const [x, y] = await page.$eval('.row-item:last-child .text', each => [each.getBoundingClientRect().x + 20, each.getBoundingClientRect().y + 10])
      const finger = await page.touchscreen.touchStart(x, y)
      await page.waitForSelector('.menu')
      await finger.end()
      await press(page, 'Delete', 'menuitem')
      await press(page, 'Delete')
      await holds(page, () => ![...document.querySelectorAll('.row')].some(each => each.innerText.includes('Never mind')))
      await holds(page, () => document.activeElement?.matches('.main .talk'))
    })
    assert.deepEqual(problems, [])
  })

  test(`what a pointer expects in ${kind}`, { timeout: 90_000 }, async t => {
    const scene = await world(t)
    const { server, ada, grace, general, dock, say, talk } = scene
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

    await t.test('the second button opens the menu of a channel', async () => {
      await page.click(`.side a[href$="${dock}"]`, { button: 'right' })
      await page.waitForSelector('.menu')
      await picture(page, `habits-channel-menu-${kind}`)
      await press(page, 'Star', 'menuitem')
      await page.waitForSelector(`.side section[aria-label="Starred"] a[href$="${dock}"]`)
    })

    await t.test('the tools are at the row of the pointer alone, and no frame is left after an edit', async () => {
      await page.goto(`${talk}/${general}`)
      await ada.call('POST', `/channels/${general}/messages`, { content: 'All seen' })
      await sees(page, 'All seen')
      const rows = await page.$$('.main .row')
      const [other, own] = rows.slice(-2)
      await (await other.$('.text')).click()
      await own.hover()
      await holds(page, () => [...document.querySelectorAll('.main .row')].filter(each => getComputedStyle(each.querySelector('.tools .icon')).visibility === 'visible')
        .map(each => each.querySelector('.text').innerText).join() === 'All seen')
      await (await own.$('.tools button:last-child')).click()
      await press(page, 'Edit', 'menuitem')
      await page.keyboard.type(' now')
      await page.keyboard.press('Enter')
      await sees(page, 'All seen now')
      await holds(page, () => document.activeElement?.matches('.row'))
      const frame = () => page.evaluate(() => getComputedStyle(document.activeElement).outlineStyle)
      assert.equal(await frame(), 'none')
      await page.keyboard.press('ArrowUp')
      assert.equal(await frame(), 'solid', 'keys show where they are')
      await page.mouse.move(5, 5)
      await picture(page, `habits-tools-${kind}`)
    })

    await t.test('an emoji is put where the caret is, and one sends what is there alone', async () => {
      const send = () => page.$eval('.main .send', each => each.ariaDisabled)
      assert.equal(await send(), 'true')
      await page.focus(COMPOSER)
      await picture(page, `habits-empty-${kind}`)
      await page.keyboard.type('Well done')
      for (let count = 0; count < 5; count += 1) await page.keyboard.press('ArrowLeft')
      assert.equal(await send(), 'false')
      await page.click('.main .composer button[aria-label="Choose an emoji"]')
      await (await page.waitForSelector('.emoji-picker .emoji[data-emoji="🎉"]')).click()
      await holds(page, field => document.querySelector(field).value === 'Well🎉 done' && document.activeElement.matches(field), COMPOSER)
      await page.keyboard.type('!')
      await holds(page, field => document.querySelector(field).value === 'Well🎉! done', COMPOSER)
      await picture(page, `habits-emoji-${kind}`)
      await page.keyboard.press('Enter')
      await sees(page, 'Well🎉! done')
      assert.equal(await send(), 'true')
    })

    await t.test('an emoji is offered by the name that is being written', async () => {
      await page.type(COMPOSER, ':thu')
      await holds(page, () => [...document.querySelectorAll('.choices li bdi')].some(each => each.innerText === 'thumbsup'))
      await page.keyboard.press('Enter')
      await holds(page, field => document.querySelector(field).value === '👍 ', COMPOSER)
      await page.$eval(COMPOSER, area => { area.value = ''; area.dispatchEvent(new Event('input')) })
    })

    await t.test('one writes to somebody who was chosen, and at once', async () => {
      await press(page, 'Write to somebody')
      await page.waitForSelector('dialog[open] input')
      assert.equal(await page.$eval('dialog[open] .button.primary', each => each.disabled), true)
      await picture(page, `habits-direct-${kind}`)
      await page.keyboard.type('tove')
      await (await page.waitForSelector('.person-picker [role="option"]')).click()
      await page.waitForSelector('dialog[open] .chip')
      await press(page, 'Write')
      await holds(page, () => document.activeElement?.matches('.main .composer textarea[aria-label="Message to Tove Olsen"]'))
      await page.goto(`${talk}/${general}?pane=members`)
      await press(page, 'Actions for Grace Holm')
      await press(page, 'Write to Grace Holm', 'menuitem')
      await holds(page, () => document.activeElement?.matches('.main .composer textarea[aria-label="Message to Grace Holm"]'))
    })

    await t.test('people are shown by the names that they have, and days are told where no line tells them', async () => {
      const { id } = await say('Low water at six')
      await grace.call('POST', `/channels/${general}/messages`, { content: 'By the tables', thread_id: id })
      await page.goto(`${talk}/${general}/${id}`)
      await sees(page, 'By the tables')
      const initials = text => holds(page, text => document.querySelector('.main .row-item:last-child .replies .face')?.innerText === text, text)
      await initials('GH')
      await grace.call('PATCH', '/profile', { last_name: 'Zander' })
      await initials('GZ')
      const time = () => page.$eval('.beside .root time', each => each.innerText)
      assert.match(await time(), /^\d+:\d\d/)
      await page.evaluateOnNewDocument(() => {
        const [Real, later] = [Date, 7 * 86_400_000]
        globalThis.Date = class extends Real {
          constructor(...all) { super(...all.length > 0 ? all : [Real.now() + later]) }
          static now() { return Real.now() + later }
        }
      })
      await page.reload()
      await page.waitForSelector('.beside .root time')
      assert.match(await time(), /^[A-Z][a-z]{2} \d+.* \d+:\d\d/)
      await picture(page, `habits-day-${kind}`)
      await theme(page, kind, 'dark')
      await until('the message in the index', async () => (await ada.call('GET', `/organisations/${scene.harbour.id}/search?q=water`)).length > 0)
      await page.goto(`${talk}/${general}?search=water`)
      await holds(page, () => document.querySelector('.result time') !== null)
      assert.match(await page.$eval('.result time', each => each.innerText), /^[A-Z][a-z]{2} \d+.* \d+:\d\d/)
      await picture(page, `habits-search-${kind}-dark`)
    })
    assert.deepEqual(problems, [])
  })
}
