// Every way in ends in the talk, signed in by cookie; what is used up says so first. In Chromium and Firefox.
import assert from 'node:assert/strict'
import test from 'node:test'
import { certificates } from '../sdk/lib/certificates.mjs'
import { link, mailServer } from '../sdk/lib/mailserver.mjs'
import { CLIENT, SECRET, startProvider } from '../sdk/lib/provider.mjs'
import { BROWSERS, PHONE, WIDE, accessible, arrives, fill, launch, picture, press, sees, theme } from './lib/browser.mjs'
import { PASSWORD, account, logIn, organisation, start } from './lib/server.mjs'

const timeout = 120_000
const FRESH = 'a louder harbour at noon'
const TALK = /^\/o\/[^/]+\/[0-9a-f-]{36}/

/** Looks at a screen as on a phone and dark, then wide and light. In Chromium alone, since axe-core judges both browsers alike. */
async function look({ page }, kind, name) {
  if (kind === 'firefox') return
  await page.bringToFront()
  for (const [view, width, colours] of [[PHONE, 'phone', 'dark'], [WIDE, 'wide', 'light']]) {
    await page.setViewport(view)
    await theme(page, kind, colours)
    await picture(page, `entry-${name}-${width}-${colours}`)
    await accessible(page, `${name} ${width} ${colours}`)
  }
}

/**
 * A server, and a context of the browser. `step` is a test of one person in a new tab, which may have had no problem at its end. The browser forgets
 * who was signed in, and keeps the client's files: loading them anew for each person took most of the time.
 */
async function scene(t, kind, browser, ...flags) {
  // The server ends before the mail server, which waits for its connections.
  /** @type {Awaited<ReturnType<typeof start>> | undefined} */
  let server
  t.after(() => server?.stop())
  const mails = await mailServer(t)
  server = await start(t, '--mail-url', mails.url, ...flags)
  const { context, problems, another } = await browser.visitor()
  const step = (name, run) => t.test(name, async () => {
    const page = await another()
    const open = (address, tab = page) => tab.goto(new URL(address, server.url).href)
    await run({ page, another, open, look: (name, tab = page) => look({ page: tab }, kind, name) })
    // The identity provider's own page asks for a font.
    assert.deepEqual(problems.filter(problem => !problem.includes('fonts.googleapis')), [])
    await context.deleteCookie(...await context.cookies())
    await open('/sign-in')
    await forget(page)
    await page.close()
  })
  return { server, mails, step }
}

/** Who used the browser last is forgotten, too: their talk would be shown to the next person until the server says that nobody is signed in. */
const forget = page => page.evaluate(async () => {
  localStorage.clear()
  const done = request => new Promise((resolve, reject) => Object.assign(request, { onsuccess: () => resolve(request.result), onerror: reject }))
  for (const { name } of await indexedDB.databases()) {
    const database = await done(indexedDB.open(name))
    for (const store of database.objectStoreNames) await done(database.transaction(store, 'readwrite').objectStore(store).clear())
    database.close()
  }
})

/** The last of so many mails to an address: its link, and the code if there is one. */
async function mailed(mails, email, count = 1) {
  const mail = (await mails.mails(email, count))[count - 1]
  return { address: link(mail).href, code: /Your code is (\d{6})/.exec(mail.text)?.[1] }
}

/** The talk is there, and no script can read what keeps the session. */
async function assertIn({ page }) {
  await arrives(page, TALK)
  await page.waitForFunction(() => document.querySelector('main textarea'), { polling: 50 })
  assert.equal(await page.evaluate(() => document.cookie), '')
}

async function signIn(page, email, password = PASSWORD) {
  await fill(page, 'E-mail address', email)
  await fill(page, 'Password', password)
  await press(page, 'Sign in')
}

async function nameOneself(page, first, last) {
  await fill(page, 'First name', first)
  await fill(page, 'Last name', last)
}

