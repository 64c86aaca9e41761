// The talk's dialogs: each is used by keyboard alone, does on the server what it says, and is accessible in both themes and widths.
import assert from 'node:assert/strict'
import test from 'node:test'
import { BROWSERS, PHONE, WIDE, accessible, arrives, launch, picture, sees, theme } from './lib/browser.mjs'
import { account, organisation, start, until } from './lib/server.mjs'

/** An organisation of three. Ada owns it; Grace made a channel that Ada isn't in. */
async function world(t) {
  const server = await start(t)
  const [ada, grace, tim] = await Promise.all([
    account(server, 'ada', { first_name: 'Ada', last_name: 'King' }),
    account(server, 'grace', { first_name: 'Grace', last_name: 'Holm' }),
    account(server, 'tim', { first_name: 'Tim', last_name: 'Berg' }),
  ])
  const harbour = await organisation(ada, [grace, tim])
  const made = (owner, name, more) => owner.call('POST', '/channels', { name, organisation_id: harbour.id, ...more })
  const [engine, quay] = [await made(ada, 'engine-room', { userIds: [grace.id] }), await made(grace, 'quay-five', { description: 'Who moors where' })]
  await made(grace, 'slipway', { description: 'What is hauled out' })
  const message = await grace.call('POST', `/channels/${harbour.general.id}/messages`, { content: 'The new injector is in.' })
  return { server, ada, grace, tim, harbour, engine, quay, message }
}

/** Opens the first channel as somebody whose browser has the cookie of a session. */
async function enter(page, { server, harbour }, person) {
  await page.goto(`${server.url}/sign-in`)
  await page.evaluate(async (email, password) => {
    await fetch('/api/v1/auth/login', {
      method: 'POST', headers: { 'Content-Type': 'application/json', 'Tidings-Client': 'web' }, body: JSON.stringify({ email, password, cookie: true }),
    })
  }, person.email, person.password)
  await page.goto(`${server.url}/o/${harbour.slug}/${harbour.general.id}`)
  await page.bringToFront()
  await sees(page, 'The new injector is in.')
}

/** What the keyboard is at: by its label, or by its text. */
const focused = page => page.evaluate(() => {
  const at = document.activeElement
  return at?.ariaLabel ?? [...at?.labels ?? []].map(each => (each.querySelector('span') ?? each).innerText.trim())[0] ?? at?.innerText?.trim() ?? ''
})

/** Goes to a control with Tab, or back with Shift: past the end of the page a browser without a window loses the focus to nothing. */
async function reach(page, name) {
  const isBefore = await page.evaluate(name => {
    const isCalled = each => (each.ariaLabel ?? each.innerText.trim()) === name && each.checkVisibility()
    const goal = [...(document.querySelector('dialog') ?? document).querySelectorAll('button')].find(isCalled)
    return Boolean(goal && document.activeElement.compareDocumentPosition(goal) & Node.DOCUMENT_POSITION_PRECEDING)
  }, name)
  const passed = []
  if (isBefore) await page.keyboard.down('Shift')
  while (await focused(page) !== name) {
    passed.push(await focused(page))
    assert.ok(passed.length < 60, `Tab does not reach "${name}": ${passed.join(', ')}`)
    await page.keyboard.press('Tab')
  }
  if (isBefore) await page.keyboard.up('Shift')
}

/** Another size; the page hears of it a moment later. */
async function resize(page, view) {
  await page.setViewport(view)
  await page.waitForFunction(width => innerWidth === width, { polling: 30 }, view.width)
  await page.evaluate(() => new Promise(resolve => { requestAnimationFrame(() => requestAnimationFrame(resolve)) }))
}

const shown = (page, selector) => page.waitForSelector(selector)
const closed = page => page.waitForFunction(() => !document.querySelector('dialog'), { polling: 30 })
const isAt = (page, name) => until(`the focus at "${name}"`, async () => await focused(page) === name, 5_000)
const hasOption = (page, text) => page.waitForFunction(text => document.querySelector('dialog [role="option"]')?.textContent.includes(text), { polling: 30 }, text)

