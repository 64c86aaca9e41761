// What people say that they do now, in Chromium and Firefox.
import assert from 'node:assert/strict'
import test from 'node:test'
import { BROWSERS, accessible, enter, launch, picture, pictures, sees, write } from './lib/browser.mjs'
import { account, organisation, start, until } from './lib/server.mjs'

for (const kind of BROWSERS) {
  test(`a status is said and seen in ${kind}`, { timeout: 120_000 }, async t => {
    const server = await start(t)
    const [ada, grace] = await Promise.all([account(server, 'ada', { first_name: 'Ada', last_name: 'King' }),
      account(server, 'grace', { first_name: 'Grace', last_name: 'Holm' })])
    const harbour = await organisation(ada, [grace])
    const direct = (await ada.call('POST', `/organisations/${harbour.id}/dms`, { user_ids: [grace.id] })).id
    await grace.call('POST', `/channels/${direct}/messages`, { content: 'Back on Monday.' })
    const { visitor } = await launch(t, kind)
    const { page, problems } = await visitor()
    await enter(page, server, ada, `${server.url}/o/${harbour.slug}/${direct}`)
    await sees(page, 'Back on Monday.')
    const own = async () => (await ada.call('GET', '/profile')).custom_status
    const signs = where => page.$$eval(`${where} .status-sign`, all => all.map(each => each.getAttribute('aria-label')))
    const shows = (where, expected) => until(`${where} shows ${expected}`, async () => JSON.stringify(await signs(where)) === JSON.stringify(expected))

    await t.test('of another one, at once and wherever they are named', async () => {
      await grace.call('PUT', '/profile/status', { emoji: '🌴', text: 'On holiday' })
      await shows('.lists', ['On holiday'])
      await shows('.row', ['On holiday'])
      assert.equal(await page.$eval('.bar .topic', each => each.textContent), '🌴 On holiday')
      await (await page.waitForSelector('.row .who')).click()
      await page.waitForSelector('.menu-head .status-line')
      if (kind === 'chrome') await picture(page, 'status-of-another')
      await page.keyboard.press('Escape')
    })

    await t.test('one’s own, in a dialog', async () => {
      await (await page.waitForSelector('.me-button')).click()
      await (await page.waitForSelector('.menu button:first-child')).click()
      await page.waitForSelector('dialog .status-box')
      await (await page.waitForSelector('dialog .chips button:first-child')).click()
      await accessible(page, 'the dialog of a status')
      await pictures(page, kind, 'status-dialog')
      await (await page.waitForSelector('dialog .button.primary')).click()
      await until('it is set', async () => (await own())?.text === 'In a meeting')
      const { emoji, until: ends } = await own()
      assert.equal(emoji, '🗓️')
      assert.ok(Math.abs(new Date(ends) - Date.now() - 3_600_000) < 60_000, ends)
      await until('it is shown', async () => (await signs('.me'))[0]?.startsWith('In a meeting, until '))
      await (await page.waitForSelector('.me-button')).click()
      await (await page.waitForSelector('.menu button:first-child')).click()
      await page.waitForSelector('dialog .status-box')
      assert.equal(await page.$eval('dialog input', each => each.value), 'In a meeting')
      await (await page.waitForSelector('dialog .form-buttons .button:not(.primary)')).click()
      await until('it is cleared', async () => await own() === null)
      await shows('.me', [])
    })

    await t.test('one’s own, in a line', async () => {
      await write(page, '/status 🚢 At sea')
      await until('it is set', async () => (await own())?.text === 'At sea')
      assert.equal((await own()).emoji, '🚢')
      await write(page, '/status Ashore')
      await until('it is set', async () => (await own())?.text === 'Ashore')
      await shows('.me', ['Ashore'])
      if (kind === 'chrome') await picture(page, 'status-own')
      await write(page, '/status clear')
      await until('it is cleared', async () => await own() === null)
      await write(page, '/status')
      await page.waitForSelector('dialog .status-box')
      await page.keyboard.press('Escape')
    })

    await t.test('in the list of people', async () => {
      const general = harbour.general.id ?? harbour.general.channels_id
      await page.goto(`${server.url}/o/${harbour.slug}/${general}?pane=members`)
      await page.waitForSelector('.people .status-line')
      if (kind === 'chrome') await picture(page, 'status-members')
      await grace.call('PUT', '/profile/status', {})
      await page.waitForFunction(() => !document.querySelector('.people .status-line'), { polling: 50 })
    })
    assert.deepEqual(problems, [])
  })
}
