// Reminders, in Chromium and Firefox.
import assert from 'node:assert/strict'
import test from 'node:test'
import { BROWSERS, accessible, enter, launch, picture, pictures, sees, write } from './lib/browser.mjs'
import { account, organisation, start, until } from './lib/server.mjs'

const minutes = count => new Date(Date.now() + count * 60_000)

for (const kind of BROWSERS) {
  test(`reminders in ${kind}`, { timeout: 120_000 }, async t => {
    const server = await start(t)
    const ada = await account(server, 'ada', { first_name: 'Ada', last_name: 'King' })
    const harbour = await organisation(ada)
    const general = harbour.general.id
    await ada.call('POST', `/channels/${general}/messages`, { content: 'The pilot comes at noon.' })
    const { visitor } = await launch(t, kind)
    const { page, problems } = await visitor()
    await enter(page, server, ada, `${server.url}/o/${harbour.slug}/${general}`)
    await sees(page, 'The pilot comes at noon.')
    const all = async () => await ada.call('GET', '/reminders')
    const click = async selector => await (await page.waitForSelector(selector)).click()
    const near = (iso, date) => assert.ok(Math.abs(new Date(iso) - date) < 60_000, `${iso} is not ${date.toISOString()}`)

    await t.test('by a line', async () => {
      await write(page, '/remind 20m Call the pilot')
      await until('it is made', async () => (await all()).length === 1)
      const [made] = await all()
      assert.deepEqual([made.text, made.channel_id], ['Call the pilot', general])
      near(made.due_at, minutes(20))
      await page.waitForFunction(() => document.querySelector('.answers')?.textContent.includes('You will be reminded'), { polling: 50 })
      await write(page, '/remind some time')
      await page.waitForFunction(() => document.querySelector('.answers')?.textContent.includes('/remind [20m, 14:30 or tomorrow 9:00]'), { polling: 50 })
      assert.equal((await all()).length, 1)
    })

    await t.test('of a message, in a dialog', async () => {
      await (await page.waitForSelector('.row')).hover()
      await click('.row .tools [aria-haspopup]')
      await page.evaluate(() => [...document.querySelectorAll('.menu button')].find(each => each.textContent.includes('Remind me')).click())
      await page.waitForSelector('dialog .another-reminder')
      assert.equal(await page.$eval('dialog input[name="text"]', each => each.value), 'Ada King: The pilot comes at noon.')
      await page.select('dialog select', '60')
      await click('dialog .button.primary')
      await until('it is made', async () => (await all()).length === 2)
      near((await all())[1].due_at, minutes(60))
      await page.waitForFunction(() => document.querySelectorAll('dialog .reminders > li').length === 2, { polling: 50 })
      await page.select('dialog select', 'other')
      await page.waitForSelector('dialog input[type="datetime-local"]')
      await accessible(page, 'the dialog of reminders')
      await page.select('dialog select', '20')
      await page.keyboard.press('Escape')
    })

    await t.test('that is due, until it is done', async () => {
      const soon = { text: 'Hoist the flag', due_at: new Date(Date.now() + 1_500).toISOString(), channel_id: general }
      await ada.call('POST', '/reminders', soon)
      await page.waitForFunction(() => document.querySelector('.toast.shown')?.textContent.includes('Reminder: Hoist the flag'), { polling: 50 })
      await page.waitForFunction(() => document.title.startsWith('(1)'), { polling: 50 })
      await page.waitForFunction(() => document.querySelector('.lists')?.textContent.includes('1due reminder'), { polling: 50 })
      if (kind === 'chrome') await picture(page, 'reminder-due')
      await click('.toast button')
      await page.waitForSelector('dialog .reminders .due')
      await accessible(page, 'the dialog of reminders with one that is due')
      await pictures(page, kind, 'reminders')
      await click('dialog .due [aria-haspopup]')
      await click('.menu button:first-child')
      await until('it is put off', async () => (await all()).every(each => !each.is_due))
      near((await all()).find(each => each.text === 'Hoist the flag').due_at, minutes(20))
      for (const left of [2, 1, 0]) {
        await click('dialog .reminders > li:first-child > :last-child > button:last-child')
        await until('one is gone', async () => (await all()).length === left)
        await page.waitForFunction(left => document.querySelectorAll('dialog .reminders > li').length === left, { polling: 50 }, left)
      }
      await sees(page, 'You have no reminders.')
      await page.keyboard.press('Escape')
      await page.waitForFunction(() => !document.querySelector('.lists')?.textContent.includes('Reminders'), { polling: 50 })
    })
    assert.deepEqual(problems, [])
  })
}
