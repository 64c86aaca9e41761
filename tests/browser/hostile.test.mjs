// What people write may be anything. None of it becomes part of the page, breaks it, or leaves it.
import assert from 'node:assert/strict'
import test from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { BROWSERS, WIDE, fill, launch, picture, pictures, press, sees } from './lib/browser.mjs'
import { PASSWORD, account, organisation, start } from './lib/server.mjs'

const MARKUP = [
  '<img src=x onerror="globalThis.broken=1">', '<script>globalThis.broken=1</script>', '"><svg onload=globalThis.broken=1>', "'-globalThis.broken=1-'",
  '{{constructor.constructor("globalThis.broken=1")()}}', '${globalThis.broken=1}', '</textarea><iframe srcdoc="<script>parent.broken=1</script>">', '&lt;b&gt;&#x3c;',
  '__proto__', 'constructor', 'toString', '{name}', '<link>x</link>', '\u2067ltr\u2066', 'e\u0301'.repeat(20), '\u0e49'.repeat(40),
]
const LINKS = [
  'javascript:globalThis.broken=1', '[x](javascript:globalThis.broken=1)', '[x](JaVaScRiPt:globalThis.broken=1)', '[x](java\tscript:globalThis.broken=1)',
  '[x](&#106;avascript:globalThis.broken=1)', '[x](data:text/html,<script>opener.broken=1</script>)', '[x](vbscript:x)', '[x](//evil.example/)', '[x](/\\evil.example)',
  '[x](http:javascript:1)', '<javascript:globalThis.broken=1>', '![x](https://evil.example/pixel.png)', '![x](http://evil.example/"onerror=globalThis.broken=1)',
  '[https://bank.example](https://evil.example/"onmouseover="globalThis.broken=1)', 'https://evil.example/<script>globalThis.broken=1</script>', '[x](blob:https://a/b)',
  '[x](file:///etc/passwd)', 'https://user:secret@evil.example/', 'http://[::1]/', '@ada<script>', '@__proto__ @constructor #__proto__ :constructor: :__proto__:',
]
const TEXTS = [
  ...MARKUP.map(each => `text ${each}`), ...LINKS, `\`\`\`"><script>globalThis.broken=1</script>\n${MARKUP.join('\n')}\n\`\`\``, '> '.repeat(500) + 'deep', '- '.repeat(500) + 'deep',
  '*_'.repeat(3000), '['.repeat(5000), 'W'.repeat(5000), '\n'.repeat(300) + 'end', '🎉'.repeat(2000), '\u202eevil.exe',
]

