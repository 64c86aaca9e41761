// Writing: drafts and edits that are kept, in one tab and in two, names that are completed, and where one may not write.
import assert from 'node:assert/strict'
import test from 'node:test'
import { BROWSERS, WIDE, launch, press, sees } from './lib/browser.mjs'
import { PASSWORD, account, organisation, start, until } from './lib/server.mjs'

const timeout = 90_000

async function world(t) {
  const server = await start(t)
  const [ada, grace, reader] = await Promise.all([
    account(server, 'ada', { first_name: 'Ada', last_name: 'King' }),
    account(server, 'grace', { first_name: 'Grace', last_name: 'Holm' }),
    account(server, 'reader'),
  ])
  const harbour = await organisation(ada, [grace, reader])
  await ada.call('PUT', `/organisations/${harbour.id}/users/${reader.id}`, { role_id: 'guest' })
  return { server, ada, grace, reader, harbour, talk: `${server.url}/o/${harbour.slug}` }
}

/** Signs somebody in with the page's browser, and opens an address. */
async function enter(page, { server }, { email }, address) {
  await page.bringToFront() // a tab that nobody looks at does nothing
  await page.goto(`${server.url}/features`)
  await page.evaluate((email, password) => fetch('/api/v1/auth/login', {
    method: 'POST', headers: { 'Content-Type': 'application/json', 'Tidings-Client': 'web' }, body: JSON.stringify({ email, password, cookie: true }),
  }), email, PASSWORD)
  await page.goto(address)
}

const COMPOSER = '.main .composer textarea'
const EDIT = '.main .edit textarea'
const has = (page, field, text) => page.waitForFunction((field, text) => document.querySelector(field)?.value === text, { polling: 50 }, field, text)
  .catch(async () => assert.fail(`${field}: "${await page.evaluate(field => document.querySelector(field)?.value, field)}" instead of "${text}"`))

/** Whether a draft with these words is in the page's database. */
const keeps = (page, words) => page.evaluate(async words => {
  const done = request => new Promise((resolve, reject) => { request.onsuccess = () => resolve(request.result); request.onerror = () => reject(request.error) })
  for (const { name } of await indexedDB.databases()) {
    const database = await done(indexedDB.open(name))
    try {
      for (const store of database.objectStoreNames) {
        const rows = database.transaction(store).objectStore(store)
        const [keys, values] = await Promise.all([done(rows.getAllKeys()), done(rows.getAll())])
        if (keys.some((key, at) => String(key).startsWith('draft/') && JSON.stringify(values[at]).includes(words))) return true
      }
    } finally {
      database.close()
    }
  }
  return false
}, words)

/** Writes into a field that is there. */
async function write(page, field, text) {
  await page.bringToFront()
  await (await page.waitForSelector(field, { visible: true })).focus()
  await page.keyboard.type(text)
}

/** Opens a channel by the list beside the talk. */
async function visit(page, { id, name }) {
  await page.bringToFront()
  await (await page.waitForSelector(`.side a[href*="${id}"]`)).click()
  await page.waitForFunction(name => document.querySelector('.main .bar h1')?.innerText.includes(name), { polling: 50 }, name)
}

/** Edits the own message that was posted last, as Up does. */
async function editLast(page) {
  await page.bringToFront()
  await (await page.waitForSelector(COMPOSER)).focus()
  await page.keyboard.press('ArrowUp')
  await page.waitForFunction(field => document.activeElement?.matches(field), { polling: 50 }, EDIT)
}

/** Waits until a name is offered, with what stands beside it. */
const offers = (page, title, beside) => page.waitForFunction((title, beside) => [...document.querySelectorAll('.choices li')]
  .some(each => each.innerText.includes(title) && each.querySelector('.quiet').innerText === beside), { polling: 50 }, title, beside)
  .catch(async () => assert.fail(`no "${title}" in ${await page.evaluate(() => document.querySelector('.choices')?.innerText)}`))

