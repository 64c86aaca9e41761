// Mails over a real SMTP server, from the request through the link to its result; and the pages behind the links.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import test from 'node:test'
import { open, shots } from './lib/browser.mjs'
import { certificates } from './lib/certificates.mjs'
import { link, mailServer } from './lib/mailserver.mjs'
import { freePort, person, start, until } from './lib/server.mjs'

const timeout = 120_000
const password = 'quiet harbour at dawn'

const token = mail => link(mail).searchParams.get('token')

/** Walks registration, verification, magic link, reset and invitation, each to its result. */
async function walk(server, mails, check) {
  const email = 'ada@example.org'
  await server.call('POST', '/auth/register', { body: { email, password, username: 'ada' } })
  const [verification] = await mails.mails(email, 1)
  assert.equal(verification.subject, 'Verify your e-mail address')
  assert.equal(link(verification).origin + link(verification).pathname, `${server.url}/auth/verify-email`)
  await server.call('POST', '/auth/email-request/verify', { body: { token: token(verification) } })

  await server.call('POST', '/auth/magic-link', { body: { email } })
  const [, magic] = await mails.mails(email, 2)
  assert.equal(link(magic).pathname, '/auth/login/magic-link')
  const entered = (await server.call('POST', '/auth/magic-link/verify', { body: { token: token(magic) } })).data
  assert.deepEqual([entered.user.email, entered.user.is_verified], [email, true])

  await server.call('POST', '/auth/password-reset', { body: { email } })
  const [, , reset] = await mails.mails(email, 3)
  assert.equal(link(reset).pathname, '/auth/reset-password')
  const fresh = 'a louder harbour at noon'
  await server.call('POST', '/auth/password-reset/verify', { body: { token: token(reset), new_password: fresh } })
  const [, , , changed] = await mails.mails(email, 4)
  assert.equal(changed.subject, 'Your password was changed')
  const { access_token: bearer } = (await server.call('POST', '/auth/login', { body: { email, password: fresh } })).data

  const organisation = (await server.call('POST', '/organisations', { bearer, body: { name: 'Harbour & Söhne' } })).data.id
  const guest = 'grace@example.org'
  await server.call('POST', '/invite', { bearer, body: { org_id: organisation, emails: [guest] } })
  const [invitation] = await mails.mails(guest, 1)
  assert.equal(invitation.subject, 'ada invites you to Harbour & Söhne')
  assert.equal(link(invitation).pathname, '/accept_org_invitation')
  assert.equal(link(invitation).searchParams.get('org_id'), organisation)
  const body = { token: link(invitation).searchParams.get('invitation_token') }
  const joined = (await server.call('POST', '/invite/verify', { body })).data
  assert.deepEqual([joined.user.email, joined.user.current_org], [guest, organisation])

  for (const mail of mails.received()) {
    const header = name => mail.headers.filter(({ key }) => key === name).map(({ value }) => value)
    assert.equal(header('message-id').length, 1)
    assert.match(header('message-id')[0], /^<[0-9a-f-]{36}@example\.com>$/)
    assert.ok(Math.abs(Date.parse(header('date')[0]) - Date.now()) < 60_000, header('date')[0])
    assert.equal(mail.from.address, 'chat@example.com')
    assert.deepEqual(header('auto-submitted'), ['auto-generated'])
    const unasked = mail === invitation ? ['<mailto:chat@example.com?subject=unsubscribe>'] : []
    assert.deepEqual(header('list-unsubscribe'), unasked)
    check(mail)
  }
  assert.equal(new Set(mails.received().map(mail => mail.messageId)).size, mails.received().length)
}

const from = ['--mail-from', 'Tidings <chat@example.com>']

test('mails over plain SMTP lead to their results', { timeout }, async t => {
  const mails = await mailServer(t)
  const server = await start(t, '--mail-url', mails.url, ...from)
  await walk(server, mails, mail => assert.equal(mail.secure, false))
  await server.stop()
})

for (const tls of ['starttls', 'implicit']) {
  test(`mails over ${tls} TLS, with a login, lead to their results`, { timeout }, async t => {
    const { ca, key, cert } = certificates(t)
    const mails = await mailServer(t, { tls, key, cert, login: true })
    const server = await start(t, '--mail-url', mails.url, '--ca-file', ca, ...from)
    await walk(server, mails, mail => assert.deepEqual([mail.secure, mail.user], [true, 'tidings']))
    await server.stop()
  })
}

test('a server that nobody vouches for, or without TLS, is told nothing', { timeout }, async t => {
  const { key, cert } = certificates(t)
  for (const options of [{ tls: 'starttls', key, cert }, { tls: 'implicit', key, cert }, { tls: 'none' }]) {
    const mails = await mailServer(t, { ...options, login: true })
    const server = await start(t, '--mail-url', mails.url.replace('?tls=none', ''))
    await server.call('POST', '/auth/register', { body: { email: 'ada@example.org', password } })
    await until('a first attempt', () => server.output().includes('a mail could not be sent'))
    assert.deepEqual(mails.received(), [])
    // The start prints the link of the first administrator; it is no mail's.
    assert.doesNotMatch(server.output(), /(?<!setup\?)token=|p@ss|p%40ss/)
    await server.stop()
  }
})