/** Chooses from a menu by the arrows. */
async function take(page, name) {
  await shown(page, '.menu')
  for (let presses = 0; await focused(page) !== name; presses += 1) {
    assert.ok(presses < 15, `no "${name}" in the menu`)
    await page.keyboard.press('ArrowDown')
  }
  await page.keyboard.press('Enter')
}

async function goTo(page, text) {
  await page.keyboard.down('Control')
  await page.keyboard.press('k')
  await page.keyboard.up('Control')
  await shown(page, 'dialog.switcher')
  await page.keyboard.type(text)
}

for (const kind of BROWSERS) {
  test(`dialogs are accessible, and used by keyboard alone (${kind})`, { timeout: 90_000 }, async t => {
    const here = await world(t)
    const { visitor } = await launch(t, kind)
    const { page, problems } = await visitor()
    await enter(page, here, here.ada)
    await lookAt(t, kind, page)
    await t.test('who neither owns a channel nor manages all sees no editing, archiving or deleting', async () => {
      const { page, close } = await visitor()
      await enter(page, here, here.tim)
      await page.evaluate(() => document.querySelector('[aria-label="Channel menu"]').click())
      await shown(page, '.menu')
      const items = await page.$$eval('.menu button', all => all.map(each => each.innerText))
      assert.deepEqual(items.filter(each => /Edit|rchive|Delete/.test(each)), [])
      assert.ok(items.includes('Leave'))
      await close()
    })
    await page.bringToFront()
    await resize(page, WIDE)
    await use(t, here, page)
    assert.deepEqual(problems, [])
  })
}

/** Each dialog in both themes and widths. */
async function lookAt(t, kind, page) {
  const press = name => page.evaluate(name => [...document.querySelectorAll('button')].find(each => (each.ariaLabel ?? each.innerText.trim()).startsWith(name)).click(), name)
  const choose = async name => {
    await shown(page, '.menu')
    await page.evaluate(name => [...document.querySelectorAll('.menu button')].find(each => each.innerText === name).click(), name)
  }
  const opened = {
    switcher: async () => {
      await press('Go to')
      await shown(page, '.switcher [role="option"]')
      await page.keyboard.type('a')
      await hasOption(page, 'a')
    },
    create: async () => {
      await press('Add a channel')
      await choose('Create a channel')
      await shown(page, 'dialog [role="option"]')
    },
    browse: async () => {
      await press('Add a channel')
      await choose('Browse channels')
      await sees(page, 'quay-five')
    },
    direct: async () => {
      await press('Write to somebody')
      await hasOption(page, 'Tim')
      await page.keyboard.press('ArrowDown')
      await page.keyboard.press('Enter')
      await shown(page, '.chip')
    },
    emoji: async () => {
      await press('React')
      await page.waitForFunction(() => document.querySelectorAll('.emoji').length > 1_000, { polling: 30 })
      await page.keyboard.type('ship')
      await page.waitForFunction(() => document.querySelector('.emoji-grid > div:not([hidden]) .emoji')?.ariaLabel === 'ship', { polling: 30 })
    },
    edit: async () => {
      await press('Channel menu')
      await choose('Edit the channel')
      await shown(page, 'dialog textarea')
    },
    delete: async () => {
      await press('Channel menu')
      await choose('Delete the channel')
      await shown(page, 'dialog input')
    },
  }
  for (const [name, open] of Object.entries(opened)) {
    await t.test(`${name} has no violations`, async () => {
      await resize(page, WIDE)
      await theme(page, kind, 'light')
      await open()
      for (const view of [WIDE, PHONE]) {
        await resize(page, view)
        for (const colours of ['light', 'dark']) {
          await theme(page, kind, colours)
          await accessible(page, `${name}, ${view.width}, ${colours}`)
          if (kind === 'chrome' && (view === WIDE) === (colours === 'light')) await picture(page, `dialogs-${name}-${view.width}-${colours}`)
        }
      }
      await page.keyboard.press('Escape')
      await closed(page)
    })
  }
}

