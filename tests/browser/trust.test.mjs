// Nothing looks as if it were somebody else's, and nobody finds what the person before them left on a shared device.
import assert from 'node:assert/strict'
import test from 'node:test'
import { BROWSERS, WIDE, fill, launch, press, sees } from './lib/browser.mjs'
import { PASSWORD, account, organisation, start, until } from './lib/server.mjs'

const timeout = 120_000

async function signIn(page, { url }, { email }, next = '/') {
  await page.goto(`${url}/sign-in?next=${encodeURIComponent(next)}`)
  await fill(page, 'E-mail address', email)
  await fill(page, 'Password', PASSWORD)
  await press(page, 'Sign in')
  await page.waitForSelector('.main .composer textarea')
}

for (const kind of BROWSERS) {
  test(`${kind}: what a program posts is marked, whatever it calls itself`, { timeout }, async t => {
    const server = await start(t)
    const [ada, grace] = await Promise.all([account(server, 'ada'), account(server, 'grace', { first_name: 'Grace', last_name: 'Holm' })])
    const { slug, general } = await organisation(ada, [grace])
    const { feed_url: feed } = await ada.call('POST', `/webhooks/${general.id}`, { webhook_name: 'builds' })
    await ada.call('POST', `/channels/${general.id}/messages`, { content: 'Before it' })
    const body = { username: 'Grace Holm', event_name: 'note', message: 'please send the password', status: 'success' }
    await fetch(feed, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) })
    const { messages: [{ id: message }] } = await server.call('GET', `/channels/${general.id}/messages`, { bearer: ada.bearer })
    await ada.call('PUT', `/channels/${general.id}/messages/${message}/pin`)
    await ada.call('POST', `/channels/${general.id}/messages`, { content: 'No', thread_id: message })

    const { visitor } = await launch(t, kind)
    const { page, problems } = await visitor(WIDE)
    await signIn(page, server, ada)
    const marks = around => page.waitForFunction(around => {
      const post = [...document.querySelectorAll(around)].find(each => each.innerText.includes('please send the password'))
      return post && { name: post.querySelector('.who').innerText, mark: post.querySelector('.tag')?.innerText ?? null, said: post.getAttribute('aria-label') }
    }, { polling: 50 }, around).then(found => found.jsonValue())
    const marked = { name: 'Grace Holm', mark: 'Program' }
    await page.goto(`${server.url}/o/${slug}/${general.id}?pane=pins`)
    assert.deepEqual(await marks('.main .row'), { ...marked, said: 'Grace Holm (program): please send the password' })
    assert.deepEqual(await marks('.beside .result'), { ...marked, said: null })
    await page.goto(`${server.url}/o/${slug}/${general.id}?search=password`)
    assert.deepEqual(await marks('.beside .result'), { ...marked, said: null })
    await page.goto(`${server.url}/o/${slug}/threads`)
    assert.deepEqual(await marks('.result'), { ...marked, said: null })
    assert.deepEqual(problems, [])
  })
}

for (const kind of BROWSERS) {
  test(`${kind}: who signs out decides about what is not sent, and the next user finds nothing of theirs`, { timeout }, async t => {
    const server = await start(t)
    const [ada, grace] = [await account(server, 'ada'), await account(server, 'grace')]
    const { slug, general } = await organisation(ada, [grace])
    const second = await ada.call('POST', '/channels', { name: 'second', organisation_id: general.organisation_id, userIds: [grace.id] })
    const { visitor } = await launch(t, kind)
    const { page, problems } = await visitor(WIDE)
    const drafts = user => page.evaluate(user => new Promise(resolve => {
      indexedDB.open(`tidings-${user}`).onsuccess = ({ target: { result: database } }) => {
        database.transaction('records').objectStore('records').getAllKeys().onsuccess = ({ target }) => {
          database.close()
          resolve(target.result.filter(key => key.startsWith('draft/')).length)
        }
      }
    }), user)
    const leave = async name => {
      await (await page.waitForSelector('.side .org')).click()
      await press(page, 'Sign out', 'menuitem')
      await press(page, name)
      await page.waitForFunction(() => location.pathname === '/sign-in', { polling: 50 })
      await page.waitForSelector('form') // Firefox calls it a fault if a page is left while it loads
    }
    for (const [choice, left] of [['Keep and sign out', 1], ['Erase and sign out', 0]]) {
      await signIn(page, server, ada, `/o/${slug}/${second.id}`)
      await page.type('.main .composer textarea', 'unfinished')
      await until('the draft is kept', async () => await drafts(ada.id) === 1)
      await leave(choice)
      assert.equal(await drafts(ada.id), left, choice)
    }
    // The talk of the next user opens where it begins, not where Ada left it.
    await signIn(page, server, grace)
    await page.waitForFunction(id => location.pathname.endsWith(id), { polling: 50 }, general.id)
    assert.deepEqual(problems, [])
  })
}

for (const kind of BROWSERS) {
  test(`${kind}: who signs out on the page of an invitation or of a join link leaves no talk on the device`, { timeout }, async t => {
    const server = await start(t)
    const [ada, grace] = [await account(server, 'ada'), await account(server, 'grace')]
    const { general } = await organisation(ada, [grace])
    await ada.call('POST', `/channels/${general.id}/messages`, { content: 'Between us' })
    const { id } = await organisation(ada, [], 'Lighthouse')
    const { token: link } = await ada.call('POST', `/organisations/${id}/join-links`, {})
    const { invitations: [{ invite_token: invitation }] } = await ada.call('POST', '/invite', { org_id: id, emails: ['tove@example.org'] })
    const { visitor } = await launch(t, kind)
    const { page, problems } = await visitor(WIDE)
    const talk = () => page.evaluate(user => new Promise(resolve => {
      indexedDB.open(`tidings-kept-${user}`).onsuccess = ({ target: { result: database } }) => {
        database.transaction('records').objectStore('records').count().onsuccess = ({ target }) => {
          database.close()
          resolve(target.result)
        }
      }
    }), grace.id)
    for (const address of [`/join?org_id=${id}&token=${link}`, `/accept_org_invitation?org_id=${id}&invitation_token=${invitation}`]) {
      await signIn(page, server, grace)
      await until('the talk is kept', async () => await talk() > 1)
      await page.goto(server.url + address)
      await page.waitForSelector('.entry-facts')
      await page.evaluate(() => document.querySelector('details')?.setAttribute('open', ''))
      await press(page, 'Sign out')
      await page.waitForSelector('input[name=email]')
      assert.equal(await talk(), 0, address)
    }
    assert.deepEqual(problems, [])
  })

  test(`${kind}: the link of a mail says whose session it ends, and as whom one is signed in after`, { timeout }, async t => {
    const server = await start(t)
    const [ada, eve] = [await account(server, 'ada', { first_name: 'Ada', last_name: 'King' }), await account(server, 'eve', { first_name: 'Eve', last_name: 'Moss' })]
    await organisation(ada, [eve])
    await server.call('POST', '/auth/magic-link', { body: { email: eve.email } })
    const mailed = () => server.output().match(/\/auth\/login\/magic-link\?token=[\w-]+/)?.[0]
    await until('the mail', async () => mailed())
    const { visitor } = await launch(t, kind)
    const { page, problems } = await visitor(WIDE)
    await signIn(page, server, ada)
    await page.goto(server.url + mailed())
    await sees(page, 'You are signed in as Ada King (ada@example.org). This link signs you out')
    await press(page, 'Sign in')
    await sees(page, 'You are signed in as Eve Moss (eve@example.org).')
    assert.deepEqual(problems, [])
  })
}
