// The page of a join link, in a browser.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { open, shots } from './lib/browser.mjs'
import { person, start } from './lib/server.mjs'

const timeout = 60_000
const password = 'quiet harbour at dawn'

test('without the client, a join link lets in who makes an account and who has one, and nobody past its bound', { timeout }, async t => {
  const server = await start(t, '--client', 'off')
  const [ada, ben] = [await person(server, 'ada'), await person(server, 'ben')]
  const call = (method, path, body, bearer = ada.bearer) => server.call(method, path, { bearer, body })
  const organisation = (await call('POST', '/organisations', { name: 'Harbour' })).data
  const link = (await call('POST', `/organisations/${organisation.id}/join-links`, { uses: 2 })).data

  const { page, strays, errors } = await open(t)
  const fits = async name => {
    for (const [width, colorScheme] of [[1280, 'light'], [390, 'light'], [390, 'dark']]) {
      await page.setViewportSize({ width, height: 844 })
      await page.emulateMedia({ colorScheme })
      assert.ok(await page.evaluate(() => document.documentElement.scrollWidth) <= width, `${name} at ${width}`)
      await page.screenshot({ path: join(shots, `join-${name}-${width}-${colorScheme}.png`), fullPage: true })
    }
  }
  await page.goto(link.link)
  await fits('open')

  const make = page.locator('[data-action=join-as-new]')
  await make.getByLabel('E-mail address').fill('cora@example.org')
  await make.getByLabel('First name').fill('Cora')
  await make.getByLabel('Password').fill(password)
  await make.getByLabel('Once more').fill(password)
  await make.getByRole('button').click()
  await page.getByText('You have joined the organisation.').waitFor()
  assert.equal(await page.getByRole('button').count(), 0, 'there is nothing left to do')
  await fits('joined')
  const login = (await server.call('POST', '/auth/login', { body: { email: 'cora@example.org', password } })).data
  assert.equal(login.user.first_name, 'Cora')
  const own = (await call('GET', '/users/organisations', undefined, login.access_token)).data
  assert.deepEqual(own.map(({ id }) => id), [organisation.id])

  const joinAs = async account => {
    await page.goto(link.link)
    const form = page.locator('[data-action=join-as-user]')
    await form.getByLabel('E-mail address').fill(account.email)
    await form.getByLabel('Password').fill(account.password)
    await form.getByRole('button').click()
  }
  await joinAs(ben)
  await page.getByText('You have joined the organisation.').waitFor()
  assert.equal((await call('GET', '/users/organisations', undefined, ben.bearer)).data.length, 1)

  // Both of its uses are gone.
  const dora = await person(server, 'dora')
  await joinAs(dora)
  await page.getByText('As many people as may have joined by this link: ask for a new one').waitFor()
  await fits('used-up')
  assert.equal((await call('GET', '/users/organisations', undefined, dora.bearer)).data.length, 0)
  assert.deepEqual([strays, errors], [[], []])
  await server.stop()
})
