// Headless Chromium and Firefox with no way out of this machine. Each person has a context of their own: cookies and databases apart.
import assert from 'node:assert/strict'
import { mkdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { after } from 'node:test'
import puppeteer from 'puppeteer-core'
import { HOST, root } from './server.mjs'

const FILES = {
  chrome: process.env.CHROMIUM ?? '/usr/bin/chromium',
  firefox: process.env.FIREFOX ?? '/usr/bin/firefox-esr',
}
/** The browsers to test with: both, or the one that BROWSER names. WebKit has tests of its own (webkit.test.mjs). */
export const BROWSERS = Object.keys(FILES).filter(kind => (process.env.BROWSER ?? kind) === kind)
if (BROWSERS.length === 0 && process.env.BROWSER !== 'webkit') throw new Error(`BROWSER=${process.env.BROWSER}: expected one of ${Object.keys(FILES).join(', ')}, webkit`)
export const WIDE = { width: 1280, height: 900 }
export const PHONE = { width: 390, height: 844, isMobile: false }

/** Colours on their way from one to another would be measured and pictured, and stand still in a tab behind another. */
const STILL = { name: 'prefers-reduced-motion', value: 'reduce' }

/** How far from a navigation's request Firefox reports what that interrupted: on a busy machine before it, or seconds after. */
const LEAVING_MS = 5000

/** Where pictures go. */
export const SHOTS = join(root, 'tests/browser/out')
const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

/** How each is started: no name can be looked up but the test's own, no proxy asked. */
const OPTIONS = {
  chrome: {
    args: host => [
      '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-dev-shm-usage',
      '--disable-background-networking', '--disable-component-update', '--disable-sync', '--lang=en',
      // Without this, Chromium loads 300 modules of its own address bar for each window.
      '--disable-features=WebUIOmniboxPopup,WebUIOmniboxAimPopup,WebUIOmniboxFullPopup',
      `--host-resolver-rules=${host === HOST ? '' : `MAP ${host} 127.0.0.1,`} MAP * ~NOTFOUND, EXCLUDE ${HOST}, EXCLUDE 127.0.0.1, EXCLUDE localhost`, '--no-proxy-server',
    ],
    prefs: () => ({}),
  },
  firefox: {
    args: () => [],
    prefs: host => ({
      'network.proxy.type': 0,
      'network.dns.localDomains': host === HOST ? '' : host,
      'intl.accept_languages': 'en',
      'signon.rememberSignons': false,
      'layout.css.prefers-color-scheme.content-override': 1,
      'ui.prefersReducedMotion': 1,
    }),
  },
}

/** The browsers of a file of tests, by how they were started: Firefox takes as long to start as most tests do. */
const running = new Map()
after(() => Promise.all([...running.values()].map(async browser => (await browser).close())))

/**
 * A browser, with contexts that end with the test; `kind` is one of BROWSERS. `host` is a name that leads to this machine, or its
 * address.
 *
 * @returns `visitor()` opens a page in a context of its own.
 */
export async function launch(t, kind, { args = [], prefs = {}, host = HOST } = {}) {
  const options = OPTIONS[kind]
  const how = {
    browser: kind,
    executablePath: FILES[kind],
    acceptInsecureCerts: true,
    args: [...options.args(host), ...args],
    extraPrefsFirefox: { ...options.prefs(host), ...prefs },
  }
  const key = JSON.stringify(how)
  if (!running.has(key)) running.set(key, puppeteer.launch(how))
  const browser = await running.get(key)
  const contexts = []
  t.after(() => Promise.all(contexts.filter(each => !each.closed).map(each => each.close())))
  return {
    kind,
    async visitor(view = WIDE) {
      const context = await browser.createBrowserContext()
      contexts.push(context)
      const problems = []
      const page = await watched(kind, context, view, problems, host)
      return { context, page, problems, another: () => watched(kind, context, view, problems, host), close: () => context.close() }
    },
  }
}

/** A page in a context. `problems` lists errors of scripts, what the policy refused, and addresses asked for elsewhere. */
async function watched(kind, context, view, problems, host) {
  const page = await context.newPage()
  if (kind === 'chrome') await page.emulateMediaFeatures([STILL])
  await page.setViewport(view)
  page.setDefaultTimeout(20_000)
  // A tab that nobody looks at does nothing, and whoever opens an address looks at it. `page.mainFrame().goto` opens one behind another.
  for (const name of ['goto', 'reload']) {
    const open = page[name].bind(page)
    page[name] = async (...input) => {
      await page.bringToFront()
      return open(...input)
    }
  }
  let leftAt = -Infinity
  /** Modules that were not loaded, while nothing says that the page was left. */
  let interrupted = []
  page.on('pageerror', error => {
    // Firefox reports a socket whose server is away, or whose page was left, as an error of the page.
    if (/establish a connection to the server at ws|The connection to ws.* was interrupted/.test(error.message)) return
    const problem = `error: ${error.message}`
    // It also reports modules that were being loaded when the page was left.
    if (/A ServiceWorker intercepted the request/.test(error.message)) {
      if (Date.now() - leftAt < LEAVING_MS) return
      interrupted.push({ problem, at: Date.now() })
    }
    problems.push(problem)
  })
  page.on('request', request => {
    if (request.isNavigationRequest() && request.frame() === page.mainFrame()) {
      leftAt = Date.now()
      for (const { problem, at } of interrupted) if (leftAt - at < LEAVING_MS) problems.splice(problems.indexOf(problem), 1)
      interrupted = []
    }
    const url = new URL(request.url())
    if (/^(https?|wss?):$/.test(url.protocol) && !['127.0.0.1', 'localhost', host].includes(url.hostname)) problems.push(`asked for ${url}`)
  })
  await page.evaluateOnNewDocument(() => {
    addEventListener('securitypolicyviolation', event => console.error(`refused by policy: ${event.violatedDirective} ${event.blockedURI} ${event.sample}`))
  })
  page.on('console', message => {
    if (message.text().startsWith('refused by policy:')) problems.push(message.text())
  })
  return page
}

/** Opens an address with a new session's cookies. */
export async function enter(page, { url }, { email, password }, address) {
  const response = await fetch(`${url}/api/v1/auth/login`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', 'Tidings-Client': 'web' },
    body: JSON.stringify({ email, password, cookie: true }),
  })
  const pairs = response.headers.getSetCookie().map(cookie => cookie.split(';')[0].split('='))
  await page.browserContext().setCookie(...pairs.map(([name, value]) => ({ name, value, domain: '127.0.0.1', path: '/', httpOnly: true })))
  await page.goto(address)
}