for (const kind of BROWSERS) {
  test(`${kind}: hostile names, topics, texts and links stay what they are: text`, async t => {
    const server = await start(t)
    const ada = await account(server, 'ada', { first_name: MARKUP[0].slice(0, 60), last_name: '{{1+1}}' })
    const eve = await account(server, 'eve', { first_name: MARKUP[2].slice(0, 60), last_name: '${1}' })
    const { id, slug, general } = await organisation(ada, [eve], MARKUP[1])
    for (const name of MARKUP) {
      // What is refused is refused; what is taken has to be shown.
      await ada.call('POST', '/channels', { name: name.slice(0, 60), organisation_id: id, topic: name, is_private: false }).catch(() => {})
    }
    for (const text of TEXTS) await eve.call('POST', `/channels/${general.id}/messages`, { content: text })
    const { id: root } = await eve.call('POST', `/channels/${general.id}/messages`, { content: `@ada ${MARKUP.join(' ')}` })
    for (const text of MARKUP) await eve.call('POST', `/channels/${general.id}/messages`, { content: text, thread_id: root })
    for (const emoji of ['<b>', '"onload=1', '__proto__', ':constructor:', '<script>']) {
      await eve.call('PUT', `/channels/${general.id}/messages/${root}/reactions/${encodeURIComponent(emoji)}`).catch(() => {})
    }

    const { visitor } = await launch(t, kind)
    const { page, problems } = await visitor(WIDE)
    await page.goto(`${server.url}/sign-in?next=${encodeURIComponent('javascript:globalThis.broken=1')}`)
    await fill(page, 'E-mail address', ada.email)
    await fill(page, 'Password', PASSWORD)
    await press(page, 'Sign in')
    await page.waitForSelector('.row .text')
    const check = async what => {
      const found = await page.evaluate(origin => ({
        broken: globalThis.broken ?? null,
        strays: [...document.querySelectorAll('img, iframe, object, embed, link[rel=import], base, form[action], script:not([src])')].map(each => each.outerHTML),
        addresses: [...document.querySelectorAll('[href], [src]')].map(each => each.getAttribute('href') ?? each.getAttribute('src'))
          .filter(each => !/^(?:https?:\/\/|mailto:|\/(?![/\\])|#|\?)/.test(each)),
        turned: [...document.querySelectorAll('.text a[target="_blank"]')].filter(each => each.firstElementChild?.localName !== 'bdi').length,
        open: [...document.querySelectorAll('a[target="_blank"]')].filter(each => !/noopener/.test(each.rel)).length,
        loaded: performance.getEntriesByType('resource').map(({ name }) => name).filter(name => !name.startsWith(origin)),
      }), server.url)
      assert.deepEqual(found, { broken: null, strays: [], addresses: [], turned: 0, open: 0, loaded: [] }, what)
      assert.deepEqual(problems, [], what)
    }
    await check('the talk')
    await picture(page, `hostile-${kind}-talk`)
    for (const [path, shown] of [
      [`/o/${slug}/${general.id}/${root}`, '.row .text'], [`/o/${slug}/threads`, 'main'], [`/o/${slug}/${general.id}?search=globalThis`, 'main'],
      [`/o/${slug}/${general.id}?pane=members`, 'main'], [`/o/${slug}/${general.id}?pane=pins`, 'main'],
      ['/settings/profile', 'main'], ['/settings/organisations', 'main'], [`/settings/o/${slug}/general`, 'main'], [`/settings/o/${slug}/members`, 'main'],
      [`/settings/o/${slug}/channels`, 'main'], [`/settings/o/${slug}/webhooks`, 'main'],
    ]) {
      await page.goto(server.url + path)
      await page.waitForSelector(shown)
      await sleep(700) // what is fetched late counts as well
      await check(path)
    }
    await picture(page, `hostile-${kind}-settings`)

    // What the person writes passes the same way, before the server has it and after.
    await page.goto(`${server.url}/o/${slug}/${general.id}`)
    const field = await page.waitForSelector('textarea')
    await field.type('<img src=x onerror="globalThis.broken=1"> own')
    await page.keyboard.press('Enter')
    await sees(page, '<img src=x onerror="globalThis.broken=1"> own')
    await check('what was written here')
  })
}

const GOOGLE = 'https://accounts.google.com/signin'
const PILES = ['\u0301', '🏽', '\u200b\u0301', '\u102b'].map(sign => `👩${sign.repeat(19_000)}`)

for (const kind of BROWSERS) {
  test(`${kind}: where links lead is seen, and thousands of marks on one letter are not`, async t => {
    const server = await start(t)
    const [ada, eve] = [await account(server, 'ada'), await account(server, 'eve')]
    const { id, slug, general } = await organisation(ada, [eve])
    const post = content => eve.call('POST', `/channels/${general.id}/messages`, { content })
    await post(`Please sign in again: [${GOOGLE}](https://evil.example/login), or at https://\u0430pple.com/id.`)
    await post(`${'**\u0301\u0301\u0301\u0301\u0301\u0301**'.repeat(600)} and \`${PILES[0]}\``)
    for (const pile of PILES) await post(pile)
    await ada.call('POST', '/channels', { name: 'piles', organisation_id: id, topic: `t${'\u0301'.repeat(200)}`, is_private: false })

    const { visitor } = await launch(t, kind)
    const { page, problems } = await visitor(WIDE)
    await page.goto(`${server.url}/sign-in?next=${encodeURIComponent(`/o/${slug}/${general.id}`)}`)
    await fill(page, 'E-mail address', ada.email)
    await fill(page, 'Password', PASSWORD)
    await press(page, 'Sign in')
    await sees(page, 'Please sign in again')
    await page.waitForFunction(count => document.querySelectorAll('.row .text').length >= count, {}, PILES.length + 2)
    const found = await page.evaluate(() => {
      const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
      const runs = []
      while (walker.nextNode()) runs.push(...(walker.currentNode.data.match(/[\p{M}\p{Emoji_Modifier}\p{DI}]+/gu) ?? []).map(run => [...run].length))
      const links = [...document.querySelectorAll('.row .text a')].map(each => [each.innerText, each.href])
      return { longest: Math.max(...runs), links, said: document.querySelector('.row .text').innerText }
    })
    assert.equal(found.longest, 10)
    assert.deepEqual(found.links, [['https://evil.example/login', 'https://evil.example/login'], ['https://xn--pple-43d.com/id', 'https://xn--pple-43d.com/id']])
    assert.equal(found.said, `Please sign in again: ${GOOGLE} (https://evil.example/login), or at https://xn--pple-43d.com/id.`)
    const { messages } = await server.call('GET', `/channels/${general.id}/messages`, { bearer: ada.bearer })
    assert.deepEqual(messages.slice(0, PILES.length).map(each => each.content).reverse(), PILES, 'the server keeps what was sent')
    assert.deepEqual(problems, [])
    await pictures(page, kind, `hostile-${kind}-links`)
  })
}
