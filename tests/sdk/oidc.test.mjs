// Log-in of a real browser at a certified OpenID provider, by authorization code.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import test from 'node:test'
import { open, shots } from './lib/browser.mjs'
import { certificates } from './lib/certificates.mjs'
import { CLIENT, SECRET, signIn, startProvider } from './lib/provider.mjs'
import { start } from './lib/server.mjs'

const timeout = 120_000
const NEXT = '/?channel=7#end'

/** A server and the provider that it trusts, and a page of a browser; `client` and `configuration` are the provider's. */
async function scene(t, { secret = SECRET, client, configuration } = {}) {
  const files = certificates(t)
  const provider = await startProvider(t, files)
  const flags = ['--oidc-client-id', CLIENT, '--oidc-issuer', provider.url, '--oidc-name', 'the harbour', '--ca-file', files.ca]
  const server = await start(t, ...flags, ...(secret ? ['--oidc-client-secret', secret] : []))
  provider.serve(`${server.url}/auth/oidc/callback`, client, configuration)
  const { page } = await open(t, { ignoreHTTPSErrors: true })
  return { server, provider, page }
}

/** What a client's button does. */
async function begin(page, server, next = NEXT) {
  await page.goto(server.url)
  const { login } = (await server.call('GET', '/features')).data
  assert.deepEqual(login.openid_connect_start, { name: 'the harbour', url: `${server.url}/auth/oidc/start` })
  await page.evaluate(address => { location.href = address }, `${login.openid_connect_start.url}?next=${encodeURIComponent(next)}`)
}

/** In a page of the server: who is logged in. */
const profile = page => page.evaluate(async () => {
  const answer = await fetch('/api/v1/profile')
  return { status: answer.status, email: (await answer.json()).data?.email }
})

/** The page tells people why they are not logged in. */
async function assertRefused(page, says) {
  await page.waitForSelector('[role=status]')
  assert.equal(await page.textContent('h1'), 'Log in')
  assert.match(await page.textContent('[role=status]'), says)
  assert.equal(await page.textContent('.button'), 'Log in with the harbour')
}

/** Pictures of a page, wide and narrow, light and dark. */
async function pictures(page, shown) {
  for (const [name, width, colorScheme] of [['wide', 1280, 'light'], ['phone', 390, 'light'], ['dark', 1280, 'dark'], ['phone-dark', 390, 'dark']]) {
    await page.setViewportSize({ width, height: 700 })
    await page.emulateMedia({ colorScheme })
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), `${name}: nothing is cut off`)
    await page.screenshot({ path: join(shots, `${shown}-${name}.png`) })
  }
}

const flows = async page => (await page.context().cookies()).filter(({ name }) => name.includes('-log-in-'))

test('a person clicks through and is logged in where they wanted to be', { timeout }, async t => {
  const { server, page } = await scene(t)
  await begin(page, server)
  await signIn(page, 'ada')
  await page.waitForURL(server.url + NEXT)
  assert.deepEqual(await profile(page), { status: 200, email: 'ada@example.org' })
  assert.equal(await page.evaluate(() => document.cookie), '', 'no script reads the cookies')
  assert.equal((await flows(page)).length, 0)

  // The provider knows the person by now, and asks nothing.
  const { email } = await profile(page)
  await page.evaluate(() => fetch('/api/v1/auth/logout', { method: 'POST' }))
  assert.equal((await profile(page)).status, 401)
  await begin(page, server, '/?again')
  await page.waitForURL(`${server.url}/?again`)
  assert.equal((await profile(page)).email, email)
  assert.doesNotMatch(server.output(), /eyJ|code=|s3cret/, 'no secret in the log')
  await server.stop()
})

test('two tabs log in beside each other', { timeout }, async t => {
  const { server, page } = await scene(t)
  const other = await page.context().newPage()
  await begin(page, server, '/?tab=1')
  await page.waitForSelector('[name=login]')
  await begin(other, server, '/?tab=2')
  await other.waitForSelector('[name=login]')
  assert.equal((await flows(page)).length, 2)
  await signIn(other, 'ada')
  await other.waitForURL(`${server.url}/?tab=2`)
  await signIn(page, 'ada', false)
  await page.waitForURL(`${server.url}/?tab=1`)
  for (const tab of [page, other]) assert.equal((await profile(tab)).email, 'ada@example.org')
  await server.stop()
})

