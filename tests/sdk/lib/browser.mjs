// Headless Chromium with no way out of this machine.
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { chromium } from 'playwright-core'
import { root } from './server.mjs'

export const shots = join(root, 'tests/sdk/out')
mkdirSync(shots, { recursive: true })

/** A page that can reach 127.0.0.1 alone; `strays` lists every address that it asked for elsewhere. `options` are the context's. */
export async function open(t, options = {}) {
  const browser = await chromium.launch({
    executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
    timeout: 60_000,
    args: [
      '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-dev-shm-usage',
      '--disable-background-networking', '--disable-component-update', '--disable-sync',
      // The network is cut off below the page too: no name can be looked up, no proxy asked.
      '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1', '--no-proxy-server',
    ],
  })
  t.after(() => browser.close())
  const context = await browser.newContext({ viewport: { width: 1280, height: 1000 }, ...options })
  const strays = []
  const local = url => ['data:', 'blob:', 'about:', 'file:'].includes(url.protocol) || url.hostname === '127.0.0.1'
  context.on('request', request => { if (!local(new URL(request.url()))) strays.push(request.url()) })
  await context.route(url => !local(url), route => route.abort())
  const page = await context.newPage()
  page.setDefaultTimeout(60_000) // beside other browsers, the docs UI takes half a minute to load
  const errors = []
  page.on('pageerror', error => errors.push(error.message))
  page.on('websocket', socket => { if (!local(new URL(socket.url()))) strays.push(socket.url()) })
  return { page, strays, errors }
}
