// Pictures of people and logos of organisations, in Chromium and Firefox.
import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import test from 'node:test'
import { BROWSERS, accessible, enter, launch, pictures, press, sees } from './lib/browser.mjs'
import { png } from './lib/png.mjs'
import { account, organisation, scratch, start, until } from './lib/server.mjs'

for (const kind of BROWSERS) {
  test(`people show their pictures in ${kind}`, { timeout: 120_000 }, async t => {
    const server = await start(t)
    const [ada, grace] = await Promise.all([account(server, 'ada', { first_name: 'Ada', last_name: 'King' }),
      account(server, 'grace', { first_name: 'Grace', last_name: 'Holm' })])
    const harbour = await organisation(ada, [grace])
    const direct = (await ada.call('POST', `/organisations/${harbour.id}/dms`, { user_ids: [grace.id] })).id
    await ada.call('POST', `/channels/${direct}/messages`, { content: 'The tide is in.' })
    await grace.call('PATCH', '/profile', { avatar_url: 'https://example.org/grace.png' })
    const folder = await scratch(t)
    const path = join(folder, 'face.png')
    await writeFile(path, png(900, 600, true))
    const { visitor } = await launch(t, kind)
    const [own, others] = [await visitor(), await visitor()]
    const { page } = own
    await enter(others.page, server, grace, `${server.url}/o/${harbour.slug}/${direct}`)
    await sees(others.page, 'The tide is in.')
    await enter(page, server, ada, `${server.url}/settings/profile`)
    const choose = async file => {
      await (await page.waitForSelector('.face-setting input[type="file"]')).uploadFile(file)
    }
    const address = async () => (await ada.call('GET', '/profile')).avatar_url
    const shown = (where, each) => where.$$eval(each, all => all.map(one => one.complete && one.naturalWidth > 0))

    await t.test('it is cut to a square by keyboard, and everybody sees it at once', async () => {
      await sees(page, 'Choose a picture')
      await choose(path)
      const canvas = await page.waitForSelector('.crop canvas')
      const drawn = () => canvas.evaluate(one => [...one.getContext('2d').getImageData(250, 100, 1, 1).data].join())
      assert.equal(await drawn(), '70,130,180,255')
      await canvas.focus()
      for (let n = 0; n < 5; n += 1) await page.keyboard.press('ArrowRight')
      await page.keyboard.press('+')
      assert.equal(await drawn(), '70,130,180,255', 'to the right is more of the left side')
      for (let n = 0; n < 10; n += 1) await page.keyboard.press('ArrowLeft')
      assert.equal(await drawn(), '230,200,150,255')
      await accessible(page, 'the dialog that cuts a picture')
      await pictures(page, kind, 'crop')
      await press(page, 'Use this part')
      await until('it is set', async () => (await address()).startsWith(`${server.url}/api/v1/faces/`))
      await until('it is shown in the settings', async () => (await shown(page, '.face-setting .face img')).join() === 'true')
      await until('others see it in the talk', async () => (await shown(others.page, '.row .face img')).join() === 'true')
      await until('and in the list', async () => (await shown(others.page, '.lists .face img')).join() === 'true')
      await accessible(page, 'the profile with a picture')
      await pictures(page, kind, 'profile-picture')
      await pictures(others.page, kind, 'talk-with-faces')
    })

    await t.test('what is no picture is said to be none', async () => {
      await writeFile(join(folder, 'notes.png'), 'no picture')
      await choose(join(folder, 'notes.png'))
      await sees(page, 'This file can’t be read as a picture. Choose a JPEG, PNG, GIF or WebP file.')
    })

    await t.test('it is removed again', async () => {
      await press(page, 'Remove the picture')
      await until('it is gone', async () => await address() === '')
      await until('others see initials', async () => (await shown(others.page, '.row .face img, .lists .face img')).length === 0)
    })

    await t.test('an organisation has a logo', async () => {
      await page.goto(`${server.url}/settings/o/${harbour.slug}/general`)
      await sees(page, 'Logo')
      await choose(path)
      await page.waitForSelector('.crop canvas')
      await press(page, 'Use this part')
      await until('others see it beside its name', async () => (await shown(others.page, '.side-head .face img')).join() === 'true')
      await pictures(page, kind, 'logo')
    })
    assert.deepEqual([...own.problems, ...others.problems], [], 'nothing was asked elsewhere')
  })
}
