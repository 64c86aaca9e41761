// What the talk offers is reached by keyboard and by finger, the focus is never lost, and nothing is told by colour alone. In Chromium
// and Firefox.
import assert from 'node:assert/strict'
import test from 'node:test'
import { BROWSERS, PHONE, WIDE, enter, launch, picture, press, sees, theme } from './lib/browser.mjs'
import { account, organisation, start } from './lib/server.mjs'

/** Ada and Grace talk in two channels; Grace has said three things in the first. She has a third, which Ada isn't in. */
async function world(t) {
  const server = await start(t)
  const [ada, grace] = await Promise.all([
    account(server, 'ada', { first_name: 'Ada', last_name: 'King' }),
    account(server, 'grace', { first_name: 'Grace', last_name: 'Holm' }),
  ])
  const harbour = await organisation(ada, [grace])
  const general = harbour.general.id
  for (const content of ['High water at noon', 'See [the tables](https://example.org/tides)\n```\n4.2 m\n```', 'Who takes the lines?']) {
    await grace.call('POST', `/channels/${general}/messages`, { content })
  }
  const dock = (await ada.call('POST', '/channels', { name: 'dry-dock', organisation_id: harbour.id, userIds: [grace.id] })).id
  await ada.call('PATCH', `/channels/${general}`, { topic: 'Tides and lines', description: 'What everybody\nhas to know' })
  const quay = (await grace.call('POST', '/channels', { name: 'quay-five', organisation_id: harbour.id })).id
  return { server, ada, grace, general, dock, quay, talk: `${server.url}/o/${harbour.slug}` }
}

/** Waits until the focus is at what a selector names. */
const isAt = (page, selector) => page.waitForFunction(selector => document.activeElement?.matches(selector), { polling: 50 }, selector)
  .catch(async () => assert.fail(`not ${selector}: ${await page.evaluate(() => document.activeElement?.outerHTML.slice(0, 200))}`))

/** What the keyboard is at: by its label, or by its text. */
const focused = page => page.evaluate(() => document.activeElement.ariaLabel ?? document.activeElement.innerText)

async function shiftTab(page) {
  await page.keyboard.down('Shift')
  await page.keyboard.press('Tab')
  await page.keyboard.up('Shift')
}

for (const kind of BROWSERS) {
  test(`what the talk offers is reached in ${kind}`, { timeout: 90_000 }, async t => {
    const scene = await world(t)
    await t.test('by keyboard', async t => byKeyboard(t, kind, scene))
    await t.test('by finger', async t => byFinger(t, kind, scene))
  })
}

