// WebKit, the engine of Safari and of every browser on an iPhone, as Debian packages it. WebDriver drives it, because puppeteer can't.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Builder, Key } from 'selenium-webdriver'
import { SHOTS } from './browser.mjs'
import { HOST, freePort, until } from './server.mjs'

export { Key }

const LIMIT = 20_000
const PROGRAM = '/usr/lib/x86_64-linux-gnu/webkit2gtk-4.1/MiniBrowser'

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
    // Tests run as root, and without a graphics card.
    env: { ...process.env, WEBKIT_DISABLE_SANDBOX_THIS_IS_DANGEROUS: '1', LIBGL_ALWAYS_SOFTWARE: '1' },
  })
  let driver
  t.after(async () => {
    await driver?.quit()
    process.kill(-program.pid)
  })
  await until('WebKitWebDriver answers', () => fetch(`${server}/status`).then(({ ok }) => ok, () => false), LIMIT)
  driver = await new Builder().usingServer(server).withCapabilities({
    browserName: 'MiniBrowser',
    'webkitgtk:browserOptions': { binary: PROGRAM, args: ['--automation', '--full-screen'] },
  }).build()
  const evaluate = (script, ...values) => driver.executeScript(script, ...values)
  await driver.manage().window().setRect({ width, height })

  /** Waits until the function's body gives something, and says what the page showed if it never does. */
  async function holds(what, script, ...values) {
    let shown = ''
    return until(() => `${what}, at ${shown}`, async () => {
      const [found, text] = await evaluate(`const found = (() => { ${script} })(); return [found, \`\${location.pathname}\\n\${document.body.innerText}\`]`, ...values)
      shown = text
      return found
    }, LIMIT)
  }
  const element = (kinds, name) => holds(`"${name}" is there`, `${CALLED} return called(arguments[0], arguments[1])[0]`, kinds, name)

  return {
    driver,
    evaluate,
    holds,
    sees: text => holds(`"${text}" is shown`, 'return document.body.innerText.includes(arguments[0])', text),
    misses: text => holds(`"${text}" is gone`, 'return ![...document.querySelectorAll(".row")].some(each => each.innerText.includes(arguments[0]))', text),
    arrives: pattern => holds(`the address matches ${pattern}`, 'return new RegExp(arguments[0]).test(location.pathname)', pattern.source),
    element: selector => holds(`${selector} is shown`, 'return [...document.querySelectorAll(arguments[0])].find(each => each.checkVisibility())', selector),

    /** Opens an address. From then on, what the policy refuses and what scripts throw is collected. */
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
    async press(name, kinds = 'button, a, [role]') {
      await (await element(kinds, name)).click()
    },
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
