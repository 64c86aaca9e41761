// One picture over the talk, with those before and after it, in Chromium and Firefox.
import assert from 'node:assert/strict'
import test from 'node:test'
import { BROWSERS, accessible, enter, launch, pictures, press, sees } from './lib/browser.mjs'
import { png } from './lib/png.mjs'
import { account, organisation, start, until } from './lib/server.mjs'

for (const kind of BROWSERS) {
  test(`pictures are looked at one by one in ${kind}`, { timeout: 120_000 }, async t => {
    const server = await start(t)
    const [ada, grace] = await Promise.all([account(server, 'ada', { first_name: 'Ada', last_name: 'King' }),
      account(server, 'grace', { first_name: 'Grace', last_name: 'Holm' })])
    const harbour = await organisation(ada, [grace])
    const direct = (await ada.call('POST', `/organisations/${harbour.id}/dms`, { user_ids: [grace.id] })).id
    const post = async (name, width, height, description) => {
      const form = new FormData()
      form.append('files', new Blob([png(width, height, true)]), name)
      const answer = await fetch(`${server.url}/api/v1/files/upload-files`, { method: 'POST', headers: { authorization: `Bearer ${grace.bearer}` }, body: form })
      const [{ id }] = (await answer.json()).data
      const { id: message } = await grace.call('POST', `/channels/${direct}/messages`, { content: '', media: [{ id, description }] })
      return { id, message }
    }
    const quay = await post('quay.png', 1600, 900, 'The quay in the morning')
    const crane = await post('crane.png', 600, 1400, '')
    const mast = await post('mast.png', 900, 900, 'A mast')
    const { visitor } = await launch(t, kind)
    const { page, problems } = await visitor()
    const talk = `${server.url}/o/${harbour.slug}/${direct}`
    await enter(page, server, ada, talk)
    await until('all three are in the talk', () => page.$$eval('.picture img', all => all.length === 3 && all.every(each => each.naturalWidth > 0)))
    const shown = () => page.$eval('.viewer-frame img', each => each.naturalWidth > 0 ? each.alt : '').catch(() => '')
    const shows = alt => until(`${alt} is shown`, async () => await shown() === alt)
    // The address follows a moment later, as "back" does.
    const closes = (address = talk) => until('it is closed', async () => (await page.$('.viewer')) === null && page.url() === address)

    await t.test('a press opens it, with who sent it and what it shows', async () => {
      await (await page.$$('.picture'))[1].click()
      await shows('crane.png')
      assert.equal(new URL(page.url()).searchParams.get('view'), crane.id)
      await sees(page, 'Grace Holm')
      await accessible(page, 'a picture over the talk')
      await press(page, 'Earlier picture')
      await shows('The quay in the morning')
      await sees(page, 'The quay in the morning')
      await pictures(page, kind, 'viewer')
    })

    await t.test('the keyboard goes on, enlarges and closes', async () => {
      await page.focus('.viewer-frame')
      await page.keyboard.press('ArrowRight')
      await shows('crane.png')
      await page.keyboard.press('ArrowRight')
      await shows('A mast')
      await page.keyboard.press('ArrowRight')
      await page.keyboard.press('ArrowLeft')
      await shows('crane.png')
      await page.focus('.viewer-frame')
      const transform = () => page.$eval('.viewer-frame img', each => each.style.transform)
      await page.keyboard.press('+')
      assert.match(await transform(), /scale\(1\.25\)/)
      await page.keyboard.press('ArrowLeft')
      assert.match(await transform(), /^translate\([1-9]/, 'an enlarged picture moves')
      await page.keyboard.press('0')
      assert.match(await transform(), / scale\(1\)$/)
      await page.keyboard.press('Escape')
      await closes()
    })

    await t.test('“back” closes it, and its address opens it', async () => {
      await (await page.$$('.picture'))[2].click()
      await shows('A mast')
      await page.goBack()
      await closes()
      await page.goto(`${talk}?view=${quay.id}`)
      await shows('The quay in the morning')
      await press(page, 'Close')
      await closes()
      await page.goto(`${talk}?view=01a2e6d1-0000-7000-8000-2e2cb2291de1`)
      await sees(page, 'This picture isn’t here any more.')
      await until('what is not there closes', () => page.url() === talk)
    })

    await t.test('it leads to its message', async () => {
      await page.goto(`${talk}?view=${mast.id}`)
      await shows('A mast')
      await press(page, 'Go to the message', 'link')
      await closes(`${talk}?m=${mast.message}`)
    })

    await t.test('the wheel enlarges it', async () => {
      await (await page.$$('.picture'))[0].click()
      await shows('The quay in the morning')
      await page.mouse.move(500, 400)
      await page.mouse.wheel({ deltaY: -300 })
      await until('it is larger', () => page.$eval('.viewer-frame', each => each.classList.contains('large')))
      await until('it comes as it is', () => page.$eval('.viewer-frame img', each => !each.src.includes('size=')))
    })

    await t.test('fingers go on to the next one, and make it larger', async () => {
      await page.goto(`${talk}?view=${quay.id}`)
      await shows('The quay in the morning')
      await page.waitForSelector('.viewer-newer:not([hidden])')
      const finger = await page.touchscreen.touchStart(500, 400)
      for (const x of [450, 400, 350]) await finger.move(x, 402)
      await finger.end()
      await shows('crane.png')
      const [one, other] = [await page.touchscreen.touchStart(480, 400), await page.touchscreen.touchStart(520, 400)]
      for (const apart of [40, 80, 120]) {
        await one.move(480 - apart, 400)
        await other.move(520 + apart, 400)
      }
      await until('it is larger', () => page.$eval('.viewer-frame', each => each.classList.contains('large')))
      await other.end()
      const transform = () => page.$eval('.viewer-frame img', each => each.style.transform)
      const before = await transform()
      await one.move(400, 400)
      await one.end()
      await until('one finger moves what two have made larger', async () => await transform() !== before)
      assert.equal(await shown(), 'crane.png')
      await press(page, 'Close')
      await closes()
    })

    await t.test('from right to left, the older one is on the right', async () => {
      const rtl = await visitor()
      await rtl.page.evaluateOnNewDocument(() => { if (location.protocol === 'http:') localStorage.setItem('tidings-language', 'he') })
      await enter(rtl.page, server, ada, `${talk}?view=${crane.id}`)
      await until('the crane is shown', () => rtl.page.$eval('.viewer-frame img', each => each.alt === 'crane.png').catch(() => false))
      await rtl.page.focus('.viewer-frame')
      await rtl.page.keyboard.press('ArrowRight')
      await until('the older one is shown', () => rtl.page.$eval('.viewer-frame img', each => each.alt === 'The quay in the morning'))
      await accessible(rtl.page, 'a picture over the talk, from right to left')
      await pictures(rtl.page, kind, 'viewer-he')
      assert.deepEqual(rtl.problems, [])
    })
    assert.deepEqual(problems, [])
  })
}
