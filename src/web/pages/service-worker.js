// In the place of the web client's worker, where the client is switched off: forgets the files and the talk that were kept, and ends.
// Drafts and unsent posts, in databases of their own, stay for whom they belong to.

const TALK = /^tidings(-kept-.*)?$/

/** @param {string} name */
const erase = name => new Promise(resolve => {
  const request = indexedDB.deleteDatabase(name)
  // A page of the client that has it open lets it go, and loads itself again below.
  request.onsuccess = request.onerror = request.onblocked = resolve
})

self.addEventListener('install', () => self.skipWaiting())
self.addEventListener('activate', event => event.waitUntil((async () => {
  for (const name of await caches.keys()) await caches.delete(name)
  const databases = indexedDB.databases ? await indexedDB.databases().catch(() => []) : []
  await Promise.all(databases.map(({ name }) => name).filter(name => TALK.test(name)).map(erase))
  await self.registration.unregister()
  for (const page of await self.clients.matchAll({ type: 'window' })) await page.navigate(page.url).catch(() => {})
})()))
