// What counts as read: what was seen, and nothing that was marked as unread. In Chromium and Firefox.
import assert from 'node:assert/strict'
import test from 'node:test'
import { BROWSERS, byRole, launch, sees } from './lib/browser.mjs'
import { account, organisation, start, until } from './lib/server.mjs'

const timeout = 60_000

/** Ada's page at a new channel, where Grace has posted so many messages. */
async function posted(t, kind, count) {
  const server = await start(t)
  const [ada, grace] = await Promise.all([account(server, 'ada'), account(server, 'grace')])
  const { id: organisationId, slug, general } = await organisation(ada, [grace])
  const ids = []
  for (let n = 0; n < count; n += 1) ids.push((await grace.call('POST', `/channels/${general.id}/messages`, { content: `Message ${n}` })).id)
  const { visitor } = await launch(t, kind)
  const { page, problems } = await visitor()
  await page.goto(`${server.url}/sign-in`)
  await page.evaluate(async (email, password) => {
    const headers = { 'Content-Type': 'application/json', 'Tidings-Client': 'web' }
    await fetch('/api/v1/auth/login', { method: 'POST', headers, body: JSON.stringify({ email, password, cookie: true }) })
  }, ada.email, ada.password)
  const listed = async () => (await ada.call('GET', `/organisations/${organisationId}/user-channels`)).find(each => each.channels_id === general.id)
  return { ada, grace, ids, page, problems, channel: general.id, talk: `${server.url}/o/${slug}/${general.id}`, unread: async () => (await listed()).thread_count }
}

const rows = page => page.$$eval('.main .row', all => all.map(each => each.dataset.id))
const rest = ms => new Promise(resolve => setTimeout(resolve, ms))

/** Scrolls as far as it takes until the message stands at the bottom. */
const scrollTo = (page, id) => page.evaluate(id => document.querySelector(`[data-id="${id}"]`).scrollIntoView({ block: 'end' }), id)

/** Opens the menu of a message, and presses what it is called there. */
async function choose(page, id, item) {
  await page.hover(`[data-id="${id}"]`)
  await (await page.waitForSelector(`[data-id="${id}"] .tools button[aria-haspopup=menu]`)).click()
  await (await page.waitForSelector(byRole('menuitem', item))).click()
}

