// The client as an installed program: what a phone needs to install it, and the shell without a network.
import assert from 'node:assert/strict'
import test from 'node:test'
import { BROWSERS, PHONE, WIDE, accessible, fill, launch, picture, press, sees } from './lib/browser.mjs'
import { PASSWORD, account, organisation, start } from './lib/server.mjs'

/** Width and height of a PNG stand behind its signature. */
const size = bytes => [bytes.readUInt32BE(16), bytes.readUInt32BE(20)]

test('a phone finds all that it needs to install the client', async t => {
  const server = await start(t)
  const answer = await fetch(`${server.url}/manifest.webmanifest`)
  assert.match(answer.headers.get('content-type'), /manifest\+json/)
  const manifest = await answer.json()
  assert.deepEqual([manifest.display, manifest.start_url, manifest.scope], ['standalone', '/', '/'])
  for (const { src, sizes, type } of manifest.icons) {
    const icon = await fetch(new URL(src, server.url))
    assert.equal(icon.status, 200, src)
    assert.equal(icon.headers.get('content-type'), type, src)
    if (type === 'image/png') assert.deepEqual(size(Buffer.from(await icon.arrayBuffer())), sizes.split('x').map(Number), src)
  }
  assert.ok(manifest.icons.some(({ purpose }) => purpose === 'maskable'))
  const list = await (await fetch(`${server.url}/client/files.json`)).json()
  for (const each of list.files) assert.equal((await fetch(new URL(each, server.url))).status, 200, each)
})

for (const kind of BROWSERS) {
  test(`${kind}: the client opens without its server, and comes back with it`, async t => {
    const server = await start(t)
    const ada = await account(server, 'ada', { first_name: 'Ada', last_name: 'King' })
    const { slug, general } = await organisation(ada)
    await ada.call('POST', `/channels/${general.id}/messages`, { content: 'The tide turns at six.' })
    const { visitor } = await launch(t, kind)
    const { page } = await visitor(WIDE)
    await page.goto(`${server.url}/sign-in?next=/o/${slug}/${general.id}`)
    await fill(page, 'E-mail address', ada.email)
    await fill(page, 'Password', PASSWORD)
    await press(page, 'Sign in')
    await sees(page, 'The tide turns at six.')
    // The worker has fetched all files when it is active.
    await page.evaluate(() => navigator.serviceWorker.ready.then(() => true))
    await server.stop()
    await page.reload()
    await sees(page, 'The tide turns at six.')
    await picture(page, `installed-${kind}-offline`)
    await server.launch()
    await page.reload()
    await sees(page, 'The tide turns at six.')
  })

  test(`${kind}: a first visit asks for start and talk at once, and for its words in one file`, async t => {
    const server = await start(t)
    const ada = await account(server, 'ada', { first_name: 'Ada', last_name: 'King' })
    const { slug, general } = await organisation(ada)
    await ada.call('POST', `/channels/${general.id}/messages`, { content: 'The tide turns at six.' })
    const german = kind === 'chrome' ? { args: ['--accept-lang=de-AT,en'] } : { prefs: { 'intl.accept_languages': 'de-AT,en' } }
    const { visitor } = await launch(t, kind, german)
    const { page, problems } = await visitor(WIDE)
    await page.goto(`${server.url}/sign-in`)
    await page.evaluate(async body => {
      const headers = { 'Content-Type': 'application/json', 'Tidings-Client': 'web' }
      await fetch('/api/v1/auth/login', { method: 'POST', headers, body: JSON.stringify(body) })
    }, { email: ada.email, password: PASSWORD, cookie: true })
    await page.goto(`${server.url}/o/${slug}/${general.id}`)
    await sees(page, 'The tide turns at six.')
    const asked = await page.evaluate(() => performance.getEntriesByType('resource')
      .map(({ name, startTime, responseEnd }) => ({ path: new URL(name).pathname, startTime, responseEnd })))
    const words = asked.filter(({ path }) => path.includes('/texts/')).map(({ path }) => path.split('/texts/')[1])
    assert.deepEqual(words, ['de/first.js'])
    const of = end => asked.filter(({ path }) => path.endsWith(end))
    const [first, talk, ...more] = [...of('/start'), ...of(`/${general.id}/messages`)]
    assert.ok(talk.startTime < first.responseEnd, 'neither waits for the other')
    assert.deepEqual(more, [], 'and each is asked for once')
    assert.equal(await page.$eval('html', html => html.lang), 'de')
    assert.deepEqual(problems, [])
  })

  for (const [view, name] of [[WIDE, 'wide'], [PHONE, 'phone']]) {
    test(`${kind}, ${name}: Hebrew runs from right to left`, async t => {
      const server = await start(t)
      const ada = await account(server, 'ada', { first_name: 'Ada', last_name: 'King' })
      const { slug, general } = await organisation(ada)
      await ada.call('POST', `/channels/${general.id}/messages`, { content: '- אחד\n- two\n\n> English\n\n`code` 1, 2' })
      const { visitor } = await launch(t, kind)
      const { page, problems } = await visitor(view)
      await page.evaluateOnNewDocument(() => { if (location.protocol === 'http:') localStorage.setItem('tidings-language', 'he') })
      await page.goto(`${server.url}/sign-in?next=/o/${slug}/${general.id}`)
      await fill(page, 'כתובת דוא״ל', ada.email)
      await fill(page, 'סיסמה', PASSWORD)
      await press(page, 'כניסה')
      await sees(page, 'אחד')
      const { lang, dir, list, quote, side } = await page.evaluate(() => ({
        lang: document.documentElement.lang,
        dir: document.documentElement.dir,
        list: getComputedStyle(document.querySelector('.text ul')).direction,
        quote: getComputedStyle(document.querySelector('.text blockquote')).direction,
        side: getComputedStyle(document.querySelector('.text blockquote')).textAlign,
      }))
      assert.deepEqual({ lang, dir, list, quote, side }, { lang: 'he', dir: 'rtl', list: 'rtl', quote: 'ltr', side: 'start' })
      await accessible(page, `the talk in Hebrew, ${name}`)
      await picture(page, `hebrew-${kind}-${name}`)
      assert.deepEqual(problems, [])
    })
  }
}
