// The docs UI, the guide, the front page and examples/browser.html in headless Chromium, with no way out of this machine.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import test from 'node:test'
import { pathToFileURL } from 'node:url'
import { open, shots } from './lib/browser.mjs'
import { person, root, start } from './lib/server.mjs'

const timeout = 300_000

/** Addresses that the loaded page refers to, made absolute. */
const references = page => page.$$eval(
  'script[src], link[href]:not([href^="data:"]), img[src], iframe[src], source[src], object[data]',
  elements => elements.map(element => element.src || element.href || element.data),
)

test('the docs UI works without a network, and tries requests out', { timeout }, async t => {
  const server = await start(t)
  const { page, strays, errors } = await open(t)
  await page.goto(`${server.url}/docs`)

  // The operations are there.
  const operation = path => page.locator('.opblock', { has: page.locator(`[data-path="/auth/${path}"], [data-path$="/auth/${path}"]`) }).first()
  await operation('login').waitFor()
  await page.screenshot({ path: join(shots, 'docs.png') })
  const document = await (await fetch(`${server.url}/api/v1/openapi.json`)).json()
  const operations = Object.values(document.paths).flatMap(path => Object.keys(path)).length
  assert.ok(operations >= 30, `only ${operations} operations are documented`)
  assert.equal(await page.locator('.opblock').count(), operations)

  // "Try it out" reaches the running server.
  const register = operation('register')
  await register.locator('.opblock-summary').click()
  await register.getByRole('button', { name: 'Try it out' }).click()
  const body = { email: 'ada@example.org', password: 'quiet harbour at dawn', username: 'ada' }
  await register.locator('textarea.body-param__text').fill(JSON.stringify(body))
  const answered = page.waitForResponse(response => response.url() === `${server.url}/api/v1/auth/register`)
  await register.getByRole('button', { name: 'Execute' }).click()
  assert.equal((await answered).status(), 201)
  const live = register.locator('.live-responses-table')
  await live.getByText('User created successfully').waitFor()
  assert.match(await live.locator('tbody .response-col_status').first().innerText(), /201/)
  await register.scrollIntoViewIfNeeded()
  await page.screenshot({ path: join(shots, 'docs-try-it-out.png'), fullPage: false })
  const login = await server.call('POST', '/auth/login', { body: { email: body.email, password: body.password } })
  assert.equal(login.data.user.username, 'ada')

  // Authorised, a protected operation answers.
  await page.getByRole('button', { name: 'Authorize' }).first().click()
  const dialog = page.locator('.modal-ux')
  const bearer = dialog.locator('.auth-container', { hasText: /bearer/i }).first()
  await bearer.locator('input').first().fill(login.data.access_token)
  await bearer.getByRole('button', { name: 'Apply credentials' }).or(bearer.getByRole('button', { name: 'Authorize' })).first().click()
  await dialog.getByRole('button', { name: 'Close' }).first().click()
  const own = page.locator('.opblock-get', { has: page.locator('[data-path$="/users/organisations"]') }).first()
  await own.locator('.opblock-summary').click()
  await own.getByRole('button', { name: 'Try it out' }).click()
  const listed = page.waitForResponse(response => response.url() === `${server.url}/api/v1/users/organisations`)
  await own.getByRole('button', { name: 'Execute' }).click()
  assert.equal((await listed).status(), 200)

  // After a reload, the operation is open and the token is still there.
  await page.reload()
  await operation('login').waitFor()
  await own.getByRole('button', { name: 'Try it out' }).click()
  const again = page.waitForResponse(response => response.url() === `${server.url}/api/v1/users/organisations`)
  await own.getByRole('button', { name: 'Execute' }).click()
  assert.equal((await again).status(), 200)

  // Nothing was asked of, or refers to, another machine.
  for (const address of await references(page)) assert.equal(new URL(address).origin, server.url, address)
  const source = await (await fetch(`${server.url}/docs`)).text()
  const tags = source.replace(/(<script\b[^>]*>)[\s\S]*?<\/script>/gi, '$1').match(/<(?:script|link|img|iframe)\b[^>]*>/gi) ?? []
  for (const tag of tags) assert.doesNotMatch(tag, /(?:src|href)\s*=\s*["']?\s*(?:https?:)?\/\//i)
  assert.deepEqual(strays, [])
  assert.deepEqual(errors, [])
  await server.stop()
})

/** The document of one operation, with the components that it refers to. */
function alone(document, { path, method }) {
  const paths = { [path]: { [method]: document.paths[path][method] } }
  const components = { securitySchemes: document.components.securitySchemes }
  const add = value => {
    for (const [, kind, name] of JSON.stringify(value).matchAll(/"#\/components\/(\w+)\/([^"]+)"/g)) {
      components[kind] ??= {}
      if (components[kind][name] !== undefined) continue
      components[kind][name] = document.components[kind][name]
      add(components[kind][name])
    }
  }
  add(paths)
  return { ...document, paths, components }
}

test('the docs UI lists every operation, and shows its bounds, examples and refusals', { timeout: 2 * timeout }, async t => {
  const server = await start(t)
  const { page, strays, errors } = await open(t)
  await page.addInitScript(() => {
    let bundle
    Object.defineProperty(globalThis, 'SwaggerUIBundle', {
      set: made => { bundle = made },
      get: () => options => { globalThis.ui = bundle(options) },
    })
  })
  await page.goto(`${server.url}/docs`)
  await page.locator('.opblock').first().waitFor()
  const document = await (await fetch(`${server.url}/api/v1/openapi.json`)).json()
  const resolved = part => part?.$ref ? part.$ref.slice(2).split('/').reduce((at, name) => at[name], document) : part
  const json = part => part?.content?.['application/json; charset=utf-8']
  const words = ['minimum', 'maximum', 'minLength', 'maxLength', 'pattern', 'minItems', 'maxItems']
  const bounds = schema => words.filter(word => schema[word] !== undefined).map(word => `${word}: ${schema[word]}`)

  const operations = Object.entries(document.paths).flatMap(([path, methods]) => Object.entries(methods).map(([method, operation]) => {
    const body = resolved(json(operation.requestBody)?.schema)
    const inParameters = (operation.parameters ?? []).flatMap(({ schema }) => bounds(schema))
    const inBody = Object.values(body?.properties ?? {}).flatMap(bounds)
    const answers = Object.entries(operation.responses).map(([status, answer]) => [status, json(resolved(answer))])
    return { ...operation, path, method, name: `${method.toUpperCase()} ${path}`, body, inParameters, inBody, answers }
  }))
  const shownRows = await page.locator('.opblock').evaluateAll(blocks => blocks.map(block =>
    `${block.querySelector('.opblock-summary-method').innerText} ${block.querySelector('[data-path]').dataset.path}`))
  assert.deepEqual(shownRows.sort(), operations.map(({ name }) => name).sort())

  // The page resolves its whole document for each operation that is opened, which takes ten times as long.
  for (const operation of operations) {
    const { name, operationId, requestBody, body, inParameters, inBody, answers } = operation
    await page.evaluate(document => globalThis.ui.specActions.updateJsonSpec(document), alone(document, operation))
    const block = page.locator(`[id$="-${operationId}"]`)
    await block.locator('.opblock-summary-control').evaluate(control => control.click())
    await block.locator('.responses-table').waitFor()
    if (body) {
      const section = block.locator('.opblock-section-request-body')
      const example = JSON.parse(await section.locator('.highlight-code code').innerText())
      assert.deepEqual(example, json(requestBody).example, name)
      await section.locator('[data-name="model"]').evaluate(tab => tab.click())
    }
    const shown = (await block.innerText()).replace(/\s+/g, ' ')
    assert.deepEqual([...inParameters, ...inBody].filter(bound => !shown.includes(bound.replace(/\s+/g, ' '))), [], name)

    const rows = await block.locator('.response').evaluateAll(rows => rows.map(row => {
      const said = [...row.querySelectorAll('.examples-select option')].map(option => option.innerText)
      return { status: row.dataset.code, said, example: row.querySelector('.highlight-code code')?.innerText }
    }))
    assert.deepEqual(rows.map(row => row.status), answers.map(([status]) => status), name)
    rows.forEach(({ status, said, example }, n) => {
      const [, documented] = answers[n]
      const words = Object.values(documented?.examples ?? {})
      assert.deepEqual(said, words.map(({ summary }) => summary), `${name}: ${status}`)
      if (documented) assert.deepEqual(JSON.parse(example), words[0]?.value ?? documented.example, `${name}: ${status}`)
    })
    if (operationId === 'createChannel') {
      await block.scrollIntoViewIfNeeded()
      await block.screenshot({ path: join(shots, 'docs-operation.png') })
    }
  }
  assert.deepEqual([strays, errors], [[], []])
  await server.stop()
})

test('the docs UI fits a phone, and a wide screen in the dark', { timeout }, async t => {
  const server = await start(t)
  const { page, strays, errors } = await open(t)
  for (const [width, colorScheme] of [[390, 'light'], [390, 'dark'], [1280, 'dark']]) {
    await page.setViewportSize({ width, height: 844 })
    await page.emulateMedia({ colorScheme })
    await page.goto(`${server.url}/docs`)
    await page.locator('.opblock').first().waitFor()
    assert.equal(await page.locator('meta[name="viewport"]').getAttribute('content'), 'width=device-width, initial-scale=1')
    const fits = async what => {
      const wide = await page.evaluate(() => document.documentElement.scrollWidth)
      assert.ok(wide <= width, `${what}: the page is ${wide} wide on ${width}`)
    }
    await fits('all operations')
    // The longest path, a table of parameters, a body with schemas in schemas.
    for (const id of ['replayWebhookDelivery', 'listOrganisationMembers', 'createRole']) {
      const block = page.locator(`[id$="-${id}"]`)
      await block.locator('.opblock-summary-control').click()
      await block.locator('.responses-table').waitFor()
      await block.getByRole('button', { name: 'Try it out' }).click()
      await fits(id)
      await block.scrollIntoViewIfNeeded()
      await page.screenshot({ path: join(shots, `docs-${width}-${colorScheme}-${id}.png`) })
    }
    await page.getByRole('button', { name: 'Authorize' }).first().click()
    const { x, y, width: wide } = await page.locator('.modal-ux').boundingBox()
    assert.ok(x >= 0 && y >= 0 && y < 844 && x + wide <= width, `the dialog is on the screen: ${x}, ${y}, ${wide}`)
    await fits('the dialog')
  }
  for (const icon of await page.$$eval('link[rel="icon"]', links => links.map(link => link.href))) {
    assert.equal((await fetch(icon)).status, 200, icon)
  }
  assert.deepEqual([strays, errors], [[], []])
  await server.stop()
})

test('without the client, the front page leads to the docs and the document', { timeout }, async t => {
  const server = await start(t, '--client', 'off')
  const { page, strays, errors } = await open(t)
  await page.goto(`${server.url}/`)
  await page.screenshot({ path: join(shots, 'front.png') })
  const links = await page.$$eval('a[href]', elements => elements.map(element => element.href))
  for (const wanted of ['/docs', '/api/v1/openapi.json', '/api/v1/asyncapi.json']) {
    assert.ok(links.includes(server.url + wanted), `no link to ${wanted} among ${links}`)
    assert.equal((await page.request.get(server.url + wanted)).status(), 200)
  }
  for (const address of await references(page)) assert.equal(new URL(address).origin, server.url, address)
  await page.locator('a[href$="/docs"]').first().click()
  await page.locator('.opblock').first().waitFor()
  assert.deepEqual(strays, [])
  // The watch itself works: a request to another host would have been seen, and got nothing. The docs' policy would not
  // let it be made.
  await page.goto('about:blank')
  const elsewhere = 'http://cdn.example.org/library.js'
  assert.equal(await page.evaluate(url => fetch(url, { mode: 'no-cors' }).then(() => 'fetched', () => 'cut off'), elsewhere), 'cut off')
  assert.deepEqual(strays, [elsewhere])
  assert.deepEqual(errors, [])
  await server.stop()
})

test('without the client, the link of the start makes the first administrator, once', { timeout }, async t => {
  const server = await start(t, '--client', 'off')
  const [link] = server.output().match(/http\S*\/setup\?token=\S+/)
  const { page, strays, errors } = await open(t)
  const fill = async again => {
    await page.getByLabel('E-mail address').fill('ada@example.org')
    await page.getByLabel('First name').fill('Ada')
    await page.getByLabel('Last name').fill('Lovelace')
    await page.getByLabel('Password').fill('quiet harbour at dawn')
    await page.getByLabel('Once more').fill(again)
    await page.getByLabel('Name of the first organisation').fill('Harbour')
    await page.getByRole('button').click()
  }
  await page.goto(link)
  await fill('quiet harbour at dusk')
  await page.getByText('The two passwords differ.').waitFor()
  await fill('quiet harbour at dawn')
  await page.getByText('The account ada@example.org administers this server').waitFor()
  await page.screenshot({ path: join(shots, 'setup.png') })
  const { data } = await server.call('POST', '/auth/login', { body: { email: 'ada@example.org', password: 'quiet harbour at dawn' } })
  const own = await server.call('GET', '/users/organisations', { bearer: data.access_token })
  assert.deepEqual(own.data.map(organisation => organisation.name), ['Harbour'])
  await page.goto(link)
  await fill('quiet harbour at dawn')
  await page.getByText('This link does not work any more').waitFor()
  assert.deepEqual(strays, [])
  assert.deepEqual(errors.filter(error => !error.includes('403')), [])
  await server.stop()
})

test('the guide is read in a browser without a network', { timeout }, async t => {
  const server = await start(t)
  const { page, strays, errors } = await open(t)
  await page.goto(`${server.url}/docs`)
  const link = page.locator('a[href$="/docs/guide"]').first()
  await link.waitFor()
  await page.goto(await link.evaluate(element => element.href))
  await page.locator('nav').getByText('Webhooks', { exact: true }).click()
  await page.getByRole('heading', { name: 'What a delivery looks like' }).waitFor()
  assert.equal(await page.locator('nav [aria-current]').innerText(), 'Webhooks')
  // The style sheet applies: the navigation is beside the text, and below 50 rem above it.
  const left = () => page.locator('main').evaluate(element => element.getBoundingClientRect().left)
  assert.ok(await left() > 150)
  await page.screenshot({ path: join(shots, 'guide.png') })
  await page.setViewportSize({ width: 390, height: 800 })
  assert.ok(await left() < 50)
  assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), 'the page scrolls sideways')
  await page.screenshot({ path: join(shots, 'guide-narrow.png') })
  await page.locator('main a[href="/docs/guide/limits#webhooks"]').click()
  await page.waitForURL(`${server.url}/docs/guide/limits#webhooks`)
  assert.equal(await page.locator('#webhooks').innerText(), 'Webhooks')
  for (const address of await references(page)) assert.equal(new URL(address).origin, server.url, address)
  assert.deepEqual(strays, [])
  assert.deepEqual(errors, [])
  await server.stop()
})