test('every way in', { timeout: 3 * timeout, concurrency: 2 }, all => Promise.all(BROWSERS.map(kind => all.test(kind, async whole => {
  const browser = await launch(whole, kind)
  await whole.test('the first administrator sets the server up, and people sign in', { timeout }, async t => {
    const { server, mails, step } = await scene(t, kind, browser)
    const setup = /http\S+\/setup\?token=\S+/.exec(server.output())[0]

    await step('the first administrator', async person => {
      const { page, open, look } = person
      await open(setup)
      await sees(page, 'Set up Tidings')
      await look('setup')
      await nameOneself(page, 'Ada', 'King')
      await fill(page, 'E-mail address', 'ada@example.org')
      await fill(page, 'Password', PASSWORD)
      await fill(page, 'Name of the organisation', 'Harbour')
      await press(page, 'Create everything')
      await assertIn(person)
      await open(setup)
      await sees(page, 'This link has already been used')
      await look('setup-used')
    })

    await step('by password and keyboard, to where the person wanted to go', async person => {
      const { page, open, look, another } = person
      await open('/o/harbour')
      await sees(page, 'Sign in')
      await look('sign-in')
      await page.keyboard.type('ada@example.org')
      await page.keyboard.press('Tab')
      await page.keyboard.type('wrong')
      await page.keyboard.press('Enter')
      await sees(page, 'The e-mail address or the password isn’t right.')
      await look('sign-in-refused')
      await fill(page, 'Password', PASSWORD)
      await page.keyboard.press('Enter')
      await arrives(page, /^\/o\/harbour/)
      await assertIn(person)
      const tab = await another()
      await open('/sign-in', tab)
      await arrives(tab, TALK)
    })

    await step('never to another site', async ({ page, open }) => {
      const own = '/o/harbour?m=1#end'
      const others = ['//elsewhere.example', '/\\elsewhere.example', '/\t/elsewhere.example', 'https://elsewhere.example', 'o/harbour', '/sign-in?next=/', '']
      await open(`/sign-in?next=${encodeURIComponent(others[1])}`)
      await sees(page, 'Sign in')
      const paths = await page.evaluate(async addresses => {
        const { ownPath } = await import(new URL('screens/entry/memory.js', document.querySelector('script[type=module]').src).href)
        return addresses.map(ownPath)
      }, [own, ...others])
      assert.deepEqual(paths, [own, ...others.map(() => '/')])
      await signIn(page, 'ada@example.org')
      await arrives(page, TALK)
    })

    await step('by the code of a mail, and by its link', async person => {
      const { page, open, look, another } = person
      await open('/sign-in')
      await press(page, 'Sign in by e-mail', 'link')
      await look('by-mail')
      await fill(page, 'E-mail address', 'ada@example.org')
      await press(page, 'Send the e-mail')
      await sees(page, 'Enter its code')
      const { code, address } = await mailed(mails, 'ada@example.org')
      await fill(page, 'Six-digit code', code === '000000' ? '000001' : '000000')
      await press(page, 'Sign in')
      await page.waitForSelector('.error:not([hidden])')
      await look('code')
      const tab = await another()
      await open(address, tab)
      await sees(tab, 'You opened the link in our e-mail')
      await fill(page, 'Six-digit code', `${code.slice(0, 3)} ${code.slice(3)}`)
      await press(page, 'Sign in')
      await assertIn(person)
      await open(address, tab)
      await sees(tab, 'This link has already been used')
      await tab.close()
    })

    await step('by the link of a mail', async person => {
      const { page, open, look } = person
      await server.call('POST', '/auth/magic-link', { body: { email: 'ada@example.org' } })
      const { address } = await mailed(mails, 'ada@example.org', 2)
      await open(address)
      await sees(page, 'You opened the link in our e-mail')
      await look('magic-link')
      await press(page, 'Sign in')
      await assertIn(person)
      await open(address)
      await sees(page, 'This link has already been used')
      await look('magic-link-used')
    })

    await step('with a new password for the forgotten one', async person => {
      const { page, open, look } = person
      await open('/sign-in')
      await fill(page, 'E-mail address', 'ada@example.org')
      await press(page, 'Forgot your password?', 'link')
      await sees(page, 'set a new one')
      await look('forgotten')
      await press(page, 'Send the e-mail')
      await sees(page, 'an e-mail is on its way')
      await look('forgotten-mailed')
      const { address } = await mailed(mails, 'ada@example.org', 3)
      await open(address)
      await sees(page, 'Set a new password')
      await look('reset')
      await fill(page, 'New password', FRESH)
      await press(page, 'Set the password')
      await assertIn(person)
      await open(address)
      await sees(page, 'This link has already been used')
    })

    await step('by the link of a mail in another tab, to where the person wanted to go', async ({ page, open, another }) => {
      await open('/sign-in?next=/settings/sessions')
      await press(page, 'Sign in by e-mail', 'link')
      await fill(page, 'E-mail address', 'ada@example.org')
      await press(page, 'Send the e-mail')
      await sees(page, 'Enter its code')
      await open('/api/v1/features')
      const tab = await another()
      await open((await mailed(mails, 'ada@example.org', 5)).address, tab)
      await press(tab, 'Sign in')
      await arrives(tab, /^\/settings\/sessions$/)
      assert.deepEqual(await tab.evaluate(() => Object.keys(localStorage).filter(each => each.includes('entry'))), [])
      await tab.close()
    })

    await step('with an account and an organisation of one\'s own', async person => {
      const { page, open, look } = person
      await open('/sign-up')
      await sees(page, 'Create an account')
      await look('sign-up')
      await nameOneself(page, 'Grace', 'Holm')
      await fill(page, 'E-mail address', 'grace@example.org')
      await fill(page, 'Password', PASSWORD)
      await press(page, 'Create the account')
      await sees(page, 'Welcome, Grace Holm')
      await look('new-organisation')
      await press(page, 'Check again')
      await sees(page, 'You aren’t in an organisation yet.')
      await fill(page, 'Name of the organisation', 'Lighthouse')
      await press(page, 'Create the organisation')
      await arrives(page, /^\/o\/lighthouse/)
      const { address } = await mailed(mails, 'grace@example.org')
      await open(address)
      await sees(page, 'Confirm that grace@example.org is yours.')
      await look('verify-as')
      await press(page, 'Confirm the address')
      await assertIn(person)
      await open(address)
      await sees(page, 'This link has already been used')
      await look('verify-used')
    })

    await step('by verifying the address where nobody is signed in', async person => {
      const { page, open, look } = person
      await organisation(await account(server, 'ole'), [], 'Quay')
      const { address } = await mailed(mails, 'ole@example.org')
      await open(address)
      await sees(page, 'Is this your e-mail address?')
      await look('verify')
      await fill(page, 'E-mail address', 'ole@example.org')
      await fill(page, 'Password', PASSWORD)
      await press(page, 'Confirm the address')
      await assertIn(person)
    })

    await step('a link that nobody made', async ({ page, open }) => {
      for (const address of ['/auth/reset-password?token=nothing', '/auth/verify-email', '/setup?token=x', '/auth/login/magic-link?token=%00', '/join?token=x', '/accept_org_invitation']) {
        await open(address)
        await sees(page, 'This link is incomplete or too old')
      }
    })
  })

  await whole.test('invitations and join links lead into the talk', { timeout: 2 * timeout }, async t => {
    const { server, mails, step } = await scene(t, kind, browser)
    const [ada, ben, cora] = await Promise.all([account(server, 'ada', { first_name: 'Ada', last_name: 'King' }), account(server, 'ben'), account(server, 'cora')])
    const harbour = await organisation(ada, [])
    const invite = async (email, count) => {
      await ada.call('POST', '/invite', { org_id: harbour.id, emails: [email] })
      return (await mailed(mails, email, count)).address
    }
    const joinLink = async (more = {}) => (await ada.call('POST', `/organisations/${harbour.id}/join-links`, { uses: 2, ...more })).link

    await step('an invited person without an account', async person => {
      const { page, open, look } = person
      const address = await invite('dora@example.org', 1)
      await open(address)
      await sees(page, 'Join Harbour')
      await sees(page, 'Ada King')
      await sees(page, 'Member')
      await look('invitation-new')
      await nameOneself(page, 'Dora', 'Lind')
      await fill(page, 'Password', 'password')
      await press(page, 'Join')
      await page.waitForSelector('.error:not([hidden])')
      await look('invitation-refused')
      await fill(page, 'Password', PASSWORD)
      await press(page, 'Join')
      await arrives(page, /^\/o\/harbour/)
      await assertIn(person)
      // A member goes straight in; whoever isn't signed in reads why the link doesn't work.
      await open(address)
      await arrives(page, /^\/o\/harbour/)
      await page.evaluate(() => fetch('/api/v1/auth/logout', { method: 'POST', headers: { 'Tidings-Client': 'test' } }))
      await open(address)
      await sees(page, 'This link has already been used')
      await look('invitation-used')
      const { user } = (await server.call('POST', '/auth/login', { body: { email: 'dora@example.org', password: PASSWORD } })).data
      assert.deepEqual([user.fullname, user.is_verified], ['Dora Lind', true])
    })

    await step('an invited person with an account', async person => {
      const { page, open, look } = person
      await open(await invite('ben@example.org', 2))
      await sees(page, 'This address has an account')
      await look('invitation-known')
      await fill(page, 'Password', PASSWORD)
      await press(page, 'Sign in and join')
      await assertIn(person)
    })

    await step('an invited person who is signed in, after somebody else was', async person => {
      const { page, open, look } = person
      await open('/sign-in')
      await signIn(page, ben.email)
      await arrives(page, TALK)
      await open(await invite('cora@example.org', 2))
      await sees(page, 'you are signed in as ben@example.org')
      await look('invitation-other')
      await press(page, 'Sign out')
      await sees(page, 'This address has an account')
      await press(page, 'Sign in by e-mail', 'link')
      await sees(page, 'You need no password')
      await press(page, 'Send the e-mail')
      await sees(page, 'Enter its code')
      const { code } = await mailed(mails, 'cora@example.org', 3)
      await fill(page, 'Six-digit code', code)
      await press(page, 'Sign in')
      await sees(page, 'Join as cora')
      await look('invitation-as')
      await press(page, 'Join as cora')
      await assertIn(person)
    })

    await step('nowhere, at an address that is not the server\'s', async ({ page, open, look }) => {
      const other = await start(t, '--base-url', 'https://chat.example.org')
      await account(other, 'ada')
      await open(`http://localhost:${other.port}/sign-in`)
      await signIn(page, 'ada@example.org')
      await sees(page, 'Open https://chat.example.org instead.')
      await look('elsewhere')
    })

    await step('an invitation that was withdrawn', async ({ page, open, look }) => {
      const address = await invite('eve@example.org', 1)
      const [{ id }] = (await ada.call('GET', `/organisations/${harbour.id}/invites`)).invitations
      await ada.call('DELETE', `/invite/${id}`)
      await open(address)
      await sees(page, 'This link')
      assert.equal(await page.$('form'), null, 'no form that can only fail')
    })

    await step('a join link: new, known, used up', async person => {
      const { page, open, look, another } = person
      const address = await joinLink()
      await open(address)
      await sees(page, 'Join Harbour')
      await look('join')
      await nameOneself(page, 'Finn', 'Olsen')
      await fill(page, 'E-mail address', 'finn@example.org')
      await fill(page, 'Password', PASSWORD)
      await press(page, 'Join')
      await assertIn(person)
      await account(server, 'gus')
      await page.evaluate(() => fetch('/api/v1/auth/logout', { method: 'POST', headers: { 'Tidings-Client': 'test' } }))
      await open(address)
      await press(page, 'I have an account')
      await look('join-known')
      await fill(page, 'E-mail address', 'gus@example.org')
      await fill(page, 'Password', PASSWORD)
      await press(page, 'Sign in and join')
      await assertIn(person)
      const tab = await another()
      await open(address, tab)
      await arrives(tab, /^\/o\/harbour/)
      await page.evaluate(() => fetch('/api/v1/auth/logout', { method: 'POST', headers: { 'Tidings-Client': 'test' } }))
      await open(address, tab)
      await sees(tab, 'This link has already been used')
      await tab.close()
    })

    await step('a join link for a domain asks to verify the address first', async person => {
      const { page, open, look, another } = person
      await open(await joinLink({ domain: 'example.org' }))
      await sees(page, '@example.org')
      await nameOneself(page, 'Hanne', 'Berg')
      await fill(page, 'E-mail address', 'hanne@example.org')
      await fill(page, 'Password', PASSWORD)
      await press(page, 'Join')
      await sees(page, 'Check your e-mail')
      await look('verify-first')
      const tab = await another()
      await open((await mailed(mails, 'hanne@example.org')).address, tab)
      await sees(tab, 'Confirm that hanne@example.org is yours.')
      await look('verify-waiting', tab)
      // The first tab has the password, verifies the address, and joins.
      await press(tab, 'Confirm the address')
      await assertIn({ page: tab })
      await arrives(page, /^\/o\/harbour/)
      await tab.close()
    })

    for (const [name, way] of [
      ['link of a mail', async (page, tab, open) => {
        await press(page, 'Sign in by e-mail', 'link')
        await press(page, 'Send the e-mail')
        await sees(page, 'Enter its code')
        await open((await mailed(mails, 'ivar@example.org', 3)).address, tab)
        await press(tab, 'Sign in')
      }],
      ['new password', async (page, tab, open) => {
        await press(page, 'Forgot your password?', 'link')
        await sees(page, 'set a new one')
        await press(page, 'Send the e-mail')
        await sees(page, 'set a new password')
        await open((await mailed(mails, 'jon@example.org', 3)).address, tab)
        // Another address than the account's: the password is not asked for again.
        await fill(tab, 'E-mail address', 'nobody@example.org')
        await fill(tab, 'New password', FRESH)
        await press(tab, 'Set the password')
        await sees(tab, 'Your new password is set')
        await fill(tab, 'E-mail address', 'jon@example.org')
        await press(tab, 'Sign in')
      }],
    ]) {
      await step(`an invitation, by the ${name} in another tab`, async ({ page, open, another }) => {
        const person = name === 'new password' ? 'jon' : 'ivar'
        await account(server, person)
        await open(await invite(`${person}@example.org`, 2))
        await sees(page, 'This address has an account')
        const tab = await another()
        await way(page, tab, open)
        await sees(tab, `Join as ${person}`)
        assert.doesNotMatch(await tab.evaluate(() => JSON.stringify(localStorage)), /token/)
        await press(tab, `Join as ${person}`)
        await assertIn({ page: tab })
        await tab.close()
      })
    }
  })

  await whole.test('a server where members create organisations', { timeout }, async t => {
    const { server, mails, step } = await scene(t, kind, browser, '--registration', 'invited')
    const [, token] = /http\S+\/setup\?token=(\S+)/.exec(server.output())
    const root = { email: 'root@example.org', password: PASSWORD }
    const body = JSON.stringify({ token, ...root, first_name: 'Ada', last_name: 'King', organisation: 'Harbour' })
    const made = await fetch(`${server.url}/setup/administrator`, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body })
    assert.equal(made.status, 201)
    const ada = await logIn(server, root.email)
    const [harbour] = await ada.call('GET', '/users/organisations')

    await step('who is in none reads how to get into one, before and after', async person => {
      const { page, open, look } = person
      await ada.call('POST', '/invite', { org_id: harbour.id, emails: ['grace@example.org'] })
      await open('/sign-up')
      await nameOneself(page, 'Grace', 'Holm')
      await fill(page, 'E-mail address', 'grace@example.org')
      await fill(page, 'Password', PASSWORD)
      await press(page, 'Create the account')
      await sees(page, 'You aren’t in an organisation')
      await sees(page, 'Welcome, Grace Holm.')
      assert.equal(await page.$('input'), null, 'no form that can only fail')
      await look('alone')
      await press(page, 'Check again')
      await sees(page, 'You aren’t in an organisation yet.')
      await open((await mailed(mails, 'grace@example.org')).address)
      await press(page, 'Join as Grace Holm')
      await assertIn(person)
      const grace = await logIn(server, 'grace@example.org')
      await ada.call('DELETE', `/organisations/${harbour.id}/users/${grace.id}`)
      await sees(page, 'Grace Holm, you aren’t in an organisation any more')
      await look('gone')
    })

    await step('who is in one makes another', async person => {
      const { page, open } = person
      await open('/sign-in?next=/new-organisation')
      await signIn(page, root.email)
      await fill(page, 'Name of the organisation', 'Lighthouse')
      await press(page, 'Create the organisation')
      await arrives(page, /^\/o\/lighthouse/)
      await assertIn(person)
    })
  })

  await whole.test('a server of verified people, with an identity provider', { timeout }, async t => {
    const files = certificates(t)
    const provider = await startProvider(t, files)
    const { server, mails, step } = await scene(t, kind, browser, '--require-verified-email', '--oidc-client-id', CLIENT, '--oidc-client-secret', SECRET,
      '--oidc-issuer', provider.url, '--oidc-name', 'the harbour', '--ca-file', files.ca)
    provider.serve(`${server.url}/auth/oidc/callback`)

    await step('the provider', async person => {
      const { page, open, look } = person
      await open('/new-organisation')
      await press(page, 'Sign in', 'link')
      await sees(page, 'Continue with the harbour')
      await look('provider')
      await press(page, 'Continue with the harbour', 'link')
      await (await page.waitForSelector('[name=login]')).type('ada')
      await page.type('[name=password]', 'any')
      await Promise.all([page.waitForNavigation(), page.click('button[type=submit]')])
      await Promise.all([page.waitForNavigation(), page.click('button[type=submit]')])
      await sees(page, 'Your first organisation')
      await fill(page, 'Name of the organisation', 'Harbour')
      await press(page, 'Create the organisation')
      await assertIn(person)
    })

    await step('an account whose address is verified first', async person => {
      const { page, open, look, another } = person
      await open('/sign-up')
      await sees(page, 'Create an account')
      await nameOneself(page, 'Grace', 'Holm')
      await fill(page, 'E-mail address', 'grace@example.org')
      await fill(page, 'Password', PASSWORD)
      await press(page, 'Create the account')
      await sees(page, 'Check your e-mail')
      await press(page, 'I’ve opened the link')
      await page.waitForSelector('.error:not([hidden])')
      const tab = await another()
      await open('/sign-in', tab)
      await signIn(tab, 'grace@example.org')
      await tab.waitForSelector('.notice .button')
      await look('verify-first-early')
      await press(tab, 'Send another e-mail to confirm the address')
      await sees(tab, 'The e-mail is on its way')
      await tab.close()
      // The link is opened on another device.
      const token = new URL((await mailed(mails, 'grace@example.org', 2)).address).searchParams.get('token')
      await server.call('POST', '/auth/email-request/verify', { body: { token, password: PASSWORD } })
      await page.bringToFront()
      await press(page, 'I’ve opened the link')
      await sees(page, 'Your first organisation')
      await fill(page, 'Name of the organisation', 'Lighthouse')
      await press(page, 'Create the organisation')
      await assertIn(person)
    })
  })
}))))
