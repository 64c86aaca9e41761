// What goes on while the talk is open: waiting, what calls the person, the end of a session, newer builds, a keyboard over the page.
import assert from 'node:assert/strict'
import test from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { BROWSERS, PHONE, WIDE, accessible, launch, picture, sees, theme } from './lib/browser.mjs'
import { front } from './lib/front.mjs'
import { PASSWORD, account, organisation, start } from './lib/server.mjs'

const timeout = 120_000
/** Longer than a hidden page rests before it loads itself again. */
const RESTS_MS = 4_500

const title = (page, pattern) => page.waitForFunction(source => new RegExp(source).test(document.title), { polling: 50 }, pattern.source)
const composer = page => page.waitForSelector('.main .composer textarea', { visible: true })
const build = page => page.evaluate(() => document.querySelector('script').src.split('/')[4])

for (const kind of BROWSERS) {
  test(`${kind}: while the talk is open`, { timeout }, async t => {
    const way = await front(t)
    const server = await start(t, '--base-url', way.url)
    await way.before(server)
    const [ada, grace] = await Promise.all([account(server, 'ada', { first_name: 'Ada', last_name: 'King' }), account(server, 'grace')])
    const harbour = await organisation(ada, [grace])
    const quay = await organisation(ada, [grace], 'Quay')
    const { visitor } = await launch(t, kind)
    const { page, another, problems } = await visitor(WIDE)
    const open = address => page.goto(`${way.url}${address}`)
    const general = `/o/${harbour.slug}/${harbour.general.id}`
    const signIn = () => page.evaluate(async (email, password) => {
      const headers = { 'Content-Type': 'application/json', 'Tidings-Client': 'web' }
      await fetch('/api/v1/auth/login', { method: 'POST', headers, body: JSON.stringify({ email, password, cookie: true }) })
    }, ada.email, PASSWORD)

    await t.test('what takes long says that it loads', async () => {
      await open('/health')
      await signIn()
      const { identifier } = await page.evaluateOnNewDocument(() => {
        const real = globalThis.fetch
        globalThis.fetch = async (...input) => {
          if (String(input[0]).includes('/start')) await new Promise(resolve => { globalThis.release = resolve })
          return real(...input)
        }
      })
      await open(general)
      await sees(page, 'Loading…')
      for (const [view, width, colours] of kind === 'chrome' ? [[PHONE, 'phone', 'dark'], [WIDE, 'wide', 'light']] : []) {
        await page.setViewport(view)
        await theme(page, kind, colours)
        await picture(page, `loading-${width}-${colours}`)
        await accessible(page, `loading ${width} ${colours}`)
      }
      await page.evaluate(() => globalThis.release())
      await composer(page)
      assert.doesNotMatch(await page.evaluate(() => document.body.innerText), /Loading/)
      await page.removeScriptToEvaluateOnNewDocument(identifier)
    })

    await t.test('the title tells of what is unread, in every organisation and in the settings', async () => {
      await open(`/o/${quay.slug}/${quay.general.id}`)
      await title(page, /^general · Quay$/)
      await page.evaluate(() => [...document.querySelectorAll('.org')][0].click())
      await page.waitForSelector('.menu')
      await page.evaluate(() => [...document.querySelectorAll('.menu button')].find(each => each.innerText.includes('Harbour')).click())
      await title(page, /^general · Harbour$/)
      await grace.call('POST', `/channels/${quay.general.id}/messages`, { content: 'Plain' })
      await title(page, /^• general · Harbour$/)
      const direct = await grace.call('POST', `/organisations/${quay.id}/dms`, { user_ids: [ada.id], participants: [ada.id] })
      await grace.call('POST', `/channels/${direct.id ?? direct.channels_id}/messages`, { content: 'Between us' })
      await title(page, /^\(1\) general · Harbour$/)
      await page.evaluate(() => document.querySelector('a[href="/settings"]').click())
      await title(page, /^\(1\) .+ · Tidings$/)
    })

    await t.test('a keyboard that covers the page leaves the composer to be seen', async () => {
      await open(general)
      await composer(page)
      const cover = height => page.evaluate(height => {
        if (height) Object.defineProperty(visualViewport, 'height', { configurable: true, value: height })
        else delete visualViewport.height
        visualViewport.dispatchEvent(new Event('resize'))
        return document.querySelector('.composer').getBoundingClientRect().bottom
      }, height)
      const before = await cover(0)
      const covered = await cover(500)
      assert.ok(before > 500 && covered > 400 && covered <= 500, `${before} ${covered}`)
      assert.equal(await cover(0), before)
    })

    await t.test('a new build is loaded once nobody looks and nothing is being written; drafts stay', async () => {
      const first = await build(page)
      await page.type('.main .composer textarea', 'Half a thought')
      await page.evaluate(() => document.querySelector('a[href="/settings"]').click())
      const other = await another()
      const hide = async () => {
        await other.bringToFront()
        await pause(RESTS_MS)
      }
      await page.bringToFront()
      await page.waitForSelector('input[name=phone]')
      await page.type('input[name=phone]', '12')
      way.build = 'another-build'
      way.down()
      way.up()
      await sees(page, 'There is a new version.')
      await hide()
      assert.equal(await build(page), first, 'a field is being filled')
      await page.bringToFront()
      await page.evaluate(() => { document.querySelector('input[name=phone]').value = '' })
      await other.bringToFront()
      await page.waitForFunction(() => document.querySelector('script')?.src.includes('another-build'), { polling: 100 })
      await page.bringToFront()
      await page.waitForSelector('input[name=phone]')
      await open(general)
      await page.waitForFunction(() => document.querySelector('.main .composer textarea')?.value === 'Half a thought', { polling: 50 })
      await other.close()
    })

    await t.test('the end of the session leaves nothing of the talk', async () => {
      await grace.call('POST', `/channels/${harbour.general.id}/messages`, { content: 'Not for everybody' })
      await sees(page, 'Not for everybody')
      await page.keyboard.down('Control')
      await page.keyboard.press('k')
      await page.keyboard.up('Control')
      await page.waitForSelector('dialog.switcher')
      await page.evaluate(() => fetch('/api/v1/auth/logout', { method: 'POST', headers: { 'Tidings-Client': 'web' } }))
      await sees(page, 'Sign in again')
      const left = await page.evaluate(() => `${document.title}\n${document.body.innerText}`)
      assert.doesNotMatch(left, /everybody|general|Harbour|Grace/i)
      await picture(page, `ended-${kind}`)
    })
    assert.deepEqual(problems, [])
  })
}