/** The elements of a role, by accessible name as `page.locator` takes it: `byRole('button', 'Sign in')`. */
export const byRole = (role, name) => `::-p-aria([role="${role}"][name="${name}"])`

/** The field with that label, once it is shown. Firefox would take the label itself for an element of this name. */
export const field = (page, label) => page.waitForFunction(label => {
  const isCalled = control => control.ariaLabel === label || [...control.labels ?? []].some(each => (each.querySelector('span') ?? each).innerText.trim() === label)
  return [...document.querySelectorAll('input, textarea, select, [contenteditable]')].find(each => isCalled(each) && each.checkVisibility())
}, { polling: 50 }, label)

/** Fills the field with that label, in place of what is in it. */
export async function fill(page, label, text) {
  await page.bringToFront() // pages behind another don't draw, and puppeteer waits for that
  const control = await field(page, label)
  await control.evaluate(each => { each.value = '' })
  await control.type(text)
}

/** Presses the button (or what else has the role) of that name. */
export async function press(page, name, role = 'button') {
  await page.bringToFront()
  await (await page.waitForSelector(byRole(role, name))).click()
}

/** Waits until the page shows the text. */
export async function sees(page, text) {
  try {
    await page.waitForFunction(text => document.body?.innerText.includes(text), { polling: 50 }, text)
  } catch (error) {
    const shown = await page.evaluate(() => `${location.pathname}\n${document.body.innerText}`)
    assert.fail(`${error.message}: no "${text}" at ${shown}`)
  }
}

/** Waits until the address matches. */
export async function arrives(page, pattern) {
  try {
    await page.waitForFunction(source => new RegExp(source).test(location.pathname + location.search), { polling: 50 }, pattern.source)
  } catch {
    assert.fail(await page.evaluate(() => `${location.pathname}${location.search}\n${document.body.innerText}`))
  }
}

/** Takes a picture into tests/browser/out. */
export async function picture(page, name) {
  mkdirSync(SHOTS, { recursive: true })
  await page.screenshot({ path: join(SHOTS, `${name}.png`) })
}

/** Takes pictures of what is open: wide, wide in the dark, and on a phone in the dark. Firefox shows the same. */
export async function pictures(page, kind, name) {
  if (kind !== 'chrome') return
  await picture(page, name)
  await theme(page, kind, 'dark')
  await picture(page, `${name}-dark`)
  await page.setViewport(PHONE)
  await picture(page, `${name}-phone`)
  await page.setViewport(WIDE)
  await theme(page, kind, 'light')
}

/** Sends a line where one writes. */
export async function write(page, text) {
  const field = await page.waitForSelector('.main .composer textarea')
  await field.focus()
  await page.keyboard.type(text)
  // The first Enter is for a suggestion, if one is open.
  await page.keyboard.press('Escape')
  await field.focus()
  await page.keyboard.press('Enter')
}

/** Fails if axe-core finds something, or if the page is wider than the window. */
export async function accessible(page, what) {
  await page.evaluate(axe)
  const { violations, wide } = await page.evaluate(async () => {
    const { violations } = await globalThis.axe.run(document)
    const { scrollWidth, clientWidth } = document.documentElement
    return { violations: violations.map(({ id, nodes }) => `${id}: ${nodes.map(node => node.html).join(' ')}`), wide: scrollWidth - clientWidth }
  })
  assert.deepEqual(violations, [], what)
  assert.ok(wide <= 0, `${what}: ${wide} px wider than the window`)
}

/** Light or dark, as the person's system says. Firefox takes it at its start alone, so there the page's own switch does. */
export async function theme(page, kind, name) {
  if (kind === 'chrome') await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: name }, STILL])
  else await page.evaluate(name => { document.documentElement.dataset.theme = name }, name)
}
