// What happens to people who write while networks break, servers die, rights change and clocks are wrong: nothing is lost, doubled or stale.
import assert from 'node:assert/strict'
import test from 'node:test'
import { BROWSERS, WIDE, launch, sees } from './lib/browser.mjs'
import { front } from './lib/front.mjs'
import { PASSWORD, account, organisation, start, until } from './lib/server.mjs'

const timeout = 90_000

/** An organisation of two behind a front, and a browser. */
async function world(t, kind, ...flags) {
  const way = await front(t)
  const server = await start(t, '--base-url', way.url, ...flags)
  await way.before(server)
  const ada = await account(server, 'ada', { first_name: 'Ada', last_name: 'King' })
  const grace = await account(server, 'grace', { first_name: 'Grace', last_name: 'Holm' })
  const harbour = await organisation(ada, [grace])
  const { visitor } = await launch(t, kind)
  const said = async (channel = harbour.general.id) =>
    (await server.call('GET', `/channels/${channel}/messages`, { bearer: ada.bearer })).messages.map(each => [each.user_id === ada.id ? 'ada' : 'grace', each.content]).reverse()
  return { way, server, ada, grace, harbour, visitor, said, talk: `${way.url}/o/${harbour.slug}`, channel: harbour.general.id }
}

/** Gives the browser of a page the session of a person, as signing in in another tab does. */
const signIn = (page, { email }) => page.evaluate(async (email, password) => {
  const answer = await fetch('/api/v1/auth/login', {
    method: 'POST', headers: { 'Content-Type': 'application/json', 'Tidings-Client': 'web' }, body: JSON.stringify({ email, password, cookie: true }),
  })
  if (!answer.ok) throw new Error(await answer.text())
}, email, PASSWORD)

async function enter(page, { way, talk, channel, ada }, person = ada) {
  await page.bringToFront() // a tab that nobody looks at does nothing
  await page.goto(`${way.url}/features`)
  await signIn(page, person)
  await page.goto(`${talk}/${channel}`)
  await composer(page)
}

const composer = page => page.waitForSelector('.main .composer textarea', { visible: true })

async function write(page, ...texts) {
  await page.bringToFront()
  // In one step: a talk that is shown from the device may be drawn anew in between.
  await page.waitForFunction(() => {
    const field = document.querySelector('.main .composer textarea')
    field?.focus()
    return field && document.activeElement === field
  }, { polling: 50 })
  for (const text of texts) {
    await page.keyboard.type(text)
    await page.keyboard.press('Enter')
    await sees(page, text)
  }
}

/** The rows of the talk: what waits is marked. */
const rows = page => page.$$eval('.main .row', all => all.map(each => `${each.classList.contains('pending') ? '… ' : ''}${each.querySelector('.text')?.innerText ?? ''}`))
async function shows(page, expected) {
  let found = []
  await until(() => `${JSON.stringify(found)} instead of ${JSON.stringify(expected)}`, async () => {
    found = await rows(page)
    return JSON.stringify(found) === JSON.stringify(expected)
  }, 20_000)
}
const draft = page => page.$eval('.main .composer textarea', each => each.value)
const isLive = page => page.waitForFunction(() => document.querySelector('.offline')?.innerText === '', { polling: 50 })