test('a dead mail server delays nothing but the mail', { timeout }, async t => {
  const port = await freePort()
  const server = await start(t, '--mail-url', `smtp://127.0.0.1:${port}?tls=none`)
  const begun = Date.now()
  await server.call('POST', '/auth/register', { body: { email: 'ada@example.org', password } })
  const { data } = await server.call('POST', '/auth/login', { body: { email: 'ada@example.org', password } })
  await server.call('POST', '/organisations', { bearer: data.access_token, body: { name: 'Harbour' } })
  assert.ok(Date.now() - begun < 3000, `${Date.now() - begun} ms`)
  await assert.rejects(server.call('POST', '/auth/magic-link', { body: { email: 'ada@example.org' } }), /: 500 /)
  await until('a first attempt', () => server.output().includes('a mail could not be sent'))
  const mails = await mailServer(t, { port })
  const [mail] = await mails.mails('ada@example.org', 1)
  await server.call('POST', '/auth/email-request/verify', { body: { token: token(mail) } })
  await server.stop()
})

test('without the client, the pages behind the links: opening uses nothing up, the button does', { timeout }, async t => {
  const mails = await mailServer(t)
  const server = await start(t, '--client', 'off', '--mail-url', mails.url)
  const { page, strays, errors } = await open(t)
  const say = text => page.locator('[role=status]', { hasText: text }).waitFor()
  const visit = async mail => {
    const answer = await page.goto(link(mail).href)
    assert.equal(answer.status(), 200)
    assert.equal(answer.headers()['referrer-policy'], 'no-referrer')
    assert.equal(answer.headers()['cache-control'], 'no-store')
    await page.reload() // a second look, as link scanners take
  }
  const ada = await person(server, 'ada')

  await visit((await mails.mails(ada.email, 1))[0])
  await page.getByLabel('Password').fill(ada.password)
  await page.screenshot({ path: join(shots, 'verify-email.png') })
  await page.getByRole('button').click()
  await say('Your e-mail address is verified.')
  assert.equal((await server.call('GET', '/profile', { bearer: ada.bearer })).data.is_verified, true)

  await server.call('POST', '/auth/magic-link', { body: { email: ada.email } })
  const magic = (await mails.mails(ada.email, 2))[1]
  await visit(magic)
  await page.getByRole('button').click()
  await say(`You are logged in as ${ada.username}.`)
  const bearer = await page.getByLabel('Access token').inputValue()
  assert.equal((await server.call('GET', '/profile', { bearer })).data.email, ada.email)
  await visit(magic)
  await page.getByRole('button').click()
  await say('already been used')
  await page.screenshot({ path: join(shots, 'magic-link-used.png') })

  await server.call('POST', '/auth/password-reset', { body: { email: ada.email } })
  await visit((await mails.mails(ada.email, 3))[2])
  const fill = async (first, second) => {
    await page.getByLabel('New password').fill(first)
    await page.getByLabel('Once more').fill(second)
    await page.getByRole('button').click()
  }
  await fill('a louder harbour', 'another harbour')
  await say('differ')
  await fill('iloveyou', 'iloveyou')
  await say('most common')
  await page.screenshot({ path: join(shots, 'reset-password.png') })
  await fill('a louder harbour', 'a louder harbour')
  await say('Your new password is set.')
  const login = { email: ada.email, password: 'a louder harbour' }
  const again = (await server.call('POST', '/auth/login', { body: login })).data.access_token

  const organisation = (await server.call('POST', '/organisations', { bearer: again, body: { name: 'Harbour' } })).data.id
  const grace = await person(server, 'grace')
  const emails = ['new@example.org', grace.email]
  await server.call('POST', '/invite', { bearer: again, body: { org_id: organisation, emails } })
  await visit((await mails.mails('new@example.org', 1))[0])
  await page.getByRole('button', { name: 'Accept the invitation' }).click()
  await say('You have joined the organisation.')
  await page.screenshot({ path: join(shots, 'invitation-accepted.png') })
  const generated = await page.getByLabel('Your password').inputValue()
  await server.call('POST', '/auth/login', { body: { email: 'new@example.org', password: generated } })

  await visit((await mails.mails(grace.email, 2))[1])
  await page.getByRole('button', { name: 'Accept the invitation' }).click()
  await page.getByLabel('E-mail address').fill(grace.email)
  await page.getByLabel('Password').fill(grace.password)
  await page.screenshot({ path: join(shots, 'invitation-log-in.png') })
  await page.getByRole('button', { name: 'Log in and accept' }).click()
  await say('You have joined the organisation.')
  const organisations = (await server.call('GET', '/users/organisations', { bearer: grace.bearer })).data
  assert.deepEqual(organisations.map(({ id }) => id), [organisation])

  // Without a token there is nothing to do, and the page says so.
  await page.goto(`${server.url}/auth/verify-email`)
  await page.getByLabel('Password').fill('any')
  await page.getByRole('button').click()
  await say('token must not be empty')
  assert.deepEqual([strays, errors], [[], []])
  await server.stop()
})
