// What people from other team chats look for is where they look: behind names, in the field to go elsewhere, in the person's own menu. In
// Chromium and Firefox.
import assert from 'node:assert/strict'
import test from 'node:test'
import { BROWSERS, PHONE, WIDE, accessible, arrives, enter, launch, picture, press, sees, theme } from './lib/browser.mjs'
import { mailServer } from '../sdk/lib/mailserver.mjs'
import { account, organisation, start } from './lib/server.mjs'

/** Ada owns the organisation; Grace made a private channel, which is archived, and an open one, which Ada isn't in. */
async function world(t) {
  const server = await start(t)
  const [ada, grace] = await Promise.all([
    account(server, 'ada', { first_name: 'Ada', last_name: 'King' }),
    account(server, 'grace', { first_name: 'Grace', last_name: 'Holm' }),
  ])
  const harbour = await organisation(ada, [grace])
  const made = async (owner, name, more) => (await owner.call('POST', '/channels', { name, organisation_id: harbour.id, ...more })).id
  const office = await made(ada, 'harbour-office-of-the-eastern-quay', { userIds: [grace.id] })
  await grace.call('POST', `/channels/${office}/messages`, { content: 'Who has the key of the pump house?' })
  const old = await made(grace, 'old-quay', { is_private: true, userIds: [ada.id] })
  await grace.call('PUT', `/channels/${old}/archive`, { archived: true })
  const quay = await made(grace, 'quay-five')
  return { server, ada, grace, harbour, office, old, quay, talk: `${server.url}/o/${harbour.slug}` }
}

async function visit(page, address) {
  await page.bringToFront() // a tab that nobody looks at does nothing
  await page.goto(address)
}

/** Wide and light, on a phone and dark: no violations, and a picture of each. */
async function look(page, kind, name) {
  for (const [view, colours] of [[WIDE, 'light'], [WIDE, 'dark'], [PHONE, 'dark']]) {
    await page.setViewport(view)
    await page.waitForFunction(width => innerWidth === width, { polling: 30 }, view.width)
    await theme(page, kind, colours)
    await accessible(page, `${name}, ${view.width}, ${colours}`)
    if (kind === 'chrome') await picture(page, `ways-${name}-${view.width}-${colours}`)
  }
  await page.setViewport(WIDE)
  await page.waitForFunction(width => innerWidth === width, { polling: 30 }, WIDE.width)
  await theme(page, kind, 'light')
}

const misses = (page, selector) => page.waitForFunction(selector => !document.querySelector(selector), { polling: 50 }, selector)

