// Two people talk: what one does, the other sees; threads, search, pins and people of a channel; by keyboard as well. In Chromium and Firefox.
import assert from 'node:assert/strict'
import test from 'node:test'
import { BROWSERS, PHONE, WIDE, accessible, arrives, enter, fill, launch, picture, press, sees, theme } from './lib/browser.mjs'
import { account, organisation, start, until } from './lib/server.mjs'

const timeout = 120_000

async function world(t) {
  const server = await start(t)
  const [ada, grace] = await Promise.all([
    account(server, 'ada', { first_name: 'Ada', last_name: 'King' }),
    account(server, 'grace', { first_name: 'Grace', last_name: 'Holm' }),
  ])
  const harbour = await organisation(ada, [grace])
  return { server, ada, grace, harbour, channel: harbour.general.id, talk: `${server.url}/o/${harbour.slug}` }
}

const composer = page => page.waitForSelector('.main .composer textarea', { visible: true })

/** Writes where one writes in the channel. */
async function write(page, text) {
  await page.bringToFront()
  const area = await composer(page)
  await area.focus()
  await page.keyboard.type(text)
}

async function post(page, text) {
  await write(page, text)
  await page.keyboard.press('Enter')
  await sees(page, text)
}

/** Waits until no message has the text. What was announced stays where only readers of the screen find it. */
const misses = (page, text) => page.waitForFunction(
  text => ![...document.querySelectorAll('.row, .thread-card')].some(each => each.innerText.includes(text)), { polling: 50 }, text)

/** The message with this text. */
const message = async ({ server, ada, channel }, text) =>
  (await server.call('GET', `/channels/${channel}/messages`, { bearer: ada.bearer })).messages.find(each => each.content === text)

/** Opens the menu of the message with this text, and presses what it is called there. */
async function choose(page, text, item) {
  await page.bringToFront()
  const row = await page.waitForFunction(text => [...document.querySelectorAll('.main .row')].find(each => each.innerText.includes(text)), { polling: 50 }, text)
  await row.hover()
  await (await row.$('.tools button:last-child')).click()
  await press(page, item, 'menuitem')
}

const focused = page => page.evaluate(() => document.activeElement.getAttribute('aria-label') ?? document.activeElement.textContent)

/** Presses a key until the focus is where it is wanted; fails if it never gets there. */
async function reach(page, key, wanted, most = 60) {
  for (let count = 0; count < most; count += 1) {
    if (await focused(page) === wanted) return
    await page.keyboard.press(key)
  }
  assert.fail(`${key} doesn't lead to "${wanted}", but to "${await focused(page)}"`)
}