for (const kind of BROWSERS) {
  test(`${kind}: only what was seen counts as read`, { timeout }, async t => {
    const { ids, page, problems, talk, unread } = await posted(t, kind, 120)
    await page.goto(talk)
    await sees(page, 'Message 0')
    // It opens at the first of them, above which nothing is: what is below the window stays unread.
    await until('the mark has moved', async () => (await unread()) < 120)
    await rest(600)
    assert.ok(await unread() > 80, `${await unread()} are unread`)
    await page.waitForSelector('.jump')
    await scrollTo(page, ids[40])
    await until('the mark has moved', async () => (await unread()) === 120 - 41)
    // Newer ones come as the reader gets there, and don't pull the reader with them.
    await page.evaluate(() => { document.querySelector('.main .talk').scrollTop = 1e6 })
    await page.waitForFunction(id => document.querySelector(`[data-id="${id}"]`), { polling: 50 }, ids[60])
    await rest(600)
    assert.ok(await unread() > 20, `${await unread()} are unread`)
    await page.click('.jump')
    await until('the mark has moved', async () => (await unread()) === 0)
    assert.equal((await rows(page)).at(-1), ids[119])
    assert.deepEqual(problems, [])
  })

  test(`${kind}: what is marked as unread stays so until the talk is opened again`, { timeout }, async t => {
    const { ada, grace, channel, ids, page, talk, unread } = await posted(t, kind, 8)
    await page.goto(talk)
    await until('the mark has moved', async () => (await unread()) === 0)
    await choose(page, ids[5], 'Mark as unread from here')
    await until('the mark has moved', async () => (await unread()) === 3)
    await page.waitForFunction(id => document.querySelector('.day.new + .row-item [data-id]')?.dataset.id === id, { polling: 50 }, ids[5])
    await grace.call('POST', `/channels/${channel}/messages`, { content: 'One more' })
    await sees(page, 'One more')
    await rest(700)
    assert.equal(await unread(), 4)
    await page.goto(talk)
    await until('the mark has moved', async () => (await unread()) === 0)

    // A thread has a mark of its own.
    const replies = []
    for (const content of ['Yes', 'No', 'Perhaps']) replies.push((await grace.call('POST', `/channels/${channel}/messages`, { content, thread_id: ids[7] })).id)
    await page.goto(`${talk}/${ids[7]}`)
    await page.waitForSelector(`.beside [data-id="${replies[2]}"]`)
    await choose(page, replies[1], 'Mark as unread from here')
    const inThread = async () => (await ada.call('GET', `/threads/${ids[7]}`)).unread_count
    await until('the mark has moved', async () => (await inThread()) === 2)
    await rest(700)
    assert.equal(await inThread(), 2)
  })

  test(`${kind}: what is read keeps its place, and the end is followed`, { timeout }, async t => {
    const { grace, channel, ids, page, talk, unread } = await posted(t, kind, 60)
    const post = content => grace.call('POST', `/channels/${channel}/messages`, { content })
    const end = () => page.evaluate(() => {
      const { scrollHeight, scrollTop, clientHeight } = document.querySelector('.main .talk')
      return scrollHeight - scrollTop - clientHeight
    })
    await page.goto(talk)
    await page.waitForSelector('.jump')
    await page.click('.jump')
    await until('all are read', async () => (await unread()) === 0)
    // Opened anew where nothing is unread, it stands at the end. What was read is written down once a second.
    await rest(1500)
    await page.goto(talk)
    await page.waitForSelector('.main .row')
    await rest(500)
    assert.ok(await end() < 1, `${await end()} px from the end of a new page`)
    await page.click('.side a[href$="/threads"]')
    await page.waitForFunction(() => !document.querySelector('.main .talk'), { polling: 50 })
    await page.goBack()
    await page.waitForSelector('.main .row')
    await rest(500)
    assert.ok(await end() < 1, `${await end()} px from the end of a talk that was there`)
    await page.waitForFunction(id => document.querySelector(`[data-id="${id}"]`), { polling: 50 }, ids[59])
    await Promise.all(Array.from({ length: 20 }, (_, n) => post(`At once, ${n}`)))
    await page.waitForFunction(() => document.querySelectorAll('.main .row').length >= 80, { polling: 50 })
    await until('the end is in view', async () => (await end()) < 8)
    await page.evaluate(() => { document.querySelector('.main .talk').scrollTop -= 400 })
    await rest(200)
    const place = () => page.evaluate(() => {
      const { top } = document.querySelector('.main .talk').getBoundingClientRect()
      const row = [...document.querySelectorAll('.main .row')].find(each => each.getBoundingClientRect().top > top + 100)
      return { id: row.dataset.id, top: row.getBoundingClientRect().top }
    })
    const before = await place()
    await Promise.all([
      ...ids.slice(0, 5).map(message_id => grace.call('PUT', `/channels/${channel}/messages`, { message_id, content: 'Many\n\nlines\n\nnow' })),
      ...ids.slice(5, 10).map(id => grace.call('PUT', `/channels/${channel}/messages/${id}/reactions/${encodeURIComponent('🎉')}`)),
      ...Array.from({ length: 10 }, (_, n) => post(`Below, ${n}`)),
    ])
    await page.waitForFunction(() => document.querySelectorAll('.main .row').length >= 90, { polling: 50 })
    await rest(300)
    const after = await place()
    assert.equal(after.id, before.id)
    // Scrolling is in whole pixels.
    assert.ok(Math.abs(after.top - before.top) < 1, `${before.top} to ${after.top}`)
  })

  test(`${kind}: an opened message stays open, whatever others do with it`, { timeout }, async t => {
    const { grace, channel, page, talk } = await posted(t, kind, 1)
    const { id } = await grace.call('POST', `/channels/${channel}/messages`, { content: Array.from({ length: 40 }, (_, n) => `Line ${n}`).join('\n') })
    await page.goto(talk)
    await (await page.waitForSelector(byRole('button', 'Show all'))).click()
    // The button is gone: its row has the focus.
    assert.equal(await page.evaluate(() => document.activeElement.dataset.id), id)
    await grace.call('PUT', `/channels/${channel}/messages/${id}/reactions/${encodeURIComponent('🎉')}`)
    await page.waitForSelector(`[data-id="${id}"] .reaction`)
    assert.equal(await page.$('.folded'), null)
  })
}