/** @param scene What `world` made. */
async function byKeyboard(t, kind, { server, ada, grace, general, dock, quay, talk }) {
  const { visitor } = await launch(t, kind)
  const { page, problems } = await visitor(WIDE)
  await page.evaluateOnNewDocument(() => Object.defineProperty(navigator, 'platform', { value: 'MacIntel' }))
  await enter(page, server, ada, `${talk}/${general}`)
  await sees(page, 'Who takes the lines?')

  await t.test('a channel that is opened has the focus where one writes', async () => {
    await isAt(page, '.main .composer textarea')
    await page.click(`.side a[href$="${dock}"]`)
    await sees(page, 'Nothing has been said here yet.')
    await isAt(page, '.main .composer textarea[aria-label="Message to dry-dock"]')
    await page.keyboard.press('Escape')
    await isAt(page, '.main .talk')
    await page.click(`.side a[href$="${general}"]`)
    await isAt(page, '.main .composer textarea[aria-label="Message to general"]')
  })

  await t.test('a row is one stop, what is in it is reached from it, and the newest is the nearest', async () => {
    const stops = () => page.$$eval('.main .rows :is(a, button, textarea, [tabindex])', all => all.filter(each => each.tabIndex === 0).length)
    assert.equal(await stops(), 1)
    await shiftTab(page)
    assert.equal(await focused(page), 'Grace Holm: Who takes the lines?')
    await page.keyboard.press('ArrowUp')
    assert.match(await focused(page), /the tables/)
    await page.keyboard.press('Tab')
    assert.equal(await focused(page), 'the tables')
    await page.keyboard.press('Tab')
    assert.equal(await focused(page), '4.2 m', 'a block of code can be scrolled')
    for (const name of ['React', 'Reply in thread', 'More']) {
      await page.keyboard.press('Tab')
      assert.equal(await focused(page), name)
    }
    await page.keyboard.press('Tab')
    await isAt(page, '.main .composer textarea')
    assert.equal(await stops(), 1)
  })

  await t.test('Escape leads from where one writes to the newest message', async () => {
    await page.keyboard.press('Escape')
    assert.equal(await focused(page), 'Grace Holm: Who takes the lines?')
    await page.keyboard.press('Tab')
    await isAt(page, '.row:focus-within :is(a, button)')
    await page.focus('.main .composer textarea')
    await page.keyboard.type('I do')
    await page.keyboard.press('Enter')
    await page.waitForFunction(() => document.querySelector('.row:not(.pending)[aria-label="Ada King: I do"]')?.tabIndex === 0, { polling: 50 })
  })

  await t.test('a name, a face and a mention lead to the person', async () => {
    const hasMenu = () => page.waitForFunction(() => document.querySelector('.menu')?.innerText.includes('@grace'), { polling: 50 })
    await page.keyboard.press('Escape')
    await page.keyboard.press('Home')
    await page.keyboard.press('Tab')
    assert.equal(await focused(page), 'Grace Holm')
    await page.keyboard.press('Enter')
    await hasMenu()
    assert.equal(await focused(page), 'Write to Grace Holm')
    await picture(page, `reach-person-${kind}`)
    await page.keyboard.press('Escape')
    assert.equal(await focused(page), 'Grace Holm')
    await ada.call('POST', `/channels/${general}/messages`, { content: 'All lines are yours, @grace' })
    await (await page.waitForSelector('.row button.at')).click()
    await hasMenu()
    assert.equal(await page.$eval('.text:has(button.at)', text => {
      getSelection().selectAllChildren(text)
      return getSelection().toString()
    }), 'All lines are yours, @Grace Holm')
    await page.keyboard.press('Escape')
    await page.click('.row.first .face')
    await hasMenu()
    await page.keyboard.press('Enter')
    await isAt(page, '.main .composer textarea[aria-label="Message to Grace Holm"]')
  })

  await t.test('⌘K finds an open channel, which is joined', async () => {
    assert.equal(await page.$eval('.find kbd', each => each.innerText), '⌘K')
    await page.keyboard.down('Meta')
    await page.keyboard.press('k')
    await page.keyboard.up('Meta')
    await page.waitForSelector('.switcher input')
    await page.keyboard.type('quay')
    await page.waitForFunction(() => document.querySelector('.switcher [role="option"]')?.innerText.includes('quay-five'), { polling: 50 })
    await picture(page, `reach-switcher-${kind}`)
    await page.keyboard.press('Enter')
    await isAt(page, '.main .composer textarea[aria-label="Message to quay-five"]')
    assert.equal((await ada.call('GET', `/channels/${quay}`)).access, true)
  })

  await t.test('an edit completes names', async () => {
    await page.keyboard.type('Berth five')
    await page.keyboard.press('Enter')
    await page.waitForSelector('.row:not(.pending)')
    await page.keyboard.press('ArrowUp')
    await isAt(page, '.edit textarea')
    await page.keyboard.type(' for @gra')
    await page.waitForSelector('.edit .choices [aria-selected="true"]')
    await picture(page, `reach-edit-${kind}`)
    await page.keyboard.press('Enter')
    await page.keyboard.press('Enter')
    await sees(page, 'Berth five for @Grace Holm')
  })

  await t.test('what failed, and what mentions somebody, is said in words', async () => {
    const { feed_url: feed } = await ada.call('POST', `/webhooks/${dock}`, { webhook_name: 'builds' })
    await fetch(feed, {
      method: 'POST', headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ event_name: 'Pump test', message: 'Too little pressure', status: 'error', username: 'builds' }),
    })
    await grace.call('POST', `/channels/${dock}/messages`, { content: '@ada can you look?' })
    await page.click(`.side a[href$="${dock}"]`)
    await page.waitForSelector('.row.called[aria-label^="Mentions you, Grace Holm"]')
    assert.match(await page.$eval('.row.called .said', each => each.textContent), /Mentions you/)
    assert.match(await page.$eval('.row.bad[aria-label^="Failed, "] .said', each => each.innerText), /Failed/)
    await picture(page, `reach-failed-${kind}`)
  })

  await t.test('my threads lead to the search', async () => {
    await page.click('.side a[href$="/threads"]')
    await press(page, 'Search')
    await isAt(page, '.beside input[type="search"]')
  })
  assert.deepEqual(problems, [])
}

