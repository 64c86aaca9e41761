// The engine of every iPhone, and of Safari: entry, talk, reading, offline and a phone's width. The other two engines have the rest.
import assert from 'node:assert/strict'
import test from 'node:test'
import { PHONE, WIDE } from './lib/browser.mjs'
import { front } from './lib/front.mjs'
import { PASSWORD, account, organisation, start, until } from './lib/server.mjs'
import { Key, launch } from './lib/webkit.mjs'

const TALK = /^\/o\/[^/]+\/[0-9a-f-]{36}/
const COMPOSER = '.main .composer textarea'
const timeout = 90_000
const skip = ![undefined, 'webkit'].includes(process.env.BROWSER)

/** Ada and Grace have a channel; Ada is signed in, and has it open. */
async function talking(t, view = WIDE) {
  const way = await front(t)
  const server = await start(t, '--base-url', way.url)
  await way.before(server)
  const [ada, grace] = await Promise.all([
    account(server, 'ada', { first_name: 'Ada', last_name: 'King' }),
    account(server, 'grace', { first_name: 'Grace', last_name: 'Holm' }),
  ])
  const { id: organisationId, slug, general } = await organisation(ada, [grace])
  const page = await launch(t, view)
  const talk = `/o/${slug}/${general.id}`
  const enter = async () => {
    await page.open(`${way.url}/sign-in?next=${talk}`)
    await page.fill('E-mail address', ada.email)
    await page.fill('Password', PASSWORD)
    await page.press('Sign in')
    await page.element(COMPOSER)
  }
  const say = (content, more = {}) => grace.call('POST', `/channels/${general.id}/messages`, { content, ...more })
  const said = async () => (await server.call('GET', `/channels/${general.id}/messages`, { bearer: ada.bearer })).messages.map(each => each.content).reverse()
  const listed = async () => (await ada.call('GET', `/organisations/${organisationId}/user-channels`)).find(each => each.channels_id === general.id)
  return { way, server, ada, grace, slug, page, enter, say, said, talk: way.url + talk, unread: async () => (await listed()).thread_count }
}

/** Writes into the composer, and sends it. */
async function post(page, ...texts) {
  const composer = await page.element(COMPOSER)
  for (const text of texts) await composer.sendKeys(text, Key.ENTER)
}

/** Points at the message with this text, and presses one of its tools. */
async function useTool(page, text, name) {
  const row = await page.holds(`a row with "${text}"`, 'return [...document.querySelectorAll(".main .row")].find(each => each.innerText.includes(arguments[0]))', text)
  await page.driver.actions().move({ origin: row }).perform()
  await page.press(name, '.main .row:hover .tools button')
}

/** The rows of the talk: what waits is marked. */
async function shows(page, expected) {
  const script = 'return JSON.stringify([...document.querySelectorAll(".main .row")].map(each => (each.classList.contains("pending") ? "… " : "") + (each.querySelector(".text")?.innerText.trim() ?? ""))) === arguments[0]'
  await page.holds(`the rows are ${JSON.stringify(expected)}`, script, JSON.stringify(expected))
}

test('the first administrator sets the server up, and talks', { timeout, skip }, async t => {
  const server = await start(t)
  const page = await launch(t, WIDE)
  await page.open(/http\S+\/setup\?token=\S+/.exec(server.output())[0])
  await page.fill('First name', 'Ada')
  await page.fill('Last name', 'King')
  await page.fill('E-mail address', 'ada@example.org')
  await page.fill('Password', PASSWORD)
  await page.fill('Name of the organisation', 'Harbour')
  await page.press('Create everything')
  await page.arrives(TALK)
  await post(page, 'The first word')
  await shows(page, ['The first word'])
  assert.equal(await page.evaluate('return document.cookie'), '')
  await page.assertSound()
})