for (const kind of BROWSERS) {
  test(`people find their ways in ${kind}`, { timeout: 120_000 }, async t => {
    const scene = await world(t)
    const { server, ada, grace, office, talk } = scene
    const { visitor } = await launch(t, kind)
    const [one, other] = [await visitor(), await visitor()]
    const [hers, theirs] = [one.page, other.page]
    await enter(hers, server, ada, `${talk}/${office}`)
    await sees(hers, 'key of the pump house')

    await t.test('the name of a channel opens its people and topic, and a star stands beside it', async () => {
      await ada.call('POST', `/channels/${office}/star`)
      await hers.waitForSelector('.bar h1 [aria-label="Starred"]')
      await (await hers.waitForSelector('.main .bar h1 button')).click()
      await arrives(hers, /\?pane=members$/)
      await sees(hers, 'Add a topic')
      assert.equal(await hers.$eval('.beside h1 .quiet', each => getComputedStyle(each).textOverflow), 'ellipsis')
      await look(hers, kind, 'members')
      await press(hers, 'Add a topic')
      await (await hers.waitForSelector('dialog [name="topic"]')).type('Keys and papers')
      await press(hers, 'Save')
      await hers.waitForFunction(() => document.querySelector('.about')?.innerText.includes('Keys and papers'), { polling: 50 })
    })

    await t.test('who may not edit a channel is offered no topic', async () => {
      await ada.call('PATCH', `/channels/${office}`, { topic: '' })
      await enter(theirs, server, grace, `${talk}/${office}?pane=members`)
      await sees(theirs, 'No topic yet')
      await misses(theirs, '.about button')
    })

    await t.test('a talk says where it starts, and with whom', async () => {
      await sees(hers, 'This is the start of #harbour-office-of-the-eastern-quay.')
      const { id } = await grace.call('POST', `/organisations/${scene.harbour.id}/dms`, { user_ids: [ada.id] })
      await grace.call('POST', `/channels/${id}/messages`, { content: 'Have you eaten?' })
      await visit(hers, `${talk}/${id}`)
      await sees(hers, 'This is the start of your conversation with Grace Holm.')
      await misses(hers, '.main h1 button')
    })

    await t.test('an archived channel has its name, and says what it is', async () => {
      await visit(hers, `${talk}/${scene.old}`)
      await sees(hers, 'This channel is archived.')
      await hers.waitForFunction(() => document.querySelector('.main h1')?.innerText.includes('old-quay'), { polling: 50 })
      await hers.waitForSelector('.main h1 [aria-label="Archived"]')
      await look(hers, kind, 'archived')
      await visit(hers, `${server.url}/settings/o/${scene.harbour.slug}/channels`)
      await hers.waitForSelector('.item [aria-label="Private"]')
    })

    await t.test('an open channel can be joined where it is read', async () => {
      await visit(hers, `${talk}/${scene.quay}`)
      await sees(hers, 'You are not in this channel.')
      await hers.waitForFunction(() => document.querySelector('.main h1')?.innerText.includes('quay-five'), { polling: 50 })
      await look(hers, kind, 'outside')
      await press(hers, 'Join')
      await hers.waitForFunction(() => document.activeElement?.matches('.main .composer textarea'), { polling: 50 })
    })

    await t.test('words that name nothing lead from the field to go elsewhere to the search', async () => {
      await visit(hers, `${talk}/${office}`)
      await sees(hers, 'key of the pump house')
      await press(hers, 'Go to or search… Ctrl K')
      await hers.waitForSelector('.switcher input')
      await hers.keyboard.type('harbour')
      const titles = () => hers.$$eval('.switcher [role="option"] .title', all => all.map(each => each.innerText))
      await hers.waitForFunction(() => document.querySelectorAll('.switcher [role="option"]').length === 1, { polling: 50 })
      assert.deepEqual(await titles(), ['Search messages for “harbour”'])
      for (const _ of 'harbour') await hers.keyboard.press('Backspace')
      await hers.keyboard.type('ge')
      await hers.waitForFunction(() => document.querySelectorAll('.switcher [role="option"]').length > 1, { polling: 50 })
      assert.equal((await titles()).at(-1), 'Search messages for “ge”')
      await look(hers, kind, 'switcher')
      await hers.keyboard.press('Backspace')
      await hers.keyboard.press('Backspace')
      // Enter at once: names that are still being looked up are waited for.
      await hers.keyboard.type('the pump')
      await hers.keyboard.press('Enter')
      await arrives(hers, /\?search=the\+pump$/)
      await sees(hers, '1 message found')
    })

    await t.test('the own name opens what belongs to the person', async () => {
      await visit(theirs, `${talk}/${office}`)
      await press(theirs, 'Grace Holm')
      await theirs.waitForSelector('.menu')
      assert.deepEqual(await theirs.$$eval('.menu button', all => all.map(each => each.innerText)), ['Set a status', 'Profile', 'Look and language', 'Sessions', 'Sign out'])
      await accessible(theirs, 'the own menu')
      if (kind === 'chrome') await picture(theirs, 'ways-own-menu')
      await press(theirs, 'Sessions', 'menuitem')
      await arrives(theirs, /^\/settings\/sessions$/)
      await sees(theirs, 'this device')
    })

    await t.test('ending all other sessions asks first', async () => {
      await press(theirs, 'End all others')
      await sees(theirs, 'End all other sessions?')
      await theirs.waitForSelector('dialog .danger')
      await accessible(theirs, 'the question')
      await (await theirs.$('dialog .danger')).click()
      await sees(theirs, 'sessions ended.')
      await theirs.waitForFunction(() => document.querySelectorAll('.item').length === 1, { polling: 50 })
    })

    await t.test('a join link leads a member straight in', async () => {
      const { link } = await ada.call('POST', `/organisations/${scene.harbour.id}/join-links`, { uses: 1 })
      await visit(hers, link)
      await arrives(hers, new RegExp(`^/o/${scene.harbour.slug}/`))
    })

    await t.test('the settings end with signing out', async () => {
      await look(theirs, kind, 'settings')
      await press(theirs, 'Sign out')
      await arrives(theirs, /^\/sign-in/)
    })

    assert.deepEqual([...one.problems, ...other.problems], [])
  })

  test(`a mail is offered to who has to verify their address, where the server sends any (${kind})`, { timeout: 60_000 }, async t => {
    let server
    t.after(() => server?.stop())
    const mails = await mailServer(t)
    server = await start(t, '--mail-url', mails.url)
    const ada = await account(server, 'ada')
    await organisation(ada)
    const { visitor } = await launch(t, kind)
    const { page } = await visitor()
    await enter(page, server, ada, `${server.url}/settings/profile`)
    await press(page, 'Send the e-mail again')
    await sees(page, 'Sent to ada@example.org')
  })
}