test('the docs lead to what is pushed, with its fields and examples, without a network', { timeout }, async t => {
  const server = await start(t)
  const { page, strays, errors } = await open(t)
  await page.goto(`${server.url}/docs`)
  const document = page.locator('a[href$="/api/v1/asyncapi.json"]').first()
  await document.waitFor()
  const { channels, components } = await (await page.request.get(await document.evaluate(element => element.href))).json()
  await page.goto(await page.locator('a[href$="/docs/guide/events"]').first().evaluate(element => element.href))
  const headings = await page.locator('main :is(h2, h3)').allInnerTexts()
  for (const { title } of Object.values(components.messages)) assert.ok(headings.includes(title), `${title} is missing`)
  for (const { address } of Object.values(channels).filter(channel => channel.address)) {
    await page.getByText(address.replaceAll('{', '<').replaceAll('}', '>'), { exact: true }).first().waitFor()
  }
  await page.getByRole('heading', { name: 'unread_thread_change' }).scrollIntoViewIfNeeded()
  await page.getByRole('cell', { name: "The number of the receiver's unread mentions." }).waitFor()
  await page.screenshot({ path: join(shots, 'events.png') })
  assert.deepEqual(strays, [])
  assert.deepEqual(errors, [])
  await server.stop()
})

const example = join(root, 'examples/browser.html')

