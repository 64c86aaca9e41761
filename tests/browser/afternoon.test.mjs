// The afternoon: from an empty folder to three people in a thread, by what the screens offer and nothing else.
import assert from 'node:assert/strict'
import test from 'node:test'
import { link, mailServer } from '../sdk/lib/mailserver.mjs'
import { BROWSERS, PHONE, WIDE, accessible, arrives, fill, launch, picture, press, sees } from './lib/browser.mjs'
import { PASSWORD, start } from './lib/server.mjs'

const TALK = /^\/o\/harbour\/[0-9a-f-]{36}/

/** Presses what has that name: in the menu or dialog that is open, otherwise in the page. */
async function choose(page, name) {
  await page.bringToFront()
  const found = await page.waitForFunction(name => {
    const around = document.querySelector('.menu') ?? document.querySelector('dialog[open]') ?? document
    const called = each => each.ariaLabel === name || each.innerText.trim() === name || [...each.querySelectorAll('span, bdi')].some(part => part.innerText.trim() === name)
    return [...around.querySelectorAll('button, a, [role=option]')].find(each => called(each) && each.checkVisibility())
  }, { polling: 50 }, name)
  await found.click()
}

/** Writes where one writes: in the thread if one is open and asked for. */
async function say(page, text, { within = '.main', seen = text } = {}) {
  await page.bringToFront()
  const area = await page.waitForSelector(`${within} .composer textarea`, { visible: true })
  await area.type(text)
  await page.keyboard.press('Enter')
  await shown(page, seen, within)
}

/** Waits for a message that is confirmed. */
const shown = (page, text, within = '.app') => page.waitForFunction((text, within) =>
  [...document.querySelectorAll(`${within} .row:not(.pending) .text`)].some(each => each.innerText.includes(text)), { polling: 50 }, text, within)

/** Does something with a message: its tools are there when the focus is. */
async function withMessage(page, text, tool) {
  await page.bringToFront()
  const row = await page.waitForFunction(text => [...document.querySelectorAll('.main .row')].find(each => each.querySelector('.text')?.innerText.includes(text)),
    { polling: 50 }, text)
  await row.evaluate(each => each.focus())
  const button = await row.waitForSelector(`.tools button[aria-label="${tool}"]`)
  await button.evaluate(each => each.click())
}

