// The afternoon: from an empty folder to three people in a thread, by what the screens offer and nothing else. In each browser, wide
// and on a phone, with a pointer and by keyboard alone; and at plain http, by a name and by an address, where browsers trust no page
// and give no worker and no clipboard.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { createServer } from 'node:http'
import test from 'node:test'
import { fileURLToPath } from 'node:url'
import { link, mailServer } from '../sdk/lib/mailserver.mjs'
import { BROWSERS, PHONE, WIDE, accessible, arrives, launch, picture, sees } from './lib/browser.mjs'
import { HANDS, write } from './lib/hands.mjs'
import { HOST, PASSWORD, start, until } from './lib/server.mjs'

/** What the person of a page does it with. @type {WeakMap<object, typeof HANDS.pointer>} */
const hands = new WeakMap()
const fill = (page, label, text) => write(hands.get(page), page, label, text)

const TALK = /^\/o\/harbour\/[0-9a-f-]{36}/

/** Presses what has that name: in the menu or dialog that is open, otherwise in the page. */
async function choose(page, name) {
  await page.bringToFront()
  const find = () => page.waitForFunction(name => {
    const around = document.querySelector('.menu') ?? document.querySelector('dialog[open]') ?? document
    const called = each => each.ariaLabel === name || each.innerText.trim() === name || [...each.querySelectorAll('span, bdi')].some(part => part.innerText.trim() === name)
    return [...around.querySelectorAll('button, a, [role=option]')].find(each => called(each) && each.checkVisibility())
  }, { polling: 50 }, name)
  for (;;) {
    try {
      return await hands.get(page).activate(page, await find())
    } catch (error) {
      // It was drawn anew just now.
      if (!/not clickable|detached/.test(error.message)) throw error
    }
  }
}

/** Writes where one writes: in the thread if one is open and asked for. */
async function say(page, text, { within = '.main', seen = text } = {}) {
  await page.bringToFront()
  const area = await page.waitForSelector(`${within} .composer textarea`, { visible: true })
  await hands.get(page).enter(page, area)
  await page.keyboard.type(text)
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
    { polling: 50 }, text).catch(async () => assert.fail(`no "${text}" to ${tool}: ${await page.evaluate(() => `${location.pathname} ${JSON.stringify(document.querySelector('.main')?.innerText)}`)}`))
  if (hands.get(page) === HANDS.keys) await HANDS.keys.enter(page, row)
  else await row.hover()
  await hands.get(page).activate(page, await row.waitForSelector(`.tools button[aria-label="${tool}"]`))
}

/** A program that answers 204 to everything, and remembers what it got. */
async function receiver(t) {
  const got = []
  const server = createServer(async (request, response) => {
    got.push(JSON.parse((await request.toArray()).join('')))
    response.writeHead(204).end()
  })
  await new Promise(resolve => server.listen(0, '127.0.0.1', resolve))
  t.after(() => server.close())
  return { url: `http://127.0.0.1:${server.address().port}/`, got }
}

/**
 * The whole of it, in a browser and a width.
 *
 * @param kind One of BROWSERS.
 * @param width 'wide' or 'phone'.
 * @param hand What people do it with: 'pointer' or 'keys'.
 * @param name A name under which the server is reached over plain http, which browsers don't trust. Otherwise it is its address.
 */
