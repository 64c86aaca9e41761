// Slash commands: the client's own, and one whose program answers, in Chromium and Firefox.
import assert from 'node:assert/strict'
import test from 'node:test'
import { BROWSERS, PHONE, WIDE, accessible, enter, launch, picture, sees, theme, write } from './lib/browser.mjs'
import { program } from './lib/program.mjs'
import { account, organisation, start, until } from './lib/server.mjs'

const COMPOSER = '.main .composer textarea'

const answer = ({ data }) => data.text.includes('production')
  ? { response_type: 'in_channel', text: 'Deployed to **production**' }
  : { text: `Deploying to *${data.text}*` }

for (const kind of BROWSERS) {
  test(`what begins with a slash in ${kind}`, { timeout: 120_000 }, async t => {
    const server = await start(t, '--allow-private-webhooks', '127.0.0.0/8')
    const { url, got } = await program(t, answer)
    const [ada, grace] = await Promise.all([account(server, 'ada', { first_name: 'Ada', last_name: 'King' }),
      account(server, 'grace', { first_name: 'Grace', last_name: 'Holm' })])
    const harbour = await organisation(ada, [grace])
    const dock = (await ada.call('POST', '/channels', { name: 'dry-dock', organisation_id: harbour.id })).id
    await ada.call('POST', `/organisations/${harbour.id}/commands`, { name: 'deploy', description: 'Deploys the main branch', hint: '[environment]', url })
    const { visitor } = await launch(t, kind)
    const { page, problems } = await visitor()
    await enter(page, server, ada, `${server.url}/o/${harbour.slug}/${dock}`)
    const field = await page.waitForSelector(COMPOSER)
    const messages = async () => (await server.call('GET', `/channels/${dock}/messages`, { bearer: ada.bearer })).messages.map(each => each.content)
    const answered = text => page.waitForFunction(text => document.querySelector('.answers')?.textContent.includes(text), { polling: 50 }, text)

    await t.test('they are suggested, and taken by Tab', async () => {
      await field.focus()
      await page.keyboard.type('/')
      await sees(page, 'Sets the topic of this channel')
      await page.waitForFunction(() => document.querySelector('.choices')?.textContent.includes('/deploy [environment]'), { polling: 50 })
      if (kind === 'chrome') await picture(page, 'commands-suggested')
      await page.keyboard.type('dep')
      await page.waitForFunction(() => document.querySelectorAll('.choices li').length === 1, { polling: 50 })
      await page.keyboard.press('Tab')
      assert.equal(await field.evaluate(each => each.value), '/deploy ')
    })

    await t.test('a program answers whoever called, or everybody', async () => {
      await page.keyboard.type('staging')
      await page.keyboard.press('Enter')
      await answered('Deploying to staging')
      assert.deepEqual(await messages(), [])
      assert.equal(got[0].data.text, 'staging')
      await server.call('POST', new URL(got[0].data.response_url).pathname.replace('/api/v1', ''), { body: { text: 'Deployed in *4* minutes' } })
      await answered('Deployed in 4 minutes')
      if (kind === 'chrome') await picture(page, 'commands-answered')
      await accessible(page, 'answers of commands')
      for (const left of [1, 0]) {
        await page.click('.answers button')
        // What is left moves, and would be missed before it stands.
        await page.waitForFunction(left => document.querySelectorAll('.answers li').length === left, { polling: 50 }, left)
      }
      await write(page, '/deploy production')
      await sees(page, 'Deployed to production')
      assert.deepEqual(await messages(), ['Deployed to **production**'])
    })

    await t.test('the own ones do what they say', async () => {
      await write(page, '/topic Who is in the dock')
      await answered('The topic is set.')
      assert.equal((await ada.call('GET', `/channels/${dock}`)).topic, 'Who is in the dock')
      await write(page, `/invite @${grace.username}`)
      await answered('One person is in the channel now.')
      assert.equal((await ada.call('GET', `/channels/${dock}`)).user_count, 2)
      await write(page, '/invite @nobody-of-that-name')
      await answered('Nobody here is called nobody-of-that-name.')
      const isMuted = async () => (await ada.call('GET', `/channels/${dock}`)).is_muted
      await write(page, '/mute')
      await answered('Muted: only mentions of you stand out here. Write /mute again to unmute.')
      assert.equal(await isMuted(), true)
      await page.waitForSelector('.place[aria-current] [aria-label="Muted"]')
      await write(page, '/mute')
      await answered('No longer muted.')
      assert.equal(await isMuted(), false)
      await write(page, '/me waves')
      await write(page, '/shrug Fog')
      await until('both are posted', async () => (await messages()).length === 3)
      assert.deepEqual((await messages()).slice(0, 2), ['Fog ¯\\\\\\_(ツ)\\_/¯', '_waves_'])
      await sees(page, 'Fog ¯\\_(ツ)_/¯')
      await write(page, '/help')
      await answered('Deploys the main branch')
    })

    await t.test('an unknown one is not posted, and a space makes it a message', async () => {
      await write(page, '/nothing at all')
      await answered('There is no command /nothing.')
      await write(page, ' /nothing at all')
      await write(page, '/etc/hosts is a file')
      await until('two messages more', async () => (await messages()).length === 5)
      assert.deepEqual((await messages()).slice(0, 2), ['/etc/hosts is a file', '/nothing at all'])
    })

    await t.test('on a phone in the dark', async () => {
      await theme(page, kind, 'dark')
      await page.setViewport(PHONE)
      if (kind === 'chrome') await picture(page, 'commands-phone')
      await page.setViewport(WIDE)
    })

    await t.test('one archives by a command, after a question', async () => {
      await write(page, '/archive')
      await (await page.waitForSelector('dialog .button:not(.primary):not(.danger)')).click()
      await page.waitForFunction(() => !document.querySelector('dialog'), { polling: 50 })
      assert.equal((await ada.call('GET', `/channels/${dock}`)).archived, false)
    })

    await t.test('one leaves by a command', async () => {
      await write(page, '/leave')
      await (await page.waitForSelector('dialog .danger')).click()
      await until('she has left', async () => (await grace.call('GET', `/channels/${dock}`)).user_count === 1)
    })
    assert.deepEqual(problems, [])
  })
}
