// What the ways in remember, and where they lead.
import assert from 'node:assert/strict'
import test from 'node:test'

const kept = new Map()
globalThis.location = { origin: 'https://chat.example', pathname: '/sign-in', search: '' }
globalThis.localStorage = {
  getItem: name => kept.get(name) ?? null,
  setItem: (name, value) => void kept.set(name, String(value)),
  removeItem: name => void kept.delete(name),
}
const MODULE = '../../src/web/client/screens/entry/memory.js'
const { ownPath, rememberAddress } = await import(MODULE)

test('whoever signs in is led to a page of the client, and nowhere else', () => {
  for (const next of ['/', '/o/harbour/1/2?m=3#end', '/threads', '/settings/profile', '/join?token=1', '/new-organisation', '/o/a?next=//b', '/documents']) {
    assert.equal(ownPath(next), next)
  }
  for (const next of [
    null, '', 'o/harbour', '//evil.example', '/\\evil.example', '/\t/evil.example', '/.//evil.example/x', '/x/..//evil.example', '/%2e//evil.example',
    '/.//', 'https://evil.example/', 'javascript:alert(1)', '/sign-in', '/sign-in/mail', '/auth/oidc/start', '/auth/login/magic-link?token=1',
    '/docs', '/docs/guide', '/api/v1/profile', '/client/files.json', '/health', '/o/../docs',
  ]) {
    assert.equal(ownPath(next), '/', String(next))
  }
})

test('an address that somebody typed is forgotten after an hour', async t => {
  t.mock.timers.enable({ apis: ['Date'], now: 1_000_000 })
  rememberAddress('ada@example.org', { forMail: true, next: '/o/harbour' })
  // The link in the mail opens another tab.
  const another = await import(`${MODULE}?another`)
  t.mock.timers.tick(3_600_000)
  assert.deepEqual([another.rememberedAddress(), another.rememberedNext('ada@example.org')], ['ada@example.org', '/o/harbour'])
  t.mock.timers.tick(1)
  assert.deepEqual([another.rememberedAddress(), another.rememberedNext()], ['', null])
  assert.deepEqual([...kept], [])
})
