// Keeps the shell and the files of one build, so that the client opens without a network. It is one file, since a worker that imports
// others could mix two builds. The server puts the build's name in, so each build brings a worker of its own.
//
// Answers of the API are never kept here: what was said is in the page's own database, under the name of whoever may read it.

const worker = /** @type {ServiceWorkerGlobalScope} */ (/** @type {unknown} */ (self))

const NAME = 'BUILD'
const PREFIX = 'client-'
/** How long a navigation waits for the network. */
const PATIENCE_MS = 2000
/** How long a page may take to hear where it is to go. */
const ANSWERS_WITHIN_MS = 1000
/** Addresses that show something without a network. Others lead to the server alone, such as its documentation. */
const KEPT = /^\/(?:$|o\/|settings(?:\/|$)|threads$)/

worker.addEventListener('install', event => event.waitUntil(install()))
worker.addEventListener('activate', event => event.waitUntil(activate()))
worker.addEventListener('fetch', event => {
  const { request } = event
  const { origin, pathname } = new URL(request.url)
  if (request.method !== 'GET' || origin !== worker.location.origin) return
  if (request.mode === 'navigate') {
    if (KEPT.test(pathname)) event.respondWith(navigate(request))
  } else if (pathname.startsWith('/client/') && pathname !== '/client/files.json') event.respondWith(file(request))
})

worker.addEventListener('message', event => { if (event.data?.show) event.waitUntil(showUnseen(event.data.show)) })
worker.addEventListener('notificationclick', event => {
  event.notification.close()
  event.waitUntil(open(event.notification.data.path))
})

/** Fetches all files and the shell; a build that was replaced meanwhile is not kept, since its shell would miss files. */
async function install() {
  const list = await fetched('/client/files.json')
  const { build, files } = await list.json()
  if (build !== NAME) throw new Error(`the server has ${build} now`)
  const shell = await fetched('/')
  if (!(await shell.clone().text()).includes(`/client/${NAME}/`)) throw new Error('the shell is of another build')
  const cache = await caches.open(PREFIX + NAME)
  await cache.addAll(files)
  await cache.put('/', shell)
  await worker.skipWaiting()
}

/** @param {string} address */
async function fetched(address) {
  const response = await fetch(address, { cache: 'no-store', redirect: 'error' })
  if (!response.ok) throw new Error(`${address}: ${response.status}`)
  return response
}

/** Deletes what older builds kept. The one before stays for tabs that still show it, and load a part only now. */
async function activate() {
  const old = (await caches.keys()).filter(name => name.startsWith(PREFIX) && name !== PREFIX + NAME)
  await Promise.all(old.slice(0, -1).map(name => caches.delete(name)))
  await worker.clients.claim()
}

/**
 * The page from the network; the kept shell if that fails, takes too long, or has nothing but a proxy that misses its server.
 *
 * @param {Request} request
 */
async function navigate(request) {
  const network = fetch(request)
  const late = new Promise(resolve => setTimeout(resolve, PATIENCE_MS))
  const first = await Promise.race([network, late]).catch(() => null)
  if (first instanceof Response && first.status < 500) return first
  return await (await caches.open(PREFIX + NAME)).match('/') ?? network
}

/**
 * A file of a build never changes, so whichever is kept is right.
 *
 * @param {Request} request
 */
const file = async request => await caches.match(request) ?? fetch(request)

/** The client's pages in this browser, the one used last first. */
const pages = async () => (await worker.clients.matchAll({ type: 'window', includeUncontrolled: true }))
  .filter(page => KEPT.test(new URL(page.url).pathname))

/**
 * Shows a notification that a page asks for, unless the person looks at another one.
 *
 * @param {{ title: string, options: any }} notification
 */
async function showUnseen({ title, options }) {
  if ((await pages()).some(page => page.visibilityState === 'visible')) return
  const before = await worker.registration.getNotifications({ tag: options.tag })
  // Another hidden page has shown it.
  if (before.some(each => each.data.path === options.data.path)) return
  await worker.registration.showNotification(title, { ...options, renotify: true })
}

/** Brings a page to the front, and to a place. One that does not hear that, since nobody has looked at it yet, is left alone. @param {string} path */
async function open(path) {
  const [page] = await pages()
  if (!page || !await hears(await page.focus(), path)) await worker.clients.openWindow(path)
}

/** @param {WindowClient} page @param {string} path @returns {Promise<boolean>} */
const hears = (page, path) => new Promise(resolve => {
  const { port1, port2 } = new MessageChannel()
  port1.onmessage = () => resolve(true)
  setTimeout(resolve, ANSWERS_WITHIN_MS, false)
  page.postMessage({ open: path }, [port2])
})