test('writing', { timeout }, async t => {
  const scene = await world(t)
  const { ada, grace, reader, harbour, talk } = scene
  for (const kind of BROWSERS) {
    await t.test(kind, async t => {
      const channel = name => ada.call('POST', '/channels', { name: `${name}-${kind}`, organisation_id: harbour.id, userIds: [grace.id, reader.id] })
      const [quay, pier] = [await channel('quay'), await channel('pier')]
      const say = (text, more) => ada.call('POST', `/channels/${quay.id}/messages`, { content: text, ...more })
      const { visitor } = await launch(t, kind)
      const { page, another, problems } = await visitor(WIDE)

      await t.test('an edit that is not saved is kept, until it is saved or given up', async () => {
        await say('The pilot boat is late')
        await enter(page, scene, ada, `${talk}/${quay.id}`)
        await sees(page, 'The pilot boat is late')
        await editLast(page)
        await page.keyboard.type(', and the tug')
        await visit(page, pier)
        await visit(page, quay)
        await has(page, EDIT, 'The pilot boat is late, and the tug')
        await page.reload()
        await sees(page, 'The pilot boat is late')
        await editLast(page)
        await has(page, EDIT, 'The pilot boat is late, and the tug')
        await press(page, 'Cancel')
        await editLast(page)
        await has(page, EDIT, 'The pilot boat is late')
        await page.keyboard.type(' again')
        await page.keyboard.press('Enter')
        await sees(page, '(edited)')
        await page.reload()
        await sees(page, 'The pilot boat is late again')
        await editLast(page)
        await has(page, EDIT, 'The pilot boat is late again')
        await page.keyboard.press('Escape')
      })

      await t.test('what one tab writes, the other shows, but not in place of what is being written there', async () => {
        const other = await another()
        await other.bringToFront()
        await other.goto(`${talk}/${quay.id}`)
        await write(page, COMPOSER, 'From the first')
        await has(other, COMPOSER, 'From the first')
        await write(other, COMPOSER, ' and the second')
        await has(page, COMPOSER, 'From the first and the second')
        await write(page, COMPOSER, ', and back')
        await has(other, COMPOSER, 'From the first and the second, and back')
        await other.bringToFront()
        await other.reload()
        await has(other, COMPOSER, 'From the first and the second, and back')
        // A field that keys go to keeps its text, whatever comes.
        await other.bringToFront()
        await other.focus(COMPOSER)
        await page.evaluate(field => {
          const area = document.querySelector(field)
          area.value = 'Something else'
          area.dispatchEvent(new Event('input'))
        }, COMPOSER)
        await new Promise(resolve => setTimeout(resolve, 300))
        await has(other, COMPOSER, 'From the first and the second, and back')
        await other.keyboard.type('!')
        await has(page, COMPOSER, 'From the first and the second, and back!')
        await other.keyboard.press('Enter')
        await sees(other, 'and back!')
        await has(page, COMPOSER, '')
        // The other tabs are told before the database forgets, which a tab that is closed does not wait for.
        await until('no draft is kept', async () => !await keeps(page, 'and back!'))
        await other.close()
      })

      await t.test('names are completed: those of everybody, of people who are known, and of channels that one may join', async () => {
        await grace.call('POST', `/channels/${quay.id}/messages`, { content: 'Here I am' })
        await grace.call('POST', '/channels', { name: `shoal-${kind}`, organisation_id: harbour.id })
        await page.evaluateOnNewDocument(() => {
          const real = fetch
          globalThis.fetch = (...all) => globalThis.isCut ? Promise.reject(new TypeError('no network')) : real(...all)
        })
        await page.bringToFront()
        await page.reload()
        await sees(page, 'Here I am')
        await write(page, COMPOSER, '@')
        await offers(page, 'Grace Holm', 'grace')
        await offers(page, 'channel', 'Mentions everybody in the channel')
        await page.keyboard.type('her')
        await offers(page, 'here', 'Mentions everybody in the channel')
        await page.keyboard.press('Enter')
        await has(page, COMPOSER, '@here ')
        await page.keyboard.type(`#shoal-${kind.slice(0, 4)}`)
        await offers(page, `shoal-${kind}`, '')
        await page.keyboard.press('Enter')
        await has(page, COMPOSER, `@here #shoal-${kind} `)
        await page.evaluate(() => { globalThis.isCut = true })
        await page.keyboard.type('@hol')
        await offers(page, 'Grace Holm', 'grace')
        await page.keyboard.press('Enter')
        await has(page, COMPOSER, `@here #shoal-${kind} @grace `)
        await page.evaluate(() => { globalThis.isCut = false })
        await page.keyboard.press('Enter')
        await sees(page, '@Grace Holm')
      })

      await t.test('where one may not write, a thread says so as its channel does', async () => {
        const { id } = await say('Cast off at ten')
        const reasons = (reason, at = page) => at.waitForFunction(reason => !document.querySelector('.composer')
          && ['.main', '.beside'].every(part => document.querySelector(`${part} .read-only`)?.innerText.includes(reason)), { polling: 50 }, reason)
          .catch(async () => assert.fail(await at.evaluate(() => document.body.innerText)))
        await page.goto(`${talk}/${quay.id}/${id}`)
        await page.waitForSelector('.beside .composer')
        await ada.call('PUT', `/channels/${quay.id}/archive`, { archived: true })
        await reasons('This channel is archived')
        await ada.call('PUT', `/channels/${quay.id}/archive`, { archived: false })
        await page.waitForSelector('.beside .composer')
        const other = await visitor(WIDE)
        await enter(other.page, scene, reader, `${talk}/${quay.id}/${id}`)
        await reasons('With your role', other.page)
      })

      assert.deepEqual(problems, [])
    })
  }
})