for (const [kind, width, view] of [['chrome', 'wide', WIDE], ['firefox', 'phone', PHONE]].filter(([kind]) => BROWSERS.includes(kind))) {
  test(`an afternoon in ${kind}, ${width}`, { timeout: 150_000 }, async t => {
    let server
    t.after(() => server?.stop())
    const mails = await mailServer(t)
    server = await start(t, '--mail-url', mails.url)
    const isPhone = width === 'phone'
    const { visitor } = await launch(t, kind)
    const people = []
    const enter = async () => {
      const person = await visitor(view)
      people.push(person)
      return person.page
    }
    const look = async (page, name) => {
      await picture(page, `afternoon-${name}-${width}`)
      await accessible(page, `${name}, ${width}`)
    }
    const home = page => isPhone && page.goto(`${server.url}/o/harbour?list`)

    const ada = await enter()
    await ada.goto(server.output().match(/http\S*\/setup\?token=\S+/)[0])
    await fill(ada, 'First name', 'Ada')
    await fill(ada, 'Last name', 'King')
    await fill(ada, 'E-mail address', 'ada@example.org')
    await fill(ada, 'Password', PASSWORD)
    await fill(ada, 'Name of the organisation', 'Harbour')
    await press(ada, 'Create everything')
    await arrives(ada, TALK)
    await say(ada, 'Good morning, harbour')

    await ada.goto(`${server.url}/settings/o/harbour/invitations`)
    await fill(ada, 'E-mail addresses', 'grace@example.org, tove@example.org')
    await press(ada, 'Invite')
    await sees(ada, 'invitations are on their way')
    const accept = async (name, first, last) => {
      const page = await enter()
      const [mail] = await mails.mails(`${name}@example.org`, 1)
      await page.goto(link(mail).href)
      await sees(page, 'Ada King')
      await fill(page, 'First name', first)
      await fill(page, 'Last name', last)
      await fill(page, 'Password', PASSWORD)
      await press(page, 'Join')
      await arrives(page, TALK)
      await shown(page, 'Good morning, harbour')
      return page
    }
    const [grace, tove] = [await accept('grace', 'Grace', 'Holm'), await accept('tove', 'Tove', 'Olsen')]

    await (isPhone ? home(ada) : ada.goto(server.url))
    await choose(ada, 'Add a channel')
    await choose(ada, 'Make a channel')
    await fill(ada, 'Name', 'engine room')
    await choose(ada, 'Make the channel')
    await arrives(ada, TALK)
    await sees(ada, 'engine-room')
    await say(ada, 'The new injector is in, no knocking')

    await home(grace)
    await choose(grace, 'Add a channel')
    await choose(grace, 'Browse channels')
    await choose(grace, 'Join')
    await choose(grace, 'Open')
    await shown(grace, 'no knocking')
    await withMessage(grace, 'no knocking', 'Reply in thread')
    await say(grace, 'I would like to hear it at full load', { within: '.beside' })
    await sees(ada, '1 reply')
    await withMessage(ada, 'no knocking', 'Reply in thread')
    await say(ada, 'From ten, if Grace brings the coffee', { within: '.beside' })
    await shown(grace, 'brings the coffee', '.beside')
    await look(grace, 'thread')
    await choose(grace, 'Close')

    await home(tove)
    await choose(tove, 'Add a channel')
    await choose(tove, 'Browse channels')
    await choose(tove, 'Join')
    await choose(tove, 'Open')
    await withMessage(tove, 'no knocking', 'Reply in thread')
    await say(tove, 'Keep the old pieces', { within: '.beside' })
    await choose(tove, 'Close')
    await sees(grace, '3 replies')

    // A mention, an edit, a reaction, a pin, a deletion: each is seen by another person at once.
    await say(tove, '@grace the pilot comes at nine', { seen: '@Grace Holm the pilot' })
    await withMessage(tove, 'comes at nine', 'More')
    await choose(tove, 'Edit')
    await tove.keyboard.type(' sharp')
    await tove.keyboard.press('Enter')
    await shown(grace, 'comes at nine sharp')
    await withMessage(grace, 'nine sharp', 'React')
    await (await grace.waitForSelector('[aria-label*="thumbs up" i], [aria-label="+1"], [aria-label*="thumbsup"]')).click()
    await tove.waitForSelector('.reaction[aria-pressed]')
    await withMessage(grace, 'nine sharp', 'More')
    await choose(grace, 'Pin')
    await sees(tove, 'Pinned by')
    await say(grace, 'a mistake')
    await shown(tove, 'a mistake')
    await withMessage(grace, 'a mistake', 'More')
    await choose(grace, 'Delete')
    await choose(grace, 'Delete')
    await tove.waitForFunction(() => ![...document.querySelectorAll('.row .text')].some(each => each.innerText.includes('a mistake')), { polling: 50 })
    await look(tove, 'talk')

    // A direct message reaches who is elsewhere.
    await home(grace)
    await choose(grace, 'Write to somebody')
    await grace.waitForSelector('dialog[open] input')
    await grace.keyboard.type('tove')
    await choose(grace, 'Tove Olsen')
    await choose(grace, 'Write')
    await grace.waitForFunction(() => document.querySelector('.main h1')?.innerText.includes('Tove Olsen'), { polling: 50 })
    await say(grace, 'Coffee?')
    await home(tove)
    await sees(tove, 'Grace Holm')
    await look(tove, 'sidebar')
    await choose(tove, 'Grace Holm')
    await shown(tove, 'Coffee?')

    // Who leaves is signed out, and what they were shown is gone.
    await home(tove)
    await tove.bringToFront()
    await (await tove.waitForSelector('.side .org')).click()
    await choose(tove, 'Sign out')
    await arrives(tove, /^\/sign-in/)
    for (const { problems } of people) assert.deepEqual(problems, [])
  })
}
