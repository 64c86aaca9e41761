// Browsers of the bench, and what is asked of their pages.
import { launch, WIDE } from '../../tests/browser/lib/browser.mjs'
import { logIn, PASSWORD } from '../../tests/browser/lib/server.mjs'

/** Runs in each page before its own scripts: the moments at which something has been painted. */
function probe() {
  const bench = { longest: 0, shift: 0, shifts: [] }
  globalThis.bench = bench
  /** Resolves after the frame that shows what is there now. */
  bench.frame = () => new Promise(resolve => requestAnimationFrame(() => {
    const { port1, port2 } = new MessageChannel()
    port1.onmessage = () => resolve(performance.now())
    port2.postMessage(0)
  }))
  /** Resolves after the frame that shows what `find` gives. */
  bench.painted = find => new Promise(resolve => {
    const look = () => {
      if (!find()) return
      watch.disconnect()
      bench.frame().then(resolve)
    }
    const watch = new MutationObserver(look)
    watch.observe(document, { childList: true, subtree: true, attributes: true, characterData: true })
    look()
  })
  bench.first = bench.painted(() => document.querySelector('.main .row .text'))
  bench.first.then(at => { bench.firstAt = at })
  const observe = (type, take) => {
    if (PerformanceObserver.supportedEntryTypes.includes(type)) new PerformanceObserver(list => list.getEntries().forEach(take)).observe({ type, buffered: true })
  }
  observe('longtask', each => { bench.longest = Math.max(bench.longest, each.duration) })
  observe('layout-shift', each => {
    bench.shift += each.value
    bench.shifts.push(each.sources?.map(({ node, previousRect, currentRect }) => `${node?.className ?? node?.nodeName} ${previousRect.y} to ${currentRect.y}`).join(', '))
  })
}

/** Starts Chromium with somebody signed in. `person.context()` gives a browser that was never at the server, but for the session. */
export async function person(t, world, email, args = []) {
  const { browser, visitor } = await launch(t, 'chrome', { args: ['--enable-precise-memory-info', ...args] })
  const { page, context } = await visitor(WIDE)
  await page.goto(`${world.server.url}/sign-in`)
  await page.evaluate(async (email, password) => {
    const headers = { 'Content-Type': 'application/json', 'Tidings-Client': 'web' }
    const answer = await fetch('/api/v1/auth/login', { method: 'POST', headers, body: JSON.stringify({ email, password, cookie: true }) })
    if (!answer.ok) throw new Error(await answer.text())
  }, email, PASSWORD)
  const cookies = await context.cookies()
  await context.close()
  const open = async () => {
    const made = await visitor(WIDE)
    await made.context.setCookie(...cookies)
    const watched = page => page.evaluateOnNewDocument(probe)
    await watched(made.page)
    return { ...made, another: async () => {
      const page = await made.another()
      await watched(page)
      return page
    } }
  }
  return { browser, open, ...await logIn(world.server, email) }
}

/** Opens a channel, and waits until its talk stands. The milliseconds that it took. */
export async function visit(page, url, world, channel = world.large) {
  await page.bringToFront()
  await page.goto(`${url}/o/${world.slug}/${channel}`, { waitUntil: 'domcontentloaded' })
  return page.evaluate(() => bench.first)
}

/** Waits until the page has its live connection. */
export const live = page => page.waitForFunction(() => !document.querySelector('.offline')?.innerText.trim(), { polling: 50 })

/** Bytes that live after the garbage is gone. */
export async function heap(page) {
  const cdp = await page.createCDPSession()
  await cdp.send('HeapProfiler.enable')
  for (let n = 0; n < 3; n += 1) await cdp.send('HeapProfiler.collectGarbage')
  const { usedSize } = await cdp.send('Runtime.getHeapUsage')
  const { nodes } = await cdp.send('Memory.getDOMCounters')
  const detached = await cdp.send('DOM.getDetachedDomNodes').then(answer => answer.detachedNodes.length, () => null)
  await cdp.detach()
  return { megabytes: usedSize / 1e6, nodes, detached }
}

/** Effects of the client that live. It may stand in one file or in many. */
export const effects = page => page.evaluate(async () => {
  const main = document.querySelector('script[type=module]').src
  const signals = (await import(main)).base_signal ?? await import(main.replace('main.js', 'base/signal.js'))
  return signals.liveEffects()
})