test('a cancelled log-in ends on a page, which begins again', { timeout }, async t => {
  const { server, page } = await scene(t)
  await begin(page, server)
  await page.click('text=[ Cancel ]')
  await assertRefused(page, /^You cancelled the log-in/)
  await pictures(page, 'oidc-cancelled')
  await page.click('.button')
  await signIn(page, 'ada')
  await page.waitForURL(server.url + NEXT)
  assert.equal((await profile(page)).email, 'ada@example.org')
  await server.stop()
})

test('somebody who is logged in and follows a link is asked first', { timeout }, async t => {
  const { server, page } = await scene(t)
  await begin(page, server)
  await signIn(page, 'ada')
  await page.waitForURL(server.url + NEXT)
  await page.evaluate(address => { location.href = address }, `${server.url}/auth/oidc/start?next=/?other`)
  await page.waitForSelector('[role=status]')
  assert.match(await page.textContent('[role=status]'), /^You are logged in as .+\. Log in as somebody else\?$/)
  await pictures(page, 'oidc-instead')
  assert.equal((await flows(page)).length, 0, 'nothing has begun')
  await page.click('.button')
  await page.waitForURL(`${server.url}/?other`)
  assert.equal((await profile(page)).email, 'ada@example.org')
  await server.stop()
})

test('a wrong state and a used code end on a page, too', { timeout }, async t => {
  const { server, page } = await scene(t)
  await page.goto(`${server.url}/auth/oidc/callback?code=x&state=y`)
  await assertRefused(page, /^This log-in was begun in another browser/)
  await page.screenshot({ path: join(shots, 'oidc-state.png') })

  await begin(page, server)
  await page.waitForSelector('[name=login]')
  const kept = await flows(page)
  const came = page.waitForRequest(request => request.url().startsWith(`${server.url}/auth/oidc/callback`))
  await signIn(page, 'ada')
  const back = (await came).url()
  await page.waitForURL(server.url + NEXT)
  await page.context().clearCookies()
  await page.goto(back)
  await assertRefused(page, /^This log-in was begun in another browser/)
  // Nor does the cookie help, if somebody keeps it.
  await page.context().addCookies(kept)
  await page.goto(back)
  await assertRefused(page, /^The identity provider refused the log-in/)
  await page.goto(server.url)
  assert.equal((await profile(page)).status, 401)
  await server.stop()
})

test('another site can offer a log-in, and its visitor decides', { timeout }, async t => {
  const { server, provider, page } = await scene(t)
  await page.goto(`${provider.url}/.well-known/openid-configuration`)
  await page.evaluate(address => { location.href = address }, `${server.url}/auth/oidc/start?next=/`)
  await assertRefused(page, /^Another website sent you here/)
  assert.equal((await flows(page)).length, 0)
  await page.screenshot({ path: join(shots, 'oidc-elsewhere.png') })
  await page.click('.button')
  await signIn(page, 'ada')
  // Whoever is in no organisation is asked to make one.
  await page.waitForURL(`${server.url}/new-organisation`)
  assert.equal((await profile(page)).status, 200)
  await server.stop()
})

test('a client without a secret logs in, and id tokens may have all claims', { timeout }, async t => {
  const { server, page } = await scene(t, {
    secret: null, client: { token_endpoint_auth_method: 'none' }, configuration: { conformIdTokenClaims: false },
  })
  await begin(page, server)
  await signIn(page, 'ada')
  await page.waitForURL(server.url + NEXT)
  assert.equal((await profile(page)).email, 'ada@example.org')
  await server.stop()
})

test('a wrong secret of the server is told in its log, and people get a page', { timeout }, async t => {
  const { server, page } = await scene(t, { secret: 'another' })
  await begin(page, server)
  await signIn(page, 'ada')
  await assertRefused(page, /^The identity provider refused the log-in/)
  assert.match(server.output(), /invalid_client/)
  await server.stop()
})