test('a join link leads a new person into the talk', { timeout, skip }, async t => {
  const server = await start(t)
  const ada = await account(server, 'ada')
  const { id } = await organisation(ada)
  const { link } = await ada.call('POST', `/organisations/${id}/join-links`, { uses: 1 })
  const page = await launch(t, PHONE)
  await page.open(link)
  await page.fill('First name', 'Finn')
  await page.fill('Last name', 'Berg')
  await page.fill('E-mail address', 'finn@example.org')
  await page.fill('Password', PASSWORD)
  await page.press('Join')
  await page.arrives(TALK)
  await page.element(COMPOSER)
  await page.assertSound()
})

test('Markdown, a mention and an emoji are shown, and what others post arrives', { timeout, skip }, async t => {
  const { page, enter, say, said } = await talking(t)
  await enter()
  const composer = await page.element(COMPOSER)
  await composer.sendKeys('**High** water, @gra')
  await page.holds('the name is suggested', 'return document.querySelector(".choices")?.innerText.includes("Grace Holm")')
  await composer.sendKeys(Key.TAB, ':anch')
  await page.holds('the emoji is suggested', 'return document.querySelector(".choices")?.innerText.includes("⚓")')
  await composer.sendKeys(Key.TAB, Key.ENTER)
  await until('it is posted', async () => (await said()).length === 1)
  assert.match((await said())[0], /^\*\*High\*\* water, @grace ⚓\s*$/)
  assert.equal(await page.holds('the bold word', 'return document.querySelector(".main .row strong")?.innerText'), 'High')
  await say('Look: <img src=x onerror="problems.push(1)"> [here](javascript:problems.push(2)) https://example.org/tide')
  await page.sees('https://example.org/tide')
  assert.deepEqual(await page.evaluate('return [...document.querySelectorAll(".main .row a[href]")].map(each => each.href).filter(each => each.includes("javascript"))'), [])
  await page.assertSound()
})

test('Up edits, the menu deletes, a reaction is given', { timeout, skip }, async t => {
  const { page, enter, said } = await talking(t)
  await enter()
  await post(page, 'The pilot boat is late')
  await shows(page, ['The pilot boat is late'])
  await (await page.element(COMPOSER)).sendKeys(Key.ARROW_UP)
  await page.holds('the edit has the focus', 'return Boolean(document.activeElement.closest(".edit"))')
  await page.keys(' again', Key.ENTER)
  await page.sees('(edited)')
  assert.deepEqual(await said(), ['The pilot boat is late again'])
  await post(page, 'Never mind')
  await shows(page, ['The pilot boat is late again(edited)', 'Never mind'])
  await useTool(page, 'Never mind', 'More')
  await page.press('Delete', '[role=menuitem]')
  await page.press('Delete', 'dialog button')
  await page.misses('Never mind')
  await until('it is deleted', async () => (await said()).length === 1)
  await useTool(page, 'late again', 'React')
  await page.holds('all emoji are there', 'return document.querySelectorAll(".emoji").length > 1000')
  await page.keys('anchor')
  await page.holds('the anchor is found', 'return document.querySelector(".emoji-grid > div:not([hidden]) .emoji")?.ariaLabel === "anchor"')
  await page.keys(Key.ENTER)
  await page.holds('the reaction', 'return document.querySelector(".main .row .reaction")?.innerText.includes("⚓")')
  await page.picture('talk')
  await page.assertSound()
})

test('a thread stands beside the talk', { timeout, skip }, async t => {
  const { page, enter, say, talk } = await talking(t)
  const { id } = await say('Who has the key?')
  await enter()
  await page.open(`${talk}/${id}`)
  const composer = await page.element('.beside .composer textarea')
  await composer.sendKeys('I have', Key.ENTER)
  await page.holds('the reply', 'return [...document.querySelectorAll(".beside .row")].some(each => each.innerText.includes("I have"))')
  await say('Thank you', { thread_id: id })
  await page.holds('the other reply', 'return document.querySelector(".beside").innerText.includes("Thank you")')
  await page.picture('thread')
  await page.assertSound()
})