/** A phone: Firefox has no such mode, and is told what its pointer can do when it starts. */
const FINGER = { 'ui.primaryPointerCapabilities': 1, 'ui.allPointerCapabilities': 1 }

/** @param scene What `world` made. */
async function byFinger(t, kind, { server, ada, general, talk }) {
  const { visitor } = await launch(t, kind, { prefs: FINGER })
  const { page, problems } = await visitor(kind === 'chrome' ? { ...PHONE, isMobile: true, hasTouch: true } : PHONE)
  await enter(page, server, ada, `${talk}/${general}`)
  await sees(page, 'Who takes the lines?')
  const middle = async text => {
    const row = await page.waitForFunction(text => [...document.querySelectorAll('.row .text')].find(each => each.innerText.includes(text)), {}, text)
    const { x, y, height } = await row.boundingBox()
    return [x + 20, y + height / 2]
  }
  /** Rests on a message, and lifts the finger `after` so many milliseconds. */
  const rest = async (text, after, moved = 0) => {
    const [x, y] = await middle(text)
    const finger = await page.touchscreen.touchStart(x, y)
    if (moved > 0) await finger.move(x, y - moved)
    await new Promise(resolve => setTimeout(resolve, after))
    await finger.end()
  }
  const hasMenu = () => page.evaluate(() => document.querySelector('.menu') !== null)

  await t.test('a tap opens the thread and shows no tools, and a finger that moves on opens nothing', async () => {
    await page.touchscreen.tap(...await middle('Who takes the lines?'))
    await page.waitForSelector('.beside .composer')
    await press(page, 'Close')
    await page.waitForSelector('.main .row')
    assert.ok(!await page.evaluate(() => [...document.querySelectorAll('.tools .icon')].some(each => each.checkVisibility({ visibilityProperty: true }))))
    await rest('Who takes the lines?', 600, 40)
    assert.equal(await hasMenu(), false)
  })

  await t.test('a finger that rests opens the menu of the message, and presses nothing', async () => {
    await rest('the tables', 600)
    await page.waitForSelector('.menu')
    const items = await page.$$eval('.menu button', all => all.map(each => each.innerText))
    assert.deepEqual(items.slice(0, 3), ['React', 'Reply in thread', 'Pin'])
    assert.equal(await page.evaluate(() => getSelection().toString()), '')
    await theme(page, kind, 'dark')
    await picture(page, `reach-menu-${kind}-dark`)
    await theme(page, kind, 'light')
    await press(page, 'React', 'menuitem')
    await page.waitForFunction(() => document.querySelectorAll('.emoji-picker .emoji').length > 0, { polling: 50 })
    await page.keyboard.press('Escape')
    await isAt(page, '.row')
    await rest('the tables', 600)
    await press(page, 'Reply in thread', 'menuitem')
    await page.waitForSelector('.beside .composer')
    await isAt(page, '.beside .talk')
  })

  await t.test('a channel says what it is for beside its people', async () => {
    await page.goto(`${talk}/${general}?pane=members`)
    await sees(page, 'Tides and lines')
    await sees(page, 'What everybody\nhas to know')
    await picture(page, `reach-members-${kind}`)
  })

  await t.test('a lost connection is told where one reads', async () => {
    const told = within => page.waitForFunction(within => [...document.querySelectorAll(`${within} .offline-narrow`)]
      .some(each => each.checkVisibility() && each.innerText.startsWith('No connection.')), { polling: 50 }, within)
    await page.goto(`${talk}/threads`)
    await sees(page, 'My threads')
    assert.deepEqual(problems, [])
    await server.kill()
    await told('.main')
    await picture(page, `reach-offline-${kind}`)
  })
}