for (const kind of BROWSERS) {
  test(`${kind}: posts outlive the death of the server, once and in order`, { timeout }, async t => {
    const here = await world(t, kind)
    const { page, problems } = await here.visitor(WIDE)
    await enter(page, here)
    await write(page, 'Before')
    await shows(page, ['Before'])
    await here.server.kill()
    await write(page, 'One', 'Two', 'Three')
    await sees(page, 'No connection.')
    await shows(page, ['Before', '… One', '… Two', '… Three'])
    await here.server.launch()
    await shows(page, ['Before', 'One', 'Two', 'Three'])
    await isLive(page)
    assert.deepEqual(await here.said(), [['ada', 'Before'], ['ada', 'One'], ['ada', 'Two'], ['ada', 'Three']])
    assert.deepEqual(problems, [])
  })

  test(`${kind}: what one has written is not posted by whoever signs in next`, { timeout }, async t => {
    const here = await world(t, kind)
    const { page, another } = await here.visitor(WIDE)
    await enter(page, here)
    here.way.refuses = (method, path) => method === 'POST' && path.endsWith('/messages')
    await write(page, 'From Ada')
    await page.keyboard.type('Half a thought')
    const other = await another()
    await other.goto(`${here.way.url}/features`)
    await signIn(other, here.grace)
    here.way.refuses = () => false
    await other.goto(`${here.talk}/${here.channel}`)
    await write(other, 'From Grace')
    await shows(other, ['From Grace'])
    await page.bringToFront()
    // A request between the end of her session and the new cookie hears of the end alone.
    await page.waitForFunction(() => /Somebody else has signed in with this browser|Your session has ended/.test(document.body.innerText), { polling: 50 })
    assert.deepEqual(await here.said(), [['grace', 'From Grace']])
    // It waits for Ada.
    await signIn(other, here.ada)
    await other.goto(`${here.talk}/${here.channel}`)
    await other.bringToFront()
    await shows(other, ['From Grace', 'From Ada'])
    assert.deepEqual(await here.said(), [['grace', 'From Grace'], ['ada', 'From Ada']])
    await until('the draft', async () => await draft(other) === 'Half a thought')
  })

  test(`${kind}: who was removed while asleep sees no talk that goes on without them`, { timeout }, async t => {
    const here = await world(t, kind)
    const quay = await here.grace.call('POST', '/channels', { name: 'quay', organisation_id: here.harbour.id, is_private: true, userIds: [here.ada.id] })
    await here.grace.call('POST', `/channels/${quay.id}/messages`, { content: 'Between us' })
    const { page } = await here.visitor(WIDE)
    await enter(page, { ...here, channel: quay.id })
    await shows(page, ['Between us'])
    here.way.down()
    await sees(page, 'No connection.')
    await here.grace.call('DELETE', `/channels/${quay.id}/users/${here.ada.id}`)
    await here.grace.call('POST', `/channels/${quay.id}/messages`, { content: 'Now without Ada' })
    here.way.up()
    await sees(page, 'This channel doesn’t exist, or you can’t see it.')
    await isLive(page)
    const shown = await page.evaluate(() => document.body.innerText)
    assert.doesNotMatch(shown, /Between us|without Ada|quay/)
  })

  test(`${kind}: who is removed from the open organisation is led to another, and to a new one only from the last`, { timeout }, async t => {
    const { way, grace, ada, harbour, talk, channel, visitor } = await world(t, kind)
    const second = await organisation(grace, [], 'Second')
    const { page } = await visitor(WIDE)
    await enter(page, { way, talk, channel }, grace)
    await ada.call('DELETE', `/organisations/${harbour.id}/users/${grace.id}`)
    await page.waitForFunction(slug => location.pathname.startsWith(`/o/${slug}/`), { polling: 50 }, second.slug)
    await composer(page)
    await sees(page, 'general')
    await grace.call('DELETE', `/organisations/${second.id}`, { name: 'Second' })
    await page.waitForFunction(() => location.pathname === '/new-organisation', { polling: 50 })
  })

  test(`${kind}: posts to a channel that was archived meanwhile come back to their writer`, { timeout }, async t => {
    const here = await world(t, kind)
    const quay = await here.ada.call('POST', '/channels', { name: 'quay', organisation_id: here.harbour.id, userIds: [here.grace.id] })
    const { page } = await here.visitor(WIDE)
    await enter(page, { ...here, channel: quay.id })
    await sees(page, 'Nothing has been said here yet.')
    here.way.down()
    await write(page, 'Too late', 'Far too late')
    await here.ada.call('PUT', `/channels/${quay.id}/archive`, { archived: true })
    here.way.up()
    await sees(page, 'Not sent: This channel is archived')
    await page.waitForFunction(() => document.querySelectorAll('.failed').length === 2, { polling: 50 })
    assert.deepEqual(await here.said(quay.id), [])
  })

  for (const days of [-2, 2]) {
    test(`${kind}: a clock that is wrong by ${days} days changes no order and stops nothing`, { timeout }, async t => {
      const here = await world(t, kind)
      await here.grace.call('POST', `/channels/${here.channel}/messages`, { content: 'First' })
      const { page, problems } = await here.visitor(WIDE)
      await page.evaluateOnNewDocument(away => {
        const { Date: Real } = globalThis
        globalThis.Date = class extends Real {
          constructor(...given) { super(...(given.length > 0 ? given : [Real.now() + away])) }
          static now() { return Real.now() + away }
        }
      }, days * 86_400_000)
      await enter(page, here)
      await write(page, 'Second')
      await shows(page, ['First', 'Second'])
      await here.grace.call('POST', `/channels/${here.channel}/messages`, { content: 'Third' })
      await shows(page, ['First', 'Second', 'Third'])
      here.way.down()
      await write(page, 'Fourth')
      here.way.up()
      await shows(page, ['First', 'Second', 'Third', 'Fourth'])
      await isLive(page)
      assert.deepEqual(problems, [])
    })
  }

  test(`${kind}: a browser that keeps nothing says so, and talks all the same`, { timeout }, async t => {
    const here = await world(t, kind)
    const { page, problems } = await here.visitor(WIDE)
    await page.evaluateOnNewDocument(() => { Object.defineProperty(globalThis, 'indexedDB', { get() { throw new DOMException('no storage', 'SecurityError') } }) })
    await enter(page, here)
    await write(page, 'All the same')
    await shows(page, ['All the same'])
    await sees(page, 'This browser saves nothing for later')
    assert.deepEqual(problems, [])
  })

  test(`${kind}: five tabs are restored at once`, { timeout }, async t => {
    const here = await world(t, kind, '--rate-limit', 'on')
    const { page, another } = await here.visitor(WIDE)
    await enter(page, here)
    await write(page, 'Still here')
    const tabs = [page, await another(), await another(), await another(), await another()]
    const refused = []
    for (const tab of tabs) tab.on('response', answer => { if (answer.status() >= 400) refused.push(`${answer.status()} ${answer.url()}`) })
    await here.server.kill()
    await here.server.launch()
    const asked = new Set()
    for (const tab of tabs) tab.on('request', request => { if (request.url().includes('/api/')) asked.add(tab) })
    await Promise.all(tabs.map(tab => tab.mainFrame().goto(`${here.talk}/${here.channel}`)))
    for (const [at, tab] of tabs.entries()) {
      await tab.bringToFront()
      await shows(tab, ['Still here'])
      if (at === 1) assert.ok(asked.size < tabs.length, 'a tab that nobody has looked at asks for nothing')
    }
    await here.grace.call('POST', `/channels/${here.channel}/messages`, { content: 'For all five' })
    for (const tab of tabs) await shows(tab, ['Still here', 'For all five'])
    assert.deepEqual(refused, [])
  })

  test(`${kind}: an upgrade, its rollback and the client's end leave draft and posts`, { timeout }, async t => {
    const here = await world(t, kind)
    const { page, problems } = await here.visitor(WIDE)
    await enter(page, here)
    const build = () => page.evaluate(() => document.querySelector('script').src.split('/')[4])
    const first = await build()
    let count = 0
    for (const next of ['another-build', first]) {
      // Once the talk stands, all files are loaded.
      await page.waitForFunction(() => {
        const loaded = new Set(performance.getEntriesByType('resource').map(each => each.name))
        const wanted = [...document.querySelectorAll('link[rel=modulepreload]')]
        return wanted.length > 50 && wanted.every(each => loaded.has(each.href))
      }, { polling: 100 })
      here.way.down()
      await write(page, `Post ${count += 1}`, `Post ${count += 1}`)
      await page.keyboard.type('Half a thought')
      here.way.build = next === first ? '' : next
      here.way.up()
      await sees(page, 'There is a new version.')
      await until('the posts', async () => (await here.said()).length === count)
      assert.equal(await draft(page), 'Half a thought')
      // What was not used yet is of the old build, which the server has no more.
      await page.keyboard.down('Control')
      await page.keyboard.press('k')
      await page.keyboard.up('Control')
      await page.waitForSelector('dialog.switcher')
      await page.keyboard.press('Escape')
      await page.waitForFunction(() => !document.querySelector('dialog'), { polling: 50 })
      await page.evaluate(() => [...document.querySelectorAll('.toast button')].at(-1).click())
      await page.waitForFunction(next => document.querySelector('script')?.src.includes(next) && document.querySelector('.main .composer textarea')?.value === 'Half a thought',
        { polling: 50 }, next)
      await page.evaluate(() => { const area = document.querySelector('.main .composer textarea'); area.value = ''; area.dispatchEvent(new Event('input')) })
    }
    await here.server.stop()
    await here.server.launch('--client', 'off')
    await write(page, 'The client is off')
    await until('the post', async () => (await here.said()).length === 5)
    assert.deepEqual((await here.said()).map(([, text]) => text), ['Post 1', 'Post 2', 'Post 3', 'Post 4', 'The client is off'])
    assert.deepEqual(problems, [])
  })
}
