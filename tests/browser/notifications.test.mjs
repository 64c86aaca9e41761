// Notifications of messages, in Chromium and Firefox: the browsers' own, of a tab that is really hidden.
import assert from 'node:assert/strict'
import test from 'node:test'
import { BROWSERS, accessible, enter, launch, pictures, press, sees } from './lib/browser.mjs'
import { account, organisation, start, until } from './lib/server.mjs'

/** Firefox is asked no question, and shows by itself instead of asking the system to. */
const PREFS = { 'permissions.default.desktop-notification': 1, 'alerts.useSystemBackend': false }

for (const kind of BROWSERS) {
  test(`notifications in ${kind}`, { timeout: 120_000 }, async t => {
    const server = await start(t)
    const ada = await account(server, 'ada', { first_name: 'Ada', last_name: 'King' })
    const grace = await account(server, 'grace')
    const harbour = await organisation(ada, [grace])
    const channel = (await ada.call('POST', '/channels', { name: 'launch', organisation_id: harbour.id, userIds: [grace.id] })).id
    const { visitor } = await launch(t, kind, { prefs: PREFS })
    const { page, context, problems, another } = await visitor()
    const say = (content, thread) => ada.call('POST', `/channels/${channel}/messages`, { content, ...thread && { thread_id: thread } })
    const shown = () => page.evaluate(async () => {
      const all = await (await navigator.serviceWorker.ready).getNotifications()
      return all.map(({ title, body, tag, data }) => ({ title, body, tag, path: data.path }))
    })
    const close = () => page.evaluate(async () => (await (await navigator.serviceWorker.ready).getNotifications()).forEach(each => each.close()))

    /** How many notifications the page has heard of since it was loaded. */
    const heard = () => page.evaluate(() => globalThis.heard)
    await page.evaluateOnNewDocument(() => {
      globalThis.heard = 0
      globalThis.WebSocket = class extends WebSocket {
        constructor(...input) {
          super(...input)
          this.addEventListener('message', ({ data }) => {
            globalThis.isConnected = true
            globalThis.heard += data.split('"notification_type":"notification"').length - 1
          })
        }
      }
    })
    const isHidden = () => page.waitForFunction(() => document.visibilityState === 'hidden', { polling: 50 })
    /** Says something that notifies Grace, and waits until the page has heard so. */
    const notify = async (content, thread) => {
      await page.waitForFunction(() => globalThis.isConnected, { polling: 50 })
      const before = await heard()
      const said = await say(content, thread)
      await until('the page has heard of it', async () => await heard() > before)
      return said
    }

    await t.test('are turned on by a press that is explained, and tried', async () => {
      await enter(page, server, grace, `${server.url}/settings/notifications`)
      if (kind === 'chrome') {
        await sees(page, 'It will ask you to allow that.')
        await pictures(page, kind, 'notifications-off')
        await context.overridePermissions(server.url, ['notifications'])
        await press(page, 'Turn on notifications')
      }
      await sees(page, 'Send me a test')
      await accessible(page, 'the settings of notifications')
      await press(page, 'Send me a test')
      await until('it is shown', async () => (await shown()).some(each => each.title === 'Notifications work'))
      await pictures(page, kind, 'notifications-on')
      await close()
    })

    await t.test('are chosen for an organisation and for a channel', async () => {
      const inOrganisation = async () => (await grace.call('GET', `/organisations/${harbour.id}/notification-preference`)).notify_about
      await (await page.waitForSelector('input[value="all_new_messages"]')).evaluate(each => each.click())
      await until('it is kept', async () => await inOrganisation() === 'all_new_messages')
      await page.goto(`${server.url}/o/${harbour.slug}/${channel}`)
      const menu = () => page.waitForSelector('.talk-head [aria-haspopup="menu"], [aria-label="Channel menu"]')
      await (await menu()).click()
      await page.waitForSelector('.menu button')
      await page.evaluate(() => [...document.querySelectorAll('.menu button')].find(each => each.textContent.includes('Notifications…')).click())
      await page.waitForSelector('dialog select')
      await accessible(page, 'the notifications of a channel')
      await pictures(page, kind, 'notify-about')
      await page.select('dialog select', 'mentions')
      await press(page, 'Save')
      const inChannel = async () => (await grace.call('GET', `/channels/${channel}/notification-preference`)).notify_about
      await until('it is kept', async () => await inChannel() === 'mentions')
    })

    let front
    await t.test('come while nobody looks at the page, for what calls the person', async () => {
      front = await another()
      await front.bringToFront()
      await isHidden()
      await say('Nobody in particular')
      const post = await say('The tide turns at **noon**, @grace')
      await until('it is shown', async () => (await shown()).length > 0)
      assert.deepEqual(await shown(), [{ title: 'Ada King in #launch', body: 'The tide turns at noon, @grace', tag: channel,
        path: `/o/${harbour.slug}/${channel}?m=${post.id}` }])
      // The next one takes its place.
      const reply = await say('And the pilot comes', post.id)
      await until('the reply is shown', async () => (await shown()).some(each => each.body === 'And the pilot comes'))
      assert.deepEqual((await shown()).map(({ tag, path }) => [tag, path]), [[channel, `/o/${harbour.slug}/${channel}/${post.id}?m=${reply.id}`]])
      await close()
    })

    await t.test('do not come while another page of the browser is looked at, or where they are turned off', async () => {
      const check = () => front.waitForSelector('.part input[type="checkbox"]').then(box => box.evaluate(each => each.click()))
      const toldOfCheck = () => page.evaluate(() => new Promise(resolve => { addEventListener('storage', () => resolve(null), { once: true }) }))
      await front.goto(`${server.url}/settings/notifications`)
      await sees(front, 'Show notifications')
      const asked = page.waitForResponse(each => each.url().includes('/api/v1/messages/'))
      await notify('@grace, you see this')
      await asked
      const off = toldOfCheck()
      await check()
      await off
      assert.deepEqual(await shown(), [])
      await front.goto('about:blank')
      await isHidden()
      await notify('@grace, this is not shown')
      assert.deepEqual(await shown(), [])
      await front.goto(`${server.url}/settings/notifications`)
      const on = toldOfCheck()
      await check()
      await on
      await front.goto('about:blank')
    })

    // Firefox lets nobody dispatch what only a person may do.
    if (kind === 'chrome') await t.test('lead to their message', async () => {
      const post = await say('@grace, follow me')
      await until('it is shown', async () => (await shown()).some(each => each.path.endsWith(post.id)))
      const target = await context.browser().waitForTarget(each => each.type() === 'service_worker' && each.url().startsWith(server.url))
      const worker = await target.worker()
      await worker.evaluate(async () => {
        const [notification] = await self.registration.getNotifications()
        // Without a press, the browser refuses to bring a page to the front.
        WindowClient.prototype.focus = async function focus() { return this }
        const event = new NotificationEvent('notificationclick', { notification })
        event.waitUntil = () => {} // which only the browser's own events have
        self.dispatchEvent(event)
      })
      await page.bringToFront()
      await page.waitForFunction(id => location.search === `?m=${id}`, { polling: 50 }, post.id)
      assert.deepEqual(await shown(), [])
    })

    assert.deepEqual(problems, [])
  })
}
