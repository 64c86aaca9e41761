// The settings, by keyboard and pointer: what is changed there is changed on the server, and every part is accessible.
import assert from 'node:assert/strict'
import test from 'node:test'
import { BROWSERS, PHONE, WIDE, accessible, launch, picture, pictures, sees, theme } from './lib/browser.mjs'
import { program } from './lib/program.mjs'
import { account, logIn, organisation, start, until } from './lib/server.mjs'

const OWN = ['profile', 'appearance', 'password', 'sessions', 'programs', 'organisations']
const NEW_PASSWORD = 'louder harbour at noon'
const SHARED = ['general', 'members', 'roles', 'invitations', 'channels', 'bots', 'commands', 'webhooks']

/** A server with an organisation of two, an archived channel, and a program that takes deliveries. */
async function world(t) {
  const receiver = await program(t)
  const server = await start(t, '--allow-private-webhooks', '127.0.0.0/8')
  const [ada, grace] = await Promise.all([
    account(server, 'ada', { first_name: 'Ada', last_name: 'King' }),
      account(server, 'grace', { first_name: 'Grace', last_name: 'Holm' }),
  ])
  const harbour = await organisation(ada, [grace])
  const old = await ada.call('POST', '/channels', { name: 'old-quay', organisation_id: harbour.id })
  await ada.call('PUT', `/channels/${old.id}/archive`, { archived: true })
  return { server, receiver, ada, grace, harbour, base: `${server.url}/settings/o/${harbour.slug}` }
}

/** Gives the page's browser the cookies of a new session. */
async function signIn(page, server, { email, password }) {
  const response = await fetch(`${server.url}/api/v1/auth/login`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', 'Tidings-Client': 'web' },
    body: JSON.stringify({ email, password, cookie: true }),
  })
  assert.equal(response.status, 200)
  const pairs = response.headers.getSetCookie().map(cookie => cookie.split(';')[0].split('='))
  const cookies = pairs.map(([name, value]) => ({ name, value, domain: '127.0.0.1', path: '/', httpOnly: true }))
  await page.browserContext().setCookie(...cookies)
}

/** The field of that label, in the dialog if one is open. Looking it up by its role takes Firefox a second, so this doesn't. */
const labelled = (page, label) => page.waitForFunction(label => {
  const around = document.querySelector('dialog[open]') ?? document
  return [...around.querySelectorAll('label')].find(each => each.firstElementChild?.textContent === label)?.control
}, { polling: 50 }, label)

/** Fills the field with that label, in place of what is in it. */
async function fill(page, label, text) {
  const field = await labelled(page, label)
  await field.evaluate((each, text) => {
    each.value = text
    each.dispatchEvent(new Event('input', { bubbles: true }))
  }, text)
}

const value = async (page, label) => (await labelled(page, label)).evaluate(field => field.value)

/** Presses the button of that name, in the dialog or menu if one is open. */
async function press(page, name) {
  await page.bringToFront() // pages behind another don't draw, and puppeteer waits for that
  const button = await page.waitForFunction(name => {
    const around = document.querySelector('.menu') ?? document.querySelector('dialog[open]') ?? document
    return [...around.querySelectorAll('button')].find(each => each.textContent === name)
  }, { polling: 50 }, name)
  await button.click()
}

/** Presses a button in the row that has the text. */
async function pressIn(page, text, name) {
  await page.bringToFront()
  const button = await page.waitForFunction((text, name) => {
    const row = [...document.querySelectorAll('.item')].find(each => each.textContent.includes(text))
    const named = each => (each.getAttribute('aria-label') ?? each.textContent).includes(name)
    return [...row?.querySelectorAll('button, a') ?? []].find(named)
  }, { polling: 50 }, text, name)
  await button.click()
}

const gone = (page, text) =>
  page.waitForFunction(text => !document.querySelector('.items')?.textContent.includes(text), { polling: 50 }, text)
const title = page =>
  page.waitForFunction(() => document.querySelector('.part h1') && !document.querySelector('.loading'), { polling: 50 })