/** Each dialog by keyboard alone, by Ada. */
async function use(t, { ada, grace, tim, harbour, engine, quay, message }, page) {
  await t.test('Ctrl-K leads to a channel, and the focus to where one writes', async () => {
    await goTo(page, 'engine')
    await hasOption(page, 'engine-room')
    await page.keyboard.press('Enter')
    await arrives(page, new RegExp(engine.id))
    await isAt(page, 'Message to engine-room')
  })

  await t.test('Ctrl-K opens a conversation with somebody', async () => {
    await goTo(page, 'grace')
    await hasOption(page, 'Grace Holm')
    await page.keyboard.press('Enter')
    await isAt(page, 'Message to Grace Holm')
  })

  await t.test('Escape leaves Ctrl-K, and gives the focus back', async () => {
    await goTo(page, 'nowhere at all')
    await hasOption(page, 'Search messages for “nowhere at all”')
    await page.keyboard.press('Escape')
    await closed(page)
    await isAt(page, 'Message to Grace Holm')
  })

  await t.test('a private channel is made, with its topic and with people', async () => {
    await reach(page, 'Add a channel')
    await page.keyboard.press('Enter')
    await take(page, 'Create a channel')
    await isAt(page, 'Name')
    await page.keyboard.type('dry dock')
    await page.keyboard.press('Tab')
    await page.keyboard.type('Paint')
    await page.keyboard.press('Tab')
    await page.keyboard.press('ArrowDown')
    await reach(page, 'Add people (optional)')
    await page.keyboard.type('ti')
    await hasOption(page, 'Tim Berg')
    await page.keyboard.press('Enter')
    await shown(page, '.chip')
    await page.keyboard.press('Enter')
    await isAt(page, 'Message to dry-dock')
    const made = (await tim.call('GET', `/organisations/${harbour.id}/user-channels`)).find(each => each.name === 'dry-dock')
    const { is_private: isPrivate, topic } = await tim.call('GET', `/channels/${made.id}`)
    assert.deepEqual([isPrivate, topic], [true, 'Paint'])
  })

  await t.test('a chip is taken out with Backspace; two people get one conversation', async () => {
    await reach(page, 'Write to somebody')
    await page.keyboard.press('Enter')
    await isAt(page, 'To whom?')
    for (const name of ['tim', 'grace', 'tim']) {
      await page.keyboard.type(name)
      await hasOption(page, name === 'tim' ? 'Tim Berg' : 'Grace Holm')
      await page.keyboard.press('Enter')
      if (name === 'tim') await page.waitForFunction(() => document.querySelector('.chips')?.innerText.includes('Tim'), { polling: 30 })
      if (name === 'grace') {
        await page.waitForFunction(() => document.querySelectorAll('.chip').length === 2, { polling: 30 })
        await page.keyboard.press('Backspace')
        await page.keyboard.press('Backspace')
        await page.waitForFunction(() => document.querySelectorAll('.chip').length === 0, { polling: 30 })
      }
    }
    await page.keyboard.type('grace')
    await hasOption(page, 'Grace Holm')
    await page.keyboard.press('Enter')
    await page.waitForFunction(() => document.querySelectorAll('.chip').length === 2, { polling: 30 })
    await page.keyboard.press('Enter')
    await closed(page)
    await until('a conversation of three', async () => (await tim.call('GET', `/organisations/${harbour.id}/dms`)).some(each => each.participants.length === 3), 5_000)
    await until('the focus where one writes', async () => (await focused(page)).startsWith('Message to'), 5_000)
  })

  await t.test('an open channel is found, joined and opened', async () => {
    await reach(page, 'Add a channel')
    await page.keyboard.press('Enter')
    await take(page, 'Browse channels')
    await isAt(page, 'Name or topic')
    await sees(page, 'What is hauled out')
    await page.keyboard.type('quay')
    // Once the other channel is gone, the list is the answer to what was typed: an answer after Join would lack this row.
    await page.waitForFunction(() => !document.body.innerText.includes('What is hauled out'), { polling: 30 })
    await sees(page, 'Who moors where')
    await reach(page, 'Join')
    await page.keyboard.press('Enter')
    await isAt(page, 'Open')
    await page.keyboard.press('Enter')
    await arrives(page, new RegExp(quay.id))
  })

  await t.test('an emoji is found by name, and by the arrows', async () => {
    await goTo(page, 'general')
    await hasOption(page, 'general')
    await page.keyboard.press('Enter')
    await isAt(page, 'Message to general')
    const reactions = async () => (await grace.call('GET', `/messages/${message.id}`)).reactions.map(each => each.emoji).sort()
    // The newest row is reached backwards from the composer, its tools from the row.
    await page.focus('.row')
    await reach(page, 'React')
    await page.keyboard.press('Enter')
    await isAt(page, 'Search emoji')
    await page.waitForFunction(() => document.querySelectorAll('.emoji').length > 1_000, { polling: 30 })
    await page.keyboard.type('anchor')
    await page.waitForFunction(() => document.querySelector('.emoji-grid > div:not([hidden]) .emoji')?.ariaLabel === 'anchor', { polling: 30 })
    await page.keyboard.press('Enter')
    await until('an anchor', async () => (await reactions()).includes('⚓'), 5_000)
    await isAt(page, 'React')
    await page.keyboard.press('Enter')
    await isAt(page, 'Search emoji')
    await sees(page, 'Recently used')
    for (const key of ['ArrowDown', 'ArrowDown', 'ArrowUp', 'ArrowRight', 'Enter']) await page.keyboard.press(key)
    await until('a heart', async () => (await reactions()).includes('❤️'), 5_000)
  })

  await t.test('a channel is starred, muted, edited, left, and deleted once its name is typed', async () => {
    const menu = async name => {
      await reach(page, 'Channel menu')
      await page.keyboard.press('Enter')
      await take(page, name)
    }
    await goTo(page, 'engine')
    await hasOption(page, 'engine-room')
    await page.keyboard.press('Enter')
    await isAt(page, 'Message to engine-room')
    await menu('Star')
    await sees(page, 'Starred')
    await menu('Mute')
    await page.waitForSelector('.bar [aria-label="Muted"]')
    await menu('Edit the channel')
    await isAt(page, 'Name')
    await page.keyboard.press('Tab')
    await page.keyboard.type('Spare parts')
    await page.keyboard.press('Enter')
    await closed(page)
    await sees(page, 'Spare parts')
    await menu('Delete the channel')
    await page.keyboard.type('engine')
    await page.keyboard.press('Enter')
    assert.equal((await grace.call('GET', `/channels/${engine.id}`)).id, engine.id, 'half a name deletes nothing')
    await page.keyboard.type('-room')
    await page.keyboard.press('Enter')
    await closed(page)
    await page.waitForFunction(id => !location.pathname.includes(id), { polling: 30 }, engine.id)
    await goTo(page, 'quay')
    await hasOption(page, 'quay-five')
    await page.keyboard.press('Enter')
    await isAt(page, 'Message to quay-five')
    await menu('Leave')
    await shown(page, 'dialog')
    await reach(page, 'Leave')
    await page.keyboard.press('Enter')
    await sees(page, 'You left quay-five.')
    await page.waitForFunction(id => !location.pathname.includes(id), { polling: 30 }, quay.id)
    assert.ok(!(await ada.call('GET', `/organisations/${harbour.id}/user-channels`)).some(each => each.id === quay.id))
  })
}
