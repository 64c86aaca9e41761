// The service worker, in a world of its own: what it keeps, and what it answers without a network.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import test from 'node:test'
import vm from 'node:vm'
import { client } from './sources.mjs'

const ORIGIN = 'https://chat.example'
const source = readFileSync(join(client, 'service-worker.js'), 'utf8')

/** A browser's caches, as far as the worker uses them. */
class Caches {
  kept = new Map()
  constructor(fetch) {
    this.fetch = fetch
  }
  async open(name) {
    const entries = this.kept.get(name) ?? this.kept.set(name, new Map()).get(name)
    const path = request => new URL(request.url ?? request, ORIGIN).pathname
    return {
      match: async request => entries.get(path(request))?.clone(),
      put: async (request, response) => void entries.set(path(request), response),
      addAll: async paths => {
        const answers = await Promise.all(paths.map(each => this.fetch(each)))
        if (answers.some(({ ok }) => !ok)) throw new TypeError('a file is missing')
        answers.forEach((each, index) => entries.set(paths[index], each))
      },
    }
  }
  async match(request) {
    for (const name of this.kept.keys()) {
      const found = await (await this.open(name)).match(request)
      if (found) return found
    }
  }
  keys = async () => [...this.kept.keys()]
  delete = async name => this.kept.delete(name)
}

/** A server with a build, and a worker of a build before it. */
function world(build, { caches } = {}) {
  const files = [`/client/${build}/main.js`, `/client/${build}/style.css`]
  const pages = new Map([
    ['/client/files.json', JSON.stringify({ build, files })],
    ['/', `<script src="/client/${build}/main.js"></script>`],
    ...files.map(path => [path, `${path} itself`]),
  ])
  const server = { pages, status: 200, reached: true, answers: Promise.resolve(), asked: [] }
  const fetch = async request => {
    const { pathname } = new URL(request.url ?? request, ORIGIN)
    server.asked.push(pathname)
    if (!server.reached) throw new TypeError('no network')
    await server.answers
    if (server.status !== 200) return new Response('the proxy', { status: server.status })
    return pages.has(pathname) ? new Response(pages.get(pathname)) : new Response('', { status: 404 })
  }
  const listeners = {}
  const worker = {
    location: new URL(ORIGIN), addEventListener: (name, run) => { listeners[name] = run }, skipWaiting: async () => {}, clients: { claim: async () => {} },
  }
  const kept = caches ?? new Caches(fetch)
  kept.fetch = fetch
  vm.runInNewContext(source.replaceAll('BUILD', build), { self: worker, caches: kept, fetch, Response, URL, setTimeout: run => setTimeout(run, 20) })
  const dispatch = async name => {
    let done
    listeners[name]({ waitUntil: promise => { done = promise } })
    await done
  }
  /** What the worker answers, or `null` if it leaves the request to the browser. */
  const ask = async (path, { mode = 'navigate', method = 'GET', origin = ORIGIN } = {}) => {
    let answer = null
    listeners.fetch({ request: { url: origin + path, mode, method }, respondWith: promise => { answer = promise } })
    return answer && (await answer).text()
  }
  return { server, caches: kept, ask, install: () => dispatch('install'), activate: () => dispatch('activate') }
}

test('without a network the kept shell and its files are served', async () => {
  const { server, ask, install, activate } = world('one')
  await install()
  await activate()
  server.reached = false
  for (const path of ['/', '/o/acme/1/2?m=3', '/settings', '/settings/profile', '/threads']) assert.match(await ask(path), /client\/one\/main\.js/, path)
  assert.equal(await ask('/client/one/main.js', { mode: 'no-cors' }), '/client/one/main.js itself')
})

test('with a network the page is the server\'s own', async () => {
  const { server, ask, install } = world('one')
  await install()
  server.pages.set('/', 'newer')
  assert.equal(await ask('/'), 'newer')
})

test('a network that hangs, or a proxy without its server, does not keep the page away', async () => {
  const { server, ask, install } = world('one')
  await install()
  server.answers = new Promise(() => {})
  assert.match(await ask('/'), /client\/one/)
  server.answers = Promise.resolve()
  server.status = 502
  assert.match(await ask('/'), /client\/one/)
})

test('the API, other pages, other sites and everything that writes are left to the browser', async () => {
  const { server, ask, install } = world('one')
  await install()
  server.asked.length = 0
  for (const path of ['/api/v1/start', '/client/files.json', '/emoji.json']) assert.equal(await ask(path, { mode: 'cors' }), null, path)
  for (const path of ['/docs', '/docs/guide/push', '/sign-in', '/auth/reset-password?token=1', '/other']) assert.equal(await ask(path), null, path)
  assert.equal(await ask('/client/one/main.js', { origin: 'https://other.example' }), null)
  assert.equal(await ask('/', { method: 'POST' }), null)
  assert.deepEqual(server.asked, [])
})

test('a build that is replaced while it installs is not kept', async () => {
  const { server, caches, install } = world('one')
  server.pages.set('/client/files.json', JSON.stringify({ build: 'two', files: [] }))
  await assert.rejects(install())
  server.pages.set('/client/files.json', JSON.stringify({ build: 'one', files: [] }))
  server.pages.set('/', '<script src="/client/two/main.js"></script>')
  await assert.rejects(install())
  assert.deepEqual(await caches.keys(), [])
})

test('without the client, the worker in its place erases files and talk, and leaves drafts', async () => {
  const databases = new Set(['tidings', 'tidings-kept-one', 'tidings-kept-two', 'tidings-one', 'of-another-program'])
  const indexedDB = {
    databases: async () => [...databases].map(name => ({ name })),
    deleteDatabase: name => {
      const request = {}
      setTimeout(() => {
        databases.delete(name)
        request.onsuccess()
      })
      return request
    },
  }
  const [listeners, told] = [{}, []]
  const caches = new Caches()
  await caches.open('client-one')
  const self = {
    addEventListener: (name, run) => { listeners[name] = run },
    registration: { unregister: async () => told.push('unregistered') },
    clients: { matchAll: async () => [{ url: '/o/acme', navigate: async url => told.push(url) }] },
  }
  vm.runInNewContext(readFileSync(join(client, '../pages/service-worker.js'), 'utf8'), { self, caches, indexedDB })
  let done
  listeners.activate({ waitUntil: promise => { done = promise } })
  await done
  assert.deepEqual([...databases], ['tidings-one', 'of-another-program'])
  assert.deepEqual(await caches.keys(), [])
  assert.deepEqual(told, ['unregistered', '/o/acme'])
})

test('the build before stays for tabs that show it, older ones go, and caches of others stay', async () => {
  let { caches, install, activate } = world('one')
  await caches.open('of-another-program')
  await install()
  for (const build of ['two', 'three']) {
    ({ install, activate } = world(build, { caches }))
    await install()
    await activate()
  }
  assert.deepEqual(await caches.keys(), ['of-another-program', 'client-two', 'client-three'])
})