test('only what was seen counts as read, and the end is followed', { timeout, skip }, async t => {
  const { page, enter, say, unread } = await talking(t)
  for (let n = 0; n < 60; n += 1) await say(`Buoy ${n}`)
  await enter()
  await page.sees('Buoy 0')
  await until('the mark has moved', async () => (await unread()) < 60)
  assert.ok(await unread() > 20, `${await unread()} are unread`)
  await (await page.element('.jump')).click()
  await until('all are read', async () => (await unread()) === 0)
  await say('One more')
  await page.sees('One more')
  await page.holds('the end is in view', 'const { scrollHeight, scrollTop, clientHeight } = document.querySelector(".main .talk"); return scrollHeight - scrollTop - clientHeight < 8')
  await until('it is read', async () => (await unread()) === 0)
  await page.assertSound()
})

test('posts outlive the death of the server, once and in order', { timeout, skip }, async t => {
  const { server, page, enter, said } = await talking(t)
  await enter()
  await post(page, 'Before')
  await shows(page, ['Before'])
  await server.kill()
  await post(page, 'One', 'Two')
  await page.sees('No connection.')
  await shows(page, ['Before', '… One', '… Two'])
  await server.launch()
  await shows(page, ['Before', 'One', 'Two'])
  assert.deepEqual(await said(), ['Before', 'One', 'Two'])
  await page.assertSound()
})

test('the client opens without its server, and comes back with it', { timeout, skip }, async t => {
  const { way, page, enter, say, talk } = await talking(t)
  await say('The tide turns at six.')
  await enter()
  await page.sees('The tide turns at six.')
  await page.driver.executeAsyncScript('const done = arguments[0]; navigator.serviceWorker.ready.then(() => done())')
  way.down()
  await page.open(talk)
  await page.sees('The tide turns at six.')
  await page.sees('No connection.')
  way.up()
  await say('And at noon.')
  await page.sees('And at noon.')
  await page.assertSound()
})

test('a phone shows the channels, then the talk, and a thread in its place', { timeout, skip }, async t => {
  const { page, enter, say } = await talking(t, PHONE)
  const { id } = await say('Who has the key?')
  await say('I have', { thread_id: id })
  await enter()
  assert.equal(await page.evaluate('return innerWidth'), PHONE.width)
  await page.sees('Who has the key?')
  await page.assertSound()
  await (await page.element('.main .row .replies')).click()
  await page.holds('the thread has the whole width', 'const { left, width } = document.querySelector(".beside")?.getBoundingClientRect() ?? {}; return left === 0 && width === innerWidth')
  await page.sees('I have')
  await page.assertSound()
  await page.picture('phone-thread')
  await page.press('Close')
  await page.element(COMPOSER)
  await page.picture('phone')
  await (await page.element('.main .back')).click()
  await page.holds('the list of channels', 'return document.querySelector(".side").checkVisibility() && !document.querySelector(".main")?.checkVisibility()')
  await page.picture('phone-channels')
  await page.assertSound()
  await (await page.element('.side a[href*="/o/"][href*="-"]')).click()
  await page.sees('Who has the key?')
})

test('after signing out, Back shows nothing of the talk', { timeout, skip }, async t => {
  const { page, enter, say, talk } = await talking(t)
  await say('Between us')
  await enter()
  await page.sees('Between us')
  await page.open(new URL('/settings', talk).href)
  await page.press('Sign out')
  await page.arrives(/^\/sign-in/)
  let pages = 0
  for (;; pages += 1) {
    await page.driver.navigate().back()
    if (await page.evaluate('return location.href') === 'about:blank') break
    await page.sees('E-mail address')
    assert.doesNotMatch(await page.evaluate('return document.body.textContent'), /Between us/)
  }
  assert.ok(pages > 0, 'there is a page to go back to')
})