/** Serves it from another origin than the server's. */
async function elsewhere(t) {
  const html = readFileSync(example)
  const other = createServer((request, response) => {
    response.writeHead(request.url === '/' ? 200 : 404, { 'Content-Type': 'text/html; charset=utf-8' })
    response.end(request.url === '/' ? html : '')
  })
  await new Promise((resolve, reject) => other.once('error', reject).listen(0, '127.0.0.1', resolve))
  t.after(() => {
    other.closeAllConnections()
    other.close()
  })
  return `http://127.0.0.1:${other.address().port}/`
}

async function logIn(page, server, account) {
  await page.getByLabel('Server').fill(server.url)
  await page.getByLabel('E-mail').fill(account.email)
  await page.getByLabel('Password').fill(account.password)
  await page.getByRole('button', { name: 'Log in and listen' }).click()
}

for (const place of ['another origin', 'a file']) {
  test(`examples/browser.html, opened from ${place}, prints what arrives`, { timeout }, async t => {
    const server = await start(t, '--allowed-origin', '*')
    const ada = await person(server, 'ada')
    const organisation = (await server.call('POST', '/organisations', { bearer: ada.bearer, body: { name: 'Harbour' } })).data
    const channel = (await server.call('POST', '/channels', {
      bearer: ada.bearer,
      body: { name: 'pilots', description: 'Who brings which ship in', organisation_id: organisation.id },
    })).data
    const { page, strays, errors } = await open(t)
    await page.goto(place === 'a file' ? pathToFileURL(example).href : await elsewhere(t))
    await logIn(page, server, ada)
    // general, pilots and the personal one.
    await page.getByText('listening to 3 of 3 channels').waitFor()
    const content = 'The Fram arrives at six <b>sharp</b>'
    await server.call('POST', `/channels/${channel.id}/messages`, { bearer: ada.bearer, body: { content } })
    await page.getByText(`${ada.username}: ${content}`).waitFor()
    // Her other devices are told what they have unread.
    await page.getByText('unread_thread_change: pilots').waitFor()
    assert.equal(await page.locator('#log li').count(), 2)
    await page.screenshot({ path: join(shots, 'browser-example.png') })
    await server.stop()
    await page.getByText('closed: shutdown').waitFor()
    assert.deepEqual(strays, [])
    assert.deepEqual(errors, [])
  })
}

test('without --allowed-origin, a page from elsewhere gets nothing', { timeout }, async t => {
  const server = await start(t)
  const ada = await person(server, 'ada')
  const { page } = await open(t)
  await page.goto(await elsewhere(t))
  await logIn(page, server, ada)
  await page.getByText('failed: ').waitFor()
  const outcome = await page.evaluate(url => new Promise(resolve => {
    const socket = new WebSocket(url)
    socket.onopen = () => resolve('open')
    socket.onerror = () => resolve('refused')
  }), server.socketUrl)
  assert.equal(outcome, 'refused')
  await server.stop()
})