for (const kind of BROWSERS) {
  test(`the talk, and what is beside it, in ${kind}`, { timeout }, async t => {
    const scene = await world(t)
    const { server, ada, grace, channel, talk } = scene
    const browser = await launch(t, kind)
    const [one, other] = await Promise.all([browser.visitor(WIDE), browser.visitor(WIDE)])
    const [hers, theirs] = [one.page, other.page]
    await enter(hers, server, ada, `${talk}/${channel}`)
    await composer(hers)
    await enter(theirs, server, grace, `${talk}/${channel}`)
    await composer(theirs)

    await t.test('a post is there for others, and Up edits it', async () => {
      await post(hers, 'The pilot boat is late')
      await sees(theirs, 'The pilot boat is late')
      await hers.bringToFront()
      await hers.keyboard.press('ArrowUp')
      await hers.waitForFunction(() => document.activeElement.closest('.edit'), { polling: 50 })
      await hers.keyboard.type(' again')
      await hers.keyboard.press('Enter')
      await sees(theirs, 'The pilot boat is late again')
      await sees(theirs, '(edited)')
      await hers.waitForFunction(() => document.activeElement?.matches('.main .composer textarea'), { polling: 50 })
    })

    await t.test('what is deleted is gone for everybody', async () => {
      await post(hers, 'Never mind')
      await sees(theirs, 'Never mind')
      await choose(hers, 'Never mind', 'Delete')
      await press(hers, 'Delete')
      await misses(theirs, 'Never mind')
    })

    await t.test('menus are accessible', async () => {
      await hers.bringToFront()
      const row = await hers.waitForSelector('.main .row')
      await row.hover()
      for (const opener of [await row.$('.tools button:last-child'), await hers.$('.bar [aria-haspopup=menu]'), await hers.$('.side .org')]) {
        await opener.click()
        await hers.waitForSelector('.menu')
        await accessible(hers, 'a menu')
        await hers.keyboard.press('Escape')
      }
    })

    await t.test('a reaction and a pin', async () => {
      await post(hers, 'High water at noon')
      await sees(theirs, 'High water at noon')
      const { id } = await message(scene, 'High water at noon')
      await grace.call('PUT', `/channels/${channel}/messages/${id}/reactions/${encodeURIComponent('🎉')}`)
      const reaction = await hers.waitForSelector('.reaction[aria-pressed="false"]')
      await hers.bringToFront()
      await reaction.click()
      await theirs.waitForFunction(() => document.querySelector('.reaction[aria-pressed="true"]')?.textContent.includes('2'), { polling: 50 })
      await choose(hers, 'High water at noon', 'Pin')
      await sees(theirs, 'Pinned by')
      await press(theirs, 'Pinned messages', 'link')
      await sees(theirs, 'Pinned by Ada King')
      await press(theirs, 'Unpin')
      await sees(theirs, 'Nothing is pinned here yet')
      await press(theirs, 'Close')
    })

    await t.test('@ completes the name of a person, who is called', async () => {
      await write(hers, '@gra')
      await hers.waitForSelector('.choices [aria-selected="true"]')
      await hers.keyboard.press('Enter')
      await hers.keyboard.type('can you take the lines?')
      await hers.keyboard.press('Enter')
      await sees(theirs, '@Grace Holm can you take the lines?')
      await theirs.waitForSelector('.row.called')
    })

    await t.test('a draft outlives the page', async () => {
      await write(hers, 'Half a thought')
      await new Promise(resolve => setTimeout(resolve, 700))
      await hers.reload()
      await hers.waitForFunction(() => document.querySelector('.main .composer textarea')?.value === 'Half a thought', { polling: 50 })
      await hers.keyboard.press('Tab')
      const area = await composer(hers)
      await area.evaluate(each => { each.value = '' ; each.dispatchEvent(new Event('input')) })
    })

    await t.test('a reply in a thread is unread in my threads, until it is marked', async () => {
      const { id } = await message(scene, 'High water at noon')
      await theirs.goto(`${talk}/${channel}/${id}`)
      await theirs.bringToFront()
      await (await theirs.waitForSelector('.beside .composer textarea')).focus()
      await theirs.keyboard.type('Then we sail at one')
      await theirs.keyboard.press('Enter')
      await hers.goto(`${talk}/threads`)
      await sees(hers, 'Then we sail at one')
      await sees(hers, '1 new')
      await press(hers, 'Mark as read')
      await misses(hers, '1 new')
      await press(hers, 'Open the thread', 'link')
      await arrives(hers, new RegExp(`/${channel}/${id}`))
    })

    await t.test('a thread that one leaves is quiet, until one follows it again', async () => {
      const { id } = await message(scene, 'High water at noon')
      await press(hers, 'Stop following this thread')
      await sees(hers, 'You no longer follow this thread.')
      const reply = content => grace.call('POST', `/channels/${channel}/messages`, { content, thread_id: id })
      await reply('The lines are in')
      await sees(hers, 'The lines are in')
      await hers.goto(`${talk}/threads`)
      await sees(hers, 'You don’t follow any threads yet.')
      await hers.goto(`${talk}/${channel}/${id}`)
      await press(hers, 'Follow this thread')
      await sees(hers, 'New replies are shown in “My threads”.')
      await hers.goto(`${talk}/threads`)
      await reply('Cast off')
      await sees(hers, '1 new')
      await press(hers, 'Stop following this thread')
      await sees(hers, 'You don’t follow any threads yet.')
    })

    await t.test('the search finds who wrote what, and leads there', async () => {
      await hers.goto(`${talk}/${channel}`)
      await press(hers, 'Search')
      await fill(hers, 'Search messages', 'water')
      await sees(hers, '1 message found')
      await hers.click('.filters summary')
      await fill(hers, 'Written by', 'gra')
      await hers.waitForSelector('.filters [role="option"]')
      await hers.keyboard.press('Enter')
      await sees(hers, 'Nothing found.')
      await press(hers, 'Clear filters')
      await sees(hers, '1 message found')
      await hers.click('.result .text')
      await hers.waitForSelector('.row.goal')
      await sees(hers, '1 message found')
      await theirs.bringToFront()
      await press(theirs, 'Mentions', 'link')
      await sees(theirs, '1 message found')
      assert.match(await theirs.$eval('.result', each => each.innerText), /can you take the lines/)
      await hers.bringToFront()
    })

    await t.test('the people of a channel', async () => {
      await hers.goto(`${talk}/${channel}?pane=members`)
      await sees(hers, '2 people')
      await fill(hers, 'Find somebody here', 'grace')
      await sees(hers, '1 person')
      await press(hers, 'Actions for Grace Holm')
      await press(hers, 'Write to Grace Holm', 'menuitem')
      await hers.waitForFunction(() => document.querySelector('.main .bar h1')?.innerText.includes('Grace Holm'), { polling: 50 })
    })

    await t.test('by keyboard alone: a post, its menu, a thread and back', async () => {
      await hers.goto(`${talk}/${channel}`)
      await composer(hers)
      await sees(hers, 'High water at noon')
      await reach(hers, 'Tab', 'Message to general')
      await hers.keyboard.type('By keys alone')
      await hers.keyboard.press('Enter')
      await sees(theirs, 'By keys alone')
      await hers.keyboard.down('Shift')
      await reach(hers, 'Tab', 'Ada King: By keys alone')
      await hers.keyboard.up('Shift')
      await reach(hers, 'Tab', 'Reply in thread')
      await hers.keyboard.press('Enter')
      await hers.waitForFunction(() => document.activeElement?.matches('.beside .composer textarea'), { polling: 50 })
      await hers.keyboard.type('Answered by keys')
      await hers.keyboard.press('Enter')
      await sees(hers, 'Answered by keys')
      await hers.keyboard.press('Escape')
      await hers.waitForFunction(() => !document.querySelector('.beside'), { polling: 50 })
      await hers.waitForFunction(() => document.activeElement?.matches('.main .composer textarea'), { polling: 50 })
    })

    if (kind === 'chrome') {
      await t.test('nothing that axe-core finds, light and dark, wide and on a phone', async () => {
        const { id } = await message(scene, 'High water at noon')
        await ada.call('PUT', `/channels/${channel}/messages/${id}/pin`)
        await grace.call('POST', `/channels/${channel}/messages`, { content: 'Rather at **two**', thread_id: id })
        const screens = {
          talk: [channel, '.row'],
          thread: [`${channel}/${id}`, '.beside .row'],
          threads: ['threads', '.last-reply'],
          search: [`${channel}?search=water&after=2020-01-01`, '.result'],
          pins: [`${channel}?pane=pins`, '.result'],
          members: [`${channel}?pane=members`, '.person'],
        }
        for (const [name, [address, selector]] of Object.entries(screens)) {
          await hers.goto(`${talk}/${address}`)
          await hers.waitForSelector(selector)
          for (const [view, width] of [[WIDE, 'wide'], [PHONE, 'phone']]) {
            for (const colours of ['light', 'dark']) {
              await hers.setViewport(view)
              await theme(hers, kind, colours)
              await picture(hers, `panes-${name}-${width}-${colours}`)
              await accessible(hers, `${name} ${width} ${colours}`)
            }
          }
        }
        await hers.setViewport(WIDE)
      })

      await t.test('four times the size, forced colours, and on paper', async () => {
        await hers.goto(`${talk}/${channel}?pane=pins`)
        await hers.waitForSelector('.result')
        await hers.setViewport({ width: WIDE.width / 4, height: WIDE.height / 4 })
        await accessible(hers, 'four times the size')
        await hers.setViewport(WIDE)
        const devtools = await hers.createCDPSession()
        const emulate = (media, forced) => devtools.send('Emulation.setEmulatedMedia', { media, features: [{ name: 'forced-colors', value: forced }] })
        await emulate('', 'active')
        await picture(hers, 'panes-forced-colours')
        // The colours are the system's then; what a background told has to be told by a line.
        assert.equal(await hers.$eval('.place[aria-current]', each => getComputedStyle(each).outlineStyle), 'solid')
        await emulate('print', 'none')
        const printed = await hers.evaluate(() => ['.main .row', '.side', '.beside', '.composer', '.tools'].filter(each => document.querySelector(each)?.checkVisibility()))
        assert.deepEqual(printed, ['.main .row'], 'the messages, and nothing that is there to be used')
        await emulate('', 'none')
      })
    }
    assert.deepEqual([...one.problems, ...other.problems], [])
  })

  test(`what one posts while older messages are shown is seen, where the newest are, in ${kind}`, { timeout }, async t => {
    const { server, ada, grace, channel, talk } = await world(t)
    const say = content => grace.call('POST', `/channels/${channel}/messages`, { content })
    const first = await say('The first buoy')
    for (let number = 0; number < 120; number += 1) await say(`Buoy ${number}`)
    const { visitor } = await launch(t, kind)
    const { page, problems } = await visitor(WIDE)
    await enter(page, server, ada, `${talk}/${channel}?m=${first.id}`)
    await composer(page)
    await page.waitForSelector('.row.goal')
    assert.doesNotMatch(await page.evaluate(() => document.body.innerText), /Buoy 119/)
    await write(page, 'All buoys seen')
    await page.keyboard.press('Enter')
    await page.waitForFunction(() => {
      const [before, last] = [...document.querySelectorAll('.main .row')].slice(-2)
      return before.innerText.includes('Buoy 119') && last.innerText.includes('All buoys seen') && last.getBoundingClientRect().bottom < innerHeight
    }, { polling: 50 })
    await until('the post on the server', () => message({ server, ada, channel }, 'All buoys seen'), 5_000)
    assert.deepEqual(problems, [])
  })
}
