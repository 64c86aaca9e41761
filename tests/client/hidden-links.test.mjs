// What other programs post through a webhook shows where its links lead: bodies of theirs, changed at random, are posted to a server and
// read as the client reads them. No label that could be taken for an address leads to another one.
//
// TIDINGS_BODIES is the number of bodies of each program.
import assert from 'node:assert/strict'
import { readFileSync, readdirSync } from 'node:fs'
import test from 'node:test'
import { parse } from '../../src/web/client/text/markdown.js'
import { account, organisation, start } from '../browser/lib/server.mjs'
import { createChance } from './lib/chance.mjs'

const BODIES = Number(process.env.TIDINGS_BODIES ?? 150)
const FOLDER = new URL('../data/hooks/', import.meta.url)
/** Requests at a time. */
const AT_ONCE = 16

const LINKS = [
  '[bank.example](https://evil.example)', '<https://evil.example|bank.example>', '<https://evil.example|https://bank.example/login>',
  '[https://bank.example](https://evil.example)', '[**bank**.example](https://evil.example)', '[bank\u200b.example](https://evil.example)',
  '[a [bank.example](https://evil.example) b](https://evil.example)', '![bank.example](https://evil.example/x.png)', '[bank。example](https://evil.example)',
  '[`bank.example`](https://evil.example)', '[bank\\.example](https://evil.example)', '[bank.example\n](https://evil.example)',
]
const PARTS = ['[', ']', '](', '](https://evil.example)', '[bank.example', '<https://evil.example|', 'bank.example>', '>', '\\', '`', '```', '\n', '\n- ', '*', '_', '~~', '(', ')', '\u202e']

/** Changes some of the texts in a body. @param {any} value @param {ReturnType<typeof createChance>} chance @returns {any} */
function changed(value, chance) {
  if (Array.isArray(value)) return value.map(each => changed(each, chance))
  if (value && typeof value === 'object') return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, changed(each, chance)]))
  if (typeof value !== 'string' || chance.below(3) > 0) return value
  const at = chance.below(value.length + 1)
  const more = chance.below(2) === 0 ? chance.pick(LINKS) : Array.from({ length: 1 + chance.below(5) }, () => chance.pick(PARTS)).join('')
  return value.slice(0, at) + more + value.slice(chance.below(3) === 0 ? at + more.length : at)
}

/** The text that somebody sees. */
const seen = nodes => nodes.map(node => node.text ?? (node.children ? seen(node.children) : node.name ?? '')).join('')

/** All links of a tree. */
const links = nodes => nodes.flatMap(node => [
  ...node.type === 'link' ? [node] : [], ...links(node.children ?? []), ...(node.items ?? []).flatMap(item => links(item)),
])

const UNSEEN = /[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]/g
/** An address without its scheme. @param {string} text */
const bare = text => text.replace(/^.*:\/\//, '').replace(/\/+$/, '')
/** Whether people may take a text for an address. */
const isLikeAddress = text => /:\/\/|[\p{L}\p{N}][.\u2024\u3002\uff0e\uff61]\p{L}{2}/u.test(text.replace(UNSEEN, ''))

test('no link of another program hides where it leads', { timeout: 900_000 }, async t => {
  const server = await start(t, '--rate-limit', 'off')
  const ada = await account(server, 'ada')
  const harbour = await organisation(ada, [])
  for (const file of readdirSync(FOLDER)) {
    const cases = JSON.parse(readFileSync(new URL(file, FOLDER), 'utf8'))
    const channel = (await ada.call('POST', '/channels', { name: file.replace('.json', ''), organisation_id: harbour.id })).id
    const { webhook_slug: slug } = await ada.call('POST', `/webhooks/${channel}`, { webhook_name: 'feed' })
    const address = new URL(file === 'mattermost.json' ? `/hooks/${slug}` : `/api/v1/webhooks/feed/${slug}`, server.url)
    const chance = createChance(28)
    let left = BODIES
    const post = async () => {
      while (left > 0) {
        left -= 1
        const { headers, body } = chance.pick(cases)
        const response = await fetch(address, {
          method: 'POST', headers: { ...headers, 'Content-Type': 'application/json' }, body: JSON.stringify(changed(body, chance)),
        })
        await response.arrayBuffer()
        assert.ok(response.status < 500, `${file}: ${response.status}`)
      }
    }
    await Promise.all(Array.from({ length: AT_ONCE }, post))
    let [count, before] = [0, '']
    do {
      const { messages } = await server.call('GET', `/channels/${channel}/messages?limit=200${before}`, { bearer: ada.bearer })
      for (const { content } of messages) {
        for (const { address: leads, children } of links(parse(content))) {
          const label = seen(children).trim()
          const words = label.split(/\s+/)
          const last = words.pop()
          const isSame = !words.some(isLikeAddress) && [bare(last), `mailto:${last}`].some(each => each === bare(leads))
          assert.ok(!isLikeAddress(label) || isSame, `${file}: [${label}](${leads}) in ${JSON.stringify(content)}`)
        }
      }
      count += messages.length
      before = messages.length > 0 ? `&before=${messages.at(-1).id}` : ''
    } while (before)
    assert.ok(count > BODIES / 2, `${file}: ${count} of ${BODIES} were posted`)
  }
})
