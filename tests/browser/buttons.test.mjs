// Buttons below what a bot has posted: what a press does, and what becomes of the message. In Chromium and Firefox.
import assert from 'node:assert/strict'
import test from 'node:test'
import { BROWSERS, PHONE, WIDE, accessible, byRole, enter, field, fill, launch, picture, press, sees, theme } from './lib/browser.mjs'
import { program } from './lib/program.mjs'
import { account, organisation, start } from './lib/server.mjs'

/** What is approved replaces the message; any other click is answered to whoever clicks. */
const answer = ({ data }) => data.value === 'yes'
  ? { replace_original: true, text: `**Build 7** is on its way to production, approved by @${data.username}.` }
  : { text: 'It waits for *two days* at most.' }

for (const kind of BROWSERS) {
  test(`buttons of a bot in ${kind}`, { timeout: 120_000 }, async t => {
    const server = await start(t, '--allow-private-webhooks', '127.0.0.0/8')
    const { url, got } = await program(t, answer)
    const [ada, grace] = await Promise.all([account(server, 'ada', { first_name: 'Ada', last_name: 'King' }),
      account(server, 'grace', { first_name: 'Grace', last_name: 'Holm' })])
    const harbour = await organisation(ada, [grace])
    const dock = (await ada.call('POST', '/channels', { name: 'dry-dock', organisation_id: harbour.id, userIds: [grace.id] })).id
    const { visitor } = await launch(t, kind)
    const { page, problems } = await visitor()

    await t.test('a bot with an address for clicks is made, and its secret shown once', async () => {
      await enter(page, server, ada, `${server.url}/settings/o/${harbour.slug}/bots`)
      await fill(page, 'Name', 'Build server')
      await fill(page, 'Username', 'builds')
      await fill(page, 'Address for clicks', url)
      if (kind === 'chrome') await picture(page, 'buttons-bot-new')
      await press(page, 'Make the bot')
      const shown = await field(page, 'Secret')
      assert.match(await shown.evaluate(each => each.value), /^whsec_/)
      await press(page, 'I have copied it')
      await sees(page, 'It signs the clicks')
      await accessible(page, 'the page of a bot')
      if (kind === 'chrome') await picture(page, 'buttons-bot')
    })

    const [bot] = await ada.call('GET', `/organisations/${harbour.id}/bots`)
    await ada.call('POST', `/channels/${dock}/users`, { user_ids: [bot.id] })
    const { token } = await ada.call('POST', `/users/${bot.id}/tokens`, { name: 'ci', scopes: ['read', 'post'] })
    const actions = [
      { label: 'Deploy to production', style: 'primary', value: 'yes' }, { label: 'Ask me later', value: 'later' },
      { label: 'Throw it away', style: 'danger', value: 'no' },
    ]
    await server.call('POST', `/channels/${dock}/messages`, { bearer: token, body: { content: '**Build 7** passed. What next?', actions } })

    await t.test('a press is answered to whoever presses, and replaces the message for all', async () => {
      await enter(page, server, grace, `${server.url}/o/${harbour.slug}/${dock}`)
      await sees(page, 'Ask me later')
      if (kind === 'chrome') {
        for (const [view, name, colours] of [[PHONE, 'phone', 'dark'], [WIDE, 'wide', 'light']]) {
          await page.setViewport(view)
          await theme(page, kind, colours)
          await picture(page, `buttons-${name}-${colours}`)
        }
      }
      await accessible(page, 'buttons')
      const later = await page.waitForSelector(byRole('button', 'Ask me later'))
      await later.focus()
      await page.keyboard.press('Enter')
      await sees(page, 'It waits for two days at most.')
      if (kind === 'chrome') await picture(page, 'buttons-answered')
      await press(page, 'Deploy to production')
      await sees(page, 'is on its way to production, approved by @Grace Holm')
      await page.waitForFunction(() => !document.querySelector('.actions'), { polling: 50 })
      if (kind === 'chrome') await picture(page, 'buttons-replaced')
      const clicks = got.map(({ type, data: { value, username } }) => [type, value, username])
      assert.deepEqual(clicks, ['later', 'yes'].map(value => ['action.clicked', value, 'grace']))
    })

    assert.deepEqual(problems, [])
  })
}