async function afternoon(t, kind, width, hand, name) {
  // The mail server's end waits for the connections to it, so the other ends before.
  let server
  t.after(() => server?.stop())
  const mails = await mailServer(t)
  const hooks = await receiver(t)
  server = await start(t, '--mail-url', mails.url, '--allow-private-webhooks', '127.0.0.0/8', ...(name ? ['--base-url', `http://${name}:PORT`] : []))
  const url = name ? `http://${name}:${server.port}` : server.url
  const isPhone = width === 'phone'
  const { visitor } = await launch(t, kind, { host: new URL(url).hostname })
  const people = []
  const enter = async () => {
    const person = await visitor(isPhone ? PHONE : WIDE)
    people.push(person)
    hands.set(person.page, HANDS[hand])
    return person.page
  }
  const look = async (page, screen) => {
    await picture(page, `afternoon-${screen}-${width}`)
    await accessible(page, `${screen}, ${width}`)
  }
  const home = page => isPhone && page.goto(`${url}/o/harbour?list`)

  const ada = await enter()
  await ada.goto(server.output().match(/http\S*\/setup\?token=\S+/)[0])
  await fill(ada, 'First name', 'Ada')
  await fill(ada, 'Last name', 'King')
  await fill(ada, 'E-mail address', 'ada@example.org')
  await fill(ada, 'Password', PASSWORD)
  await fill(ada, 'Name of the organisation', 'Harbour')
  await choose(ada, 'Create everything')
  await arrives(ada, TALK)
  await say(ada, 'Good morning, harbour')

  await ada.goto(`${url}/settings/o/harbour/invitations`)
  await fill(ada, 'E-mail addresses', 'grace@example.org, tove@example.org')
  await choose(ada, 'Invite')
  await sees(ada, 'invitations are on their way')
  const accept = async (name, first, last) => {
    const page = await enter()
    const [mail] = await mails.mails(`${name}@example.org`, 1)
    await page.goto(link(mail).href)
    await sees(page, 'Ada King')
    await fill(page, 'First name', first)
    await fill(page, 'Last name', last)
    await fill(page, 'Password', PASSWORD)
    await choose(page, 'Join')
    await arrives(page, TALK)
    await shown(page, 'Good morning, harbour')
    return page
  }
  const [grace, tove] = [await accept('grace', 'Grace', 'Holm'), await accept('tove', 'Tove', 'Olsen')]

  await (isPhone ? home(ada) : ada.goto(url))
  await choose(ada, 'Add a channel')
  await choose(ada, 'Create a channel')
  await fill(ada, 'Name', 'engine room')
  await choose(ada, 'Create the channel')
  // Its name is in the sidebar before it is open.
  await ada.waitForFunction(() => document.querySelector('.main h1')?.innerText.includes('engine-room'), { polling: 50 })
  const channel = await ada.evaluate(() => location.pathname.split('/')[3])
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
  await fill(grace, 'Search emoji', 'thumbsup')
  await choose(grace, await grace.waitForFunction(() => document.querySelector('.emoji-grid > div:not([hidden]) .emoji')?.ariaLabel).then(each => each.jsonValue()))
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

  // What was said is found, and its address can be copied.
  await ada.goto(`${url}/o/harbour/${channel}`)
  await withMessage(ada, 'no knocking', 'More')
  await choose(ada, 'Copy link')
  await sees(ada, 'Copied.')
  await choose(ada, 'Search')
  await fill(ada, 'Search messages', 'pilot')
  await sees(ada, '1 message found')
  await look(ada, 'search')

  // A role is made and given, and a program is told what is said.
  const settings = `${url}/settings/o/harbour`
  await ada.goto(`${settings}/roles`)
  await choose(ada, 'New role')
  await fill(ada, 'Name', 'Pilot')
  await hands.get(ada).activate(ada, await ada.waitForSelector('input[value="can_post_messages"]'))
  await choose(ada, 'Save')
  // The dialog has the same words: the role is there once it has closed.
  await ada.waitForFunction(() => !document.querySelector('dialog'), { polling: 50 })
  await sees(ada, 'Write messages')
  await ada.goto(`${settings}/members`)
  await choose(ada, 'More about Tove Olsen')
  await choose(ada, 'Change role')
  const select = await ada.waitForSelector('dialog select')
  await hands.get(ada).select(ada, select, 'Pilot')
  await choose(ada, 'Save')
  await ada.waitForFunction(() => [...document.querySelectorAll('.item-role')].some(each => each.textContent === 'Pilot'), { polling: 50 })
  await ada.goto(`${settings}/webhooks/${channel}`)
  await fill(ada, 'Name', 'log book')
  await fill(ada, 'Deliver to', hooks.url)
  await choose(ada, 'Create webhook')
  await choose(ada, 'I have copied it')
  await tove.goto(`${url}/o/harbour/${channel}`)
  await say(tove, 'Cast off at ten')
  await until('the program is told', () => hooks.got.some(each => each.type === 'message.created'), 10_000)
  await choose(ada, 'log book')
  await until('the history shows it', async () => {
    await choose(ada, 'Refresh')
    return ada.evaluate(() => [...document.querySelectorAll('.item')].some(each => each.textContent.includes('Delivery')))
  }, 10_000)
  await look(ada, 'webhook')

  // Who leaves is signed out, and what they were shown is gone.
  await home(tove)
  await tove.bringToFront()
  await hands.get(tove).activate(tove, await tove.waitForSelector('.side .org'))
  await choose(tove, 'Sign out')
  await arrives(tove, /^\/sign-in/)
  for (const { problems } of people) assert.deepEqual(problems, [])
}

const timeout = 150_000
const LAN = '192.0.2.7'

for (const kind of BROWSERS) {
  if (HOST === LAN) test(`an afternoon in ${kind}, on a phone, by an address`, { timeout }, t => afternoon(t, kind, 'phone', 'pointer'))
  else {
    test(`an afternoon in ${kind}, wide, by a name, by keyboard alone`, { timeout }, t => afternoon(t, kind, 'wide', 'keys', 'chat.lan'))
    test(`an afternoon in ${kind}, on a phone`, { timeout }, t => afternoon(t, kind, 'phone', 'pointer'))
  }
}

// Only a network of its own has another address that is this machine's.
test('an afternoon by an address', { timeout: timeout * 2, skip: HOST === LAN }, async () => {
  const own = `ip link set lo up && ip address add ${LAN}/32 dev lo && exec "$@"`
  const command = ['--net', '--map-root-user', 'sh', '-c', own, 'sh', process.execPath, '--test', '--test-force-exit', fileURLToPath(import.meta.url)]
  const { NODE_TEST_CONTEXT, ...env } = process.env
  const running = spawn('unshare', command, { stdio: ['ignore', 'pipe', 'pipe'], env: { ...env, TEST_HOST: LAN } })
  let output = ''
  for (const stream of [running.stdout, running.stderr]) stream.on('data', chunk => { output += chunk })
  const code = await new Promise(resolve => running.on('close', resolve))
  assert.equal(code, 0, output)
  assert.match(output, new RegExp(`^# pass ${BROWSERS.length}$`, 'm'))
})