for (const kind of BROWSERS) {
  test(`what is changed in the settings is changed on the server (${kind})`, { timeout: 180_000 }, async t => {
    const { server, receiver, ada, grace, harbour, base } = await world(t)
    const { visitor } = await launch(t, kind)
    const { page, problems } = await visitor()
    await signIn(page, server, ada)

    await t.test('a changed name is there after the page was loaded again', async () => {
      await page.goto(`${server.url}/settings/profile`)
      await fill(page, 'First name', 'Augusta')
      await press(page, 'Save')
      await sees(page, 'Saved.')
      await page.reload()
      await title(page)
      assert.equal(await value(page, 'First name'), 'Augusta')
    })

    await t.test('a refusal stands at its field', async () => {
      await fill(page, 'Username', 'grace')
      await press(page, 'Save')
      await page.waitForSelector('input[name="username"][aria-invalid]')
      assert.equal(await page.evaluate(() => document.activeElement?.getAttribute('name')), 'username')
    })

    await t.test('no mail is offered where the server sends none, and what is open is marked in the list', async () => {
      await page.goto(`${server.url}/settings`)
      await sees(page, 'not confirmed')
      await page.waitForFunction(() => document.querySelector('.settings-nav [aria-current]')?.pathname === '/settings/profile', { polling: 50 })
      await page.waitForFunction(() => !document.querySelector('.part-section .loading'), { polling: 50 })
      assert.ok(!await page.evaluate(() => document.body.innerText.includes('Send the e-mail again')))
    })

    await t.test('the theme and the language are kept in the browser', async () => {
      await page.goto(`${server.url}/settings/appearance`)
      await (await page.waitForSelector('input[value="dark"]')).click()
      await (await page.waitForSelector('input[value="de"]')).click()
      await sees(page, 'Sprache des Browsers')
      assert.equal(await page.evaluate(() => document.activeElement?.value), 'de', 'the choice keeps the focus')
      await page.reload()
      await sees(page, 'Sprache des Browsers')
      assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), 'dark')
      await (await page.waitForSelector('input[value="en"]')).click()
      await sees(page, 'Same as the browser')
      await (await page.waitForSelector('input[value="system"]')).click()
    })

    await t.test('another session ends', async () => {
      const other = await logIn(server, ada.email)
      await page.goto(`${server.url}/settings/sessions`)
      await sees(page, 'this device')
      const before = await page.$$eval('.item', rows => rows.length)
      await press(page, 'End')
      await (await page.waitForSelector('dialog .danger')).click()
      await sees(page, 'Session ended.')
      await page.waitForFunction(count => document.querySelectorAll('.item').length === count, { polling: 50 }, before - 1)
      await assert.rejects(other.call('GET', '/profile'), /401/)
      assert.notEqual(await page.evaluate(() => document.activeElement?.tagName), 'BODY', 'the focus is not lost')
    })

    await t.test('a program gets a token that is shown once, and acts by it until it is ended', async () => {
      await page.goto(`${server.url}/settings/programs`)
      await sees(page, 'No program acts as you.')
      await fill(page, 'Program', 'Tide gauge')
      await page.locator('.settings-more summary').click() // asks again where the part is drawn anew
      await (await page.waitForSelector(`input[value="${harbour.general.id}"]`)).click()
      await press(page, 'Make the token')
      const token = await page.waitForFunction(() => document.querySelector('.copyable input')?.value, { polling: 50 }).then(found => found.jsonValue())
      await sees(page, 'one channel only')
      if (kind === 'chrome') await picture(page, 'settings-programs-made')
      const says = content => server.call('POST', `/channels/${harbour.general.id}/messages`, { bearer: token, body: { content } })
      assert.equal((await says('Low water at six')).data.user_id, ada.id)
      await page.reload()
      await sees(page, 'Tide gauge')
      assert.ok(!await page.evaluate(token => document.documentElement.outerHTML.includes(token), token))
      await press(page, 'End')
      await (await page.waitForSelector('dialog .danger')).click()
      await sees(page, 'Token ended.')
      await sees(page, 'No program acts as you.')
      await assert.rejects(says('High water at noon'), /401/)
    })

    await t.test('a bot is made, gets a token, posts as a bot, and is removed for good', async () => {
      await page.goto(`${base}/bots`)
      await sees(page, 'There are no bots yet.')
      await fill(page, 'Name', 'Tide watch')
      await fill(page, 'What it is for', 'Says when the tide turns')
      await press(page, 'Make the bot')
      await sees(page, 'Its program uses a token')
      await fill(page, 'Program', 'the gauge at the quay')
      await press(page, 'Make the token')
      const token = await page.waitForFunction(() => document.querySelector('.copyable input')?.value, { polling: 50 }).then(found => found.jsonValue())
      if (kind === 'chrome') await picture(page, 'settings-bot')
      const { data: [bot] } = await server.call('GET', `/organisations/${harbour.id}/bots`, { bearer: ada.bearer })
      await ada.call('POST', `/channels/${harbour.general.id}/users`, { user_ids: [bot.id] })
      const says = content => server.call('POST', `/channels/${harbour.general.id}/messages`, { bearer: token, body: { content } })
      await says('The tide turns')
      await page.goto(`${server.url}/o/${harbour.slug}/${harbour.general.id}`)
      await page.waitForFunction(() => [...document.querySelectorAll('.row')].some(row =>
        row.textContent.includes('The tide turns') && row.querySelector('.tag')?.textContent === 'Bot'), { polling: 50 })
      if (kind === 'chrome') await picture(page, 'bot-in-channel')
      await page.goto(`${base}/members`)
      await page.waitForFunction(() => [...document.querySelectorAll('.item')].some(row =>
        row.textContent.includes('@tide-watch') && !row.textContent.includes('bot.invalid')), { polling: 50 })
      await page.goto(`${base}/bots`)
      await (await page.waitForSelector('.item a')).click()
      await fill(page, 'Name', 'Tides')
      await press(page, 'Save')
      await sees(page, 'Saved.')
      await press(page, 'Remove the bot')
      await (await page.waitForSelector('dialog .danger')).click()
      await sees(page, 'There are no bots yet.')
      await assert.rejects(says('The tide turned'), /401/)
    })

    await t.test('a command is made, shows its secret once, is changed and deleted', async () => {
      await page.goto(`${base}/commands`)
      await sees(page, 'There are no commands yet.')
      await fill(page, 'Name, after the slash', '/Tide')
      await fill(page, 'Address of its program', receiver.url)
      await press(page, 'Make the command')
      const secret = await page.waitForFunction(() => document.querySelector('dialog .copyable input')?.value, { polling: 50 }).then(found => found.jsonValue())
      assert.ok(secret.startsWith('whsec_'))
      await (await page.waitForSelector('dialog .primary')).click()
      await sees(page, 'Calls are signed with it')
      await fill(page, 'What it does', 'Says how high the water is')
      if (kind === 'chrome') await picture(page, 'settings-command')
      await press(page, 'Save')
      await sees(page, 'Saved.')
      const { data: [command] } = await server.call('GET', `/organisations/${harbour.id}/commands`, { bearer: ada.bearer })
      assert.deepEqual([command.name, command.description, command.form], ['tide', 'Says how high the water is', 'json'])
      await press(page, 'Delete')
      await (await page.waitForSelector('dialog .danger')).click()
      await sees(page, 'There are no commands yet.')
    })

    await t.test('a wrong password is refused, a right one ends other sessions only', async () => {
      const other = await logIn(server, ada.email)
      await page.goto(`${server.url}/settings/password`)
      await fill(page, 'Current password', 'certainly wrong')
      await fill(page, 'New password', NEW_PASSWORD)
      await press(page, 'Change password')
      await page.waitForFunction(() => [...document.querySelectorAll('.error')].some(each => !each.hidden), { polling: 50 })
      await fill(page, 'Current password', ada.password)
      await press(page, 'Change password')
      await sees(page, 'Your other sessions have ended.')
      await assert.rejects(other.call('GET', '/profile'), /401/)
      await page.goto(`${server.url}/settings/sessions`)
      await sees(page, 'this device')
      ada.call = (await logIn(server, ada.email, NEW_PASSWORD)).call
    })

    await t.test('a role with rights is made and given to a member', async () => {
      await page.goto(`${base}/roles`)
      await press(page, 'New role')
      await fill(page, 'Name', 'Pilot')
      await accessible(page, 'the rights of a role')
      if (kind === 'chrome') await picture(page, 'settings-role')
      await (await page.waitForSelector('input[value="can_post_messages"]')).click()
      await (await page.waitForSelector('input[value="can_invite_members"]')).click()
      await press(page, 'Save')
      await sees(page, 'Write messages · Invite people')
      await page.goto(`${base}/members`)
      await pressIn(page, 'Grace Holm', 'More about')
      await press(page, 'Change role')
      const select = await page.waitForSelector('dialog select')
      await select.select(await select.evaluate(each => [...each.options].find(option => option.text === 'Pilot').value))
      await press(page, 'Save')
      await page.waitForFunction(() => [...document.querySelectorAll('.item-role')].some(each => each.textContent === 'Pilot'),
        { polling: 50 })
      const members = await ada.call('GET', `/organisations/${harbour.id}/users`)
      assert.equal(members.find(member => member.id === grace.id).role_name, 'Pilot')
    })

    await t.test('an invitation is made and cancelled', async () => {
      await page.goto(`${base}/invitations`)
      await fill(page, 'E-mail addresses', 'Tove <tove@example.org>, grace@example.org')
      await press(page, 'Invite')
      await sees(page, 'This address could not be invited:')
      assert.equal(await value(page, 'E-mail addresses'), 'grace@example.org')
      await pressIn(page, 'tove@example.org', 'Cancel invitation')
      await gone(page, 'tove@example.org')
      assert.deepEqual((await ada.call('GET', `/organisations/${harbour.id}/invites`)).invitations, [])
    })

    await t.test('a join link is made and deleted', async () => {
      const links = () => ada.call('GET', `/organisations/${harbour.id}/join-links`)
      const before = (await links()).length
      await fill(page, 'How many may join', '3')
      await press(page, 'Create link')
      assert.match(await value(page, 'The new link'), /^http.*\/join/)
      await pressIn(page, '0 of 3', 'Delete')
      await until('the link is gone', async () => (await links()).length === before)
    })

    await t.test('an archived channel comes back', async () => {
      await page.goto(`${base}/channels`)
      await pressIn(page, 'old-quay', 'Unarchive')
      await sees(page, 'No channel is archived.')
      const channels = await ada.call('GET', `/organisations/${harbour.id}/channels`)
      assert.ok(channels.some(channel => channel.name === 'old-quay' && !channel.archived))
    })

    await t.test('a webhook is made, tried, and sends again', async () => {
      await page.goto(`${base}/webhooks/${harbour.general.id}`)
      await fill(page, 'Name', 'mirror')
      await fill(page, 'Deliver to', receiver.url)
      await (await page.waitForSelector('input[value="reaction.added"]')).click()
      await fill(page, 'Only messages that begin with', 'deploy\n\n  the fram ')
      await press(page, 'Create webhook')
      await page.waitForSelector('dialog')
      assert.match(await value(page, 'Secret'), /^whsec_/)
      await accessible(page, 'the secret of a webhook')
      if (kind === 'chrome') await picture(page, 'settings-secret')
      // As on a page of plain http, where browsers give no clipboard.
      await page.evaluate(() => Object.defineProperty(navigator, 'clipboard', { value: undefined }))
      await press(page, 'Copy')
      await sees(page, 'Press Ctrl+C to copy what is selected.')
      assert.match(await page.evaluate(() => getSelection().toString() || document.activeElement.value), /^whsec_/)
      await press(page, 'I have copied it')
      await pressIn(page, 'mirror', 'mirror')
      await press(page, 'Send a test')
      await sees(page, 'The receiver accepted the test.')
      await sees(page, 'done · 204')
      await ada.call('POST', `/channels/${harbour.general.id}/messages`, { content: 'It rains' })
      await ada.call('POST', `/channels/${harbour.general.id}/messages`, { content: 'The Fram arrives at six' })
      const [{ events, trigger_words: words }] = await ada.call('GET', `/webhooks/${harbour.general.id}/all`).then(({ webhooks }) => webhooks)
      assert.deepEqual([events, words], [['message.created', 'reaction.added'], ['deploy', 'the fram']])
      const delivered = () => receiver.got.filter(each => each.type === 'message.created')
      await until('the message is delivered', () => delivered().length === 1)
      // The attempt is recorded after the answer.
      await until('the history shows it', async () => {
        await press(page, 'Refresh')
        return page.evaluate(() => [...document.querySelectorAll('.item')].some(each => each.textContent.includes('Delivery')))
      })
      await pressIn(page, 'Delivery', 'Send again')
      await until('it is delivered again', () => delivered().length === 2)
      assert.equal(delivered()[0].id, delivered()[1].id)
      await press(page, 'New secret')
      await sees(page, 'For a day, deliveries are signed with both secrets.')
      await press(page, 'New secret')
      await sees(page, 'The previous secret also stays valid until')
      assert.match(await value(page, 'Secret'), /^whsec_/)
      await pictures(page, kind, 'settings-secret-renewed')
      await press(page, 'I have copied it')
      await press(page, 'Pause')
      await sees(page, 'keeps its deliveries for up to 30 days')
      await fill(page, 'Secret of the program', 'a secret of two')
      await press(page, 'Require signatures')
      await sees(page, 'This isn’t right. Please check it.')
      await fill(page, 'Secret of the program', 'a-secret-of-both')
      await press(page, 'Require signatures')
      await sees(page, 'Only signed posts are accepted.')
      if (kind === 'chrome') await (await page.$('[name=sender_secret]')).evaluate(each => each.scrollIntoView({ block: 'end' }))
      if (kind === 'chrome') await picture(page, 'settings-webhook')
      await press(page, 'Accept unsigned posts')
      await press(page, 'Accept unsigned posts')
      await page.waitForFunction(() => !document.body.innerText.includes('Only signed posts are accepted.'), { polling: 50 })
      await press(page, 'Delete')
      await (await page.waitForSelector('dialog .danger')).click()
      await sees(page, 'This channel has no webhook yet.')
    })

    await t.test('what a role may not do is not shown', async () => {
      const { page } = await visitor()
      await signIn(page, server, grace)
      await page.goto(`${base}/members`)
      await sees(page, 'Grace Holm')
      const parts = await page.$$eval('.settings-nav a', links => links.map(link => link.pathname.split('/').at(-1)))
      assert.ok(parts.includes('invitations') && !parts.includes('roles') && !parts.includes('general'), String(parts))
      assert.equal(await page.$('.item .icon-button'), null)
      await page.goto(`${base}/roles`)
      await sees(page, 'your role doesn’t include them')
    })

    await t.test('a part that could not be loaded says so, and is loaded when asked again', async () => {
      const { page } = await visitor()
      await signIn(page, server, { ...ada, password: NEW_PASSWORD })
      await page.evaluateOnNewDocument(() => {
        const { fetch } = globalThis
        let isFirst = true
        globalThis.fetch = async (address, ...rest) => {
          if (!String(address).includes('/sessions') || !isFirst) return fetch(address, ...rest)
          isFirst = false
          throw new TypeError('no network')
        }
      })
      await page.goto(`${server.url}/settings/sessions`)
      await sees(page, 'The server can’t be reached.')
      await press(page, 'Try again')
      await sees(page, 'this device')
      await page.close()
    })

    await t.test('each organisation leads to its own settings', async () => {
      await ada.call('POST', '/organisations', { name: 'Lighthouse' })
      await page.goto(`${server.url}/settings/organisations`)
      await pressIn(page, 'Harbour', 'Settings')
      await sees(page, 'Grace Holm')
      const addresses = await page.$$eval('.settings-nav a', links => links.map(link => link.pathname))
      assert.ok(addresses.includes(`/settings/o/${harbour.slug}/roles`), String(addresses))
    })

    await t.test('a member leaves', async () => {
      const tove = await account(server, 'tove')
      const { token } = await ada.call('POST', `/organisations/${harbour.id}/join-links`, { uses: 1 })
      await tove.call('POST', '/join', { token })
      const { page } = await visitor()
      await signIn(page, server, tove)
      await page.goto(`${server.url}/settings/organisations`)
      await pressIn(page, 'Harbour', 'Leave')
      await press(page, 'Leave')
      await sees(page, 'You have left Harbour.')
      await assert.rejects(tove.call('GET', `/organisations/${harbour.id}`), /404/)
      await page.close()
    })

    await t.test('a member is deactivated, and activated again', async () => {
      const status = async () => (await ada.call('GET', `/organisations/${harbour.id}/users?ids=${grace.id}`))[0].status
      await page.goto(`${base}/members`)
      await pressIn(page, 'Grace Holm', 'More about')
      await press(page, 'Deactivate')
      await press(page, 'Deactivate')
      await sees(page, 'deactivated')
      assert.equal(await status(), 'deactivated')
      await pressIn(page, 'Grace Holm', 'More about')
      await press(page, 'Activate again')
      await until('Grace is active', async () => await status() === 'active')
    })

    await t.test('the organisation is renamed, handed over, and deleted by its new owner', async () => {
      await page.goto(`${base}/general`)
      await fill(page, 'Name', 'Old Harbour')
      await press(page, 'Save')
      await page.waitForFunction(() => document.querySelector('.settings-nav').textContent.includes('Old Harbour'), { polling: 50 })
      await press(page, 'Hand over')
      const choice = await page.waitForSelector(`dialog input[value="${grace.id}"]`)
      await accessible(page, 'the choice of a new owner')
      await choice.click()
      await press(page, 'Hand over')
      // What the former owner may no longer do goes by itself.
      await page.waitForFunction(() => !document.querySelector('.button.danger'), { polling: 50 })
      const { page: other } = await visitor()
      await signIn(other, server, grace)
      await other.goto(`${base}/general`)
      await press(other, 'Delete the organisation')
      await fill(other, 'To go on, type Old Harbour', 'Old')
      await press(other, 'Delete the organisation')
      assert.ok(await other.$('dialog input:invalid'), 'another name is not enough')
      await fill(other, 'To go on, type Old Harbour', 'Old Harbour')
      await press(other, 'Delete the organisation')
      await sees(other, 'Old Harbour is deleted.')
      await assert.rejects(grace.call('GET', `/organisations/${harbour.id}`), /404/)
    })

    assert.deepEqual(problems, [])
  })

  test(`every part is accessible, light and dark, wide and narrow (${kind})`, { timeout: 180_000 }, async t => {
    const { server, receiver, ada, harbour, base } = await world(t)
    await ada.call('POST', '/invite', { org_id: harbour.id, emails: ['tove@example.org'] })
    await ada.call('POST', `/organisations/${harbour.id}/roles`,
      { name: 'Pilot', description: 'Brings ships in', permission_list: { 'post:messages': true } })
    await ada.call('POST', `/organisations/${harbour.id}/join-links`, { uses: 5 })
    const hook = await ada.call('POST', `/webhooks/${harbour.general.id}`, { webhook_name: 'mirror', webhook_url: receiver.url })
    await ada.call('POST', `/webhooks/${harbour.general.id}/${hook.id}/test`)
    await ada.call('POST', `/users/${ada.id}/tokens`, { name: 'Tide gauge', scopes: ['read', 'post'], expires_at: '2035-01-01T00:00:00Z' })
    const deep = [`webhooks/${harbour.general.id}`, `webhooks/${harbour.general.id}/${hook.id}`]
    const parts = [...OWN.map(part => [`${server.url}/settings/${part}`, part]),
      ...[...SHARED, ...deep].map(part => [`${base}/${part}`, part])]
    const { visitor } = await launch(t, kind)
    const { page, problems } = await visitor()
    await signIn(page, server, ada)
    await page.goto(`${server.url}/settings/profile`)
    await title(page)
    for (const [address, part] of [[`${server.url}/settings`, 'list'], ...parts]) {
      await page.evaluate(address => {
        history.pushState(null, '', address)
        dispatchEvent(new PopStateEvent('popstate'))
      }, address)
      await title(page)
      for (const [view, width] of [[WIDE, 'wide'], [PHONE, 'phone']]) {
        await page.setViewport(view)
        for (const colours of ['light', 'dark']) {
          await theme(page, kind, colours)
          // Colours that still change would be measured.
          await page.evaluate(() => { for (const each of document.getAnimations()) each.finish() })
          await accessible(page, `${part} ${width} ${colours}`)
          const name = part.replace(harbour.general.id, 'channel').replace(hook.id, 'hook').replaceAll('/', '-')
          if (kind === 'chrome') await picture(page, `settings-${name}-${width}-${colours}`)
        }
      }
    }
    assert.deepEqual(problems, [])
  })
}
