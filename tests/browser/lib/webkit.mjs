// WebKit, the engine of Safari and of every browser on an iPhone, as Debian packages it. WebDriver drives it, because puppeteer can't.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Builder, Key, error as errors } from 'selenium-webdriver'
import { SHOTS } from './browser.mjs'
import { HOST, freePort, until } from './server.mjs'

export { Key }

const LIMIT = 20_000
const PROGRAM = process.env.WEBKIT ?? '/usr/lib/x86_64-linux-gnu/webkit2gtk-4.1/MiniBrowser'

/** In the page: the elements that are shown and that people know by this name. */
const CALLED = `
  const nameOf = each => each.getAttribute('aria-label') ?? ([...each.labels ?? []].map(label => (label.querySelector('span') ?? label).innerText.trim())[0] || each.innerText?.trim())
  const called = (kinds, name) => [...document.querySelectorAll(kinds)].filter(each => nameOf(each) === name && each.checkVisibility())
`

/**
 * A window for one test, gone at its end. Each is a browser of its own, with nothing kept from another.
 *
 * @returns verbs of a person in front of it; `evaluate(script, …values)` runs a function's body in the page.
 */
export async function launch(t, { width, height }) {
  const port = await freePort()
  const server = `http://${HOST}:${port}`
  // A full screen has no bar of tools, which would not get as narrow as a phone.
  const program = spawn('xvfb-run', ['-a', '-s', `-screen 0 ${width}x${height}x24`, 'WebKitWebDriver', `--host=${HOST}`, `--port=${port}`], {
    detached: true,
    stdio: 'ignore',
    // Tests run as root, without a graphics card, and read English.
    env: { ...process.env, WEBKIT_DISABLE_SANDBOX_THIS_IS_DANGEROUS: '1', LIBGL_ALWAYS_SOFTWARE: '1', LC_ALL: 'C.UTF-8', LANGUAGE: 'en' },
  })
  let driver
  let isThere = true
  program.on('exit', () => { isThere = false })
  t.after(async () => {
    await Promise.race([driver?.quit().catch(() => {}), sleep(5000, null, { ref: false })])
    if (isThere) process.kill(-program.pid)
  })
  await until('WebKitWebDriver answers', () => fetch(`${server}/status`).then(({ ok }) => ok, () => false), LIMIT)
  driver = await new Builder().usingServer(server).withCapabilities({
    browserName: 'MiniBrowser',
    'webkitgtk:browserOptions': { binary: PROGRAM, args: ['--automation', '--full-screen'] },
  }).build()
  const evaluate = (script, ...values) => driver.executeScript(script, ...values)
  await driver.manage().window().setRect({ width, height })

  /** Does something until it succeeds. A page that is on its way to another one has no body, and what was found in it is gone. */
  async function patiently(what, act) {
    let why = ''
    return until(() => `${what}: ${why}`, async () => {
      try {
        const { done, shown } = await act()
        why = shown
        return done
      } catch (error) {
        if (!(error instanceof errors.WebDriverError)) throw error
        why = error.message
        return null
      }
    }, LIMIT)
  }

  /** Waits until the function's body gives something, and says what the page showed if it never does. */
  const holds = (what, script, ...values) => patiently(what, async () => {
    const [done, shown] = await evaluate(`const found = (() => { ${script} })(); return [found, \`\${location.pathname}\\n\${document.body?.innerText}\`]`, ...values)
    return { done, shown }
  })
  const element = (kinds, name) => holds(`"${name}" is there`, `${CALLED} return called(arguments[0], arguments[1])[0]`, kinds, name)

  return {
    driver,
    evaluate,
    holds,
    sees: text => holds(`"${text}" is shown`, 'return document.body.innerText.includes(arguments[0])', text),
    misses: text => holds(`"${text}" is gone`, 'return ![...document.querySelectorAll(".row")].some(each => each.innerText.includes(arguments[0]))', text),
    arrives: pattern => holds(`the address matches ${pattern}`, 'return new RegExp(arguments[0]).test(location.pathname)', pattern.source),
    element: selector => holds(`${selector} is shown`, 'return [...document.querySelectorAll(arguments[0])].find(each => each.checkVisibility())', selector),

    /** Opens an address. Once it is loaded, what the policy refuses and what scripts throw is collected; the driver tells of none before. */
    async open(address) {
      await driver.get(address)
      await evaluate(`
        window.problems ??= []
        addEventListener('error', event => problems.push(event.message))
        addEventListener('unhandledrejection', event => problems.push(String(event.reason)))
        addEventListener('securitypolicyviolation', event => problems.push(event.violatedDirective + ' ' + event.blockedURI))`)
    },
    async fill(label, text) {
      const field = await element('input, textarea, [contenteditable]', label)
      await field.clear()
      await field.sendKeys(text)
    },
    press: (name, kinds = 'button, a, [role]') => patiently(`"${name}" is pressed`, async () => {
      await (await element(kinds, name)).click()
      return { done: true, shown: '' }
    }),
    /** Keys for whatever has the focus. */
    keys: (...keys) => driver.actions().sendKeys(...keys).perform(),
    async assertSound() {
      assert.deepEqual(await evaluate('return problems'), [])
      assert.ok(await evaluate('return document.documentElement.scrollWidth <= innerWidth'), 'the page is wider than the window')
    },
    /** Takes a picture into tests/browser/out. */
    async picture(name) {
      mkdirSync(SHOTS, { recursive: true })
      writeFileSync(join(SHOTS, `webkit-${name}.png`), await driver.takeScreenshot(), 'base64')
    },
  }
}
