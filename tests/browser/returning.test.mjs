// "Back" shows nothing of a session that has ended, with or without a network.
import assert from 'node:assert/strict'
import test from 'node:test'
import { BROWSERS, WIDE, enter, launch, sees } from './lib/browser.mjs'
import { account, organisation, start } from './lib/server.mjs'

const timeout = 120_000
const SECRET = 'The engine is in the third shed'

/** What somebody at the screen can read. */
const readable = page => page.evaluate(() => document.body.innerText)

/** A page of the talk, with a word of it. */
async function talk(t, kind) {
  const server = await start(t)
  const ada = await account(server, 'ada')
  const { slug, general } = await organisation(ada)
  await ada.call('POST', `/channels/${general.id}/messages`, { content: SECRET })
  const { visitor } = await launch(t, kind)
  const { page } = await visitor(WIDE)
  await enter(page, server, ada, `${server.url}/o/${slug}/${general.id}`)
  await sees(page, SECRET)
  return { server, page, ada }
}

/** Leaves the page as the browser does that keeps it whole, and comes back to it; some browsers under test keep no pages. */
const leave = page => page.evaluate(() => { dispatchEvent(new PageTransitionEvent('pagehide', { persisted: true })) })
const comeBack = page => page.evaluate(() => { dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true })) })

/** Goes back in the history. Firefox never tells puppeteer that a page which it has kept is there. */
async function back(page) {
  await page.evaluate(() => { history.back() })
  await page.waitForFunction(() => location.pathname.startsWith('/o/'), { polling: 50 })
}

const logOut = page => page.evaluate(() => fetch('/api/v1/auth/logout', { method: 'POST', headers: { 'Tidings-Client': 'web' } }).then(answer => answer.status))

/** The page asks by itself every five seconds, too: a server that takes long to start may have answered before the button is pressed. */
async function launchAndTryAgain(server, page) {
  assert.equal(await page.$eval('.unconfirmed button', each => each.innerText), 'Try again')
  await server.launch()
  await page.evaluate(() => document.querySelector('.unconfirmed button')?.click())
}

for (const kind of BROWSERS) {
  test(`${kind}: a page that comes back is shown when the session is confirmed`, { timeout }, async t => {
    const { server, page } = await talk(t, kind)
    await leave(page)
    assert.doesNotMatch(await readable(page), /third shed/, 'it is hidden while it is away')
    await server.stop()
    await comeBack(page)
    await page.waitForFunction(() => document.body.innerText.includes('can’t be reached'), { polling: 50 })
    assert.doesNotMatch(await readable(page), /third shed/, 'nobody has said yet whose session it is')
    await launchAndTryAgain(server, page)
    await sees(page, SECRET)
  })

  test(`${kind}: a page that comes back after its session has ended shows no talk`, { timeout }, async t => {
    const { server, page } = await talk(t, kind)
    await leave(page)
    await server.stop()
    await server.launch()
    assert.equal(await logOut(page), 200)
    await comeBack(page)
    await sees(page, 'You are signed out')
    assert.doesNotMatch(await page.evaluate(() => document.body.textContent), /third shed/)
  })

  test(`${kind}: Back shows no talk of a session that ended meanwhile, not even without the server`, { timeout }, async t => {
    const { server, page, ada } = await talk(t, kind)
    await page.evaluate(() => { globalThis.isKept = true })
    await page.goto(`${server.url}/docs/guide/push`)
    const sessions = await ada.call('GET', `/users/${ada.id}/sessions`)
    for (const { id } of sessions.filter(each => !each.is_current)) await ada.call('PUT', '/users/revoke-session', { session_id: id })
    await server.stop()
    await back(page)
    if (kind === 'firefox') return t.skip('it keeps no page that has had a connection open, and loads it anew')
    assert.ok(await page.evaluate(() => globalThis.isKept), 'the browser has kept the page, or this test says nothing')
    await page.waitForFunction(() => document.body.innerText.includes('can’t be reached'), { polling: 50 })
    assert.doesNotMatch(await readable(page), /third shed/)
    await launchAndTryAgain(server, page)
    await sees(page, 'You are signed out')
    assert.doesNotMatch(await page.evaluate(() => document.body.textContent), /third shed/)
  })
}
