// Long texts: the page holds their beginning until somebody opens them, and no text holds up the tab. In Chromium and Firefox.
import assert from 'node:assert/strict'
import test from 'node:test'
import { BROWSERS, enter, launch, pictures } from './lib/browser.mjs'
import { account, organisation, start } from './lib/server.mjs'

const LENGTH = 39_990
const filled = text => text.repeat(LENGTH / text.length)
/** Chromium took 5 s for the first of them, and a second for those of Thai. */
const TEXTS = {
  kerned: filled('AVAT'),
  thai: filled('แผนที่'),
  'thai with marks': filled(`~~${'แผนที่'.repeat(9)}~~${'แผนที่'.repeat(9)}`),
  'code in a line': `\`${filled('AVAT')}\``,
  'a block of code': `\`\`\`\n${filled('AVAT')}\n\`\`\``,
  lines: filled('a\n').trimEnd(),
}
const WORDS = `The tide turns at six. ${'Every boat in the harbour has a name, and each name has a story. '.repeat(60)}`
/** Seconds of layout, at most, which a busy machine triples. */
const MOST_LAYOUT = 1

for (const kind of BROWSERS) {
  test(`${kind}: a long text is shown from its beginning, and opens at once`, { timeout: 120_000 }, async t => {
    const server = await start(t)
    const [ada, eve] = [await account(server, 'ada'), await account(server, 'eve')]
    const { slug, general } = await organisation(ada, [eve])
    const post = async content => (await eve.call('POST', `/channels/${general.id}/messages`, { content })).id
    const ids = {}
    for (const [name, text] of Object.entries(TEXTS)) ids[name] = await post(text)
    for (let n = 0; n < 20; n += 1) await post(TEXTS.kerned)
    const last = await post(WORDS)
    const { visitor } = await launch(t, kind)
    const { page, problems } = await visitor()
    /** The layout that something costs, which Chromium alone tells. */
    const layout = async act => {
      const before = kind === 'chrome' ? (await page.metrics()).LayoutDuration : 0
      await act()
      return kind === 'chrome' ? (await page.metrics()).LayoutDuration - before : 0
    }
    const opening = await layout(async () => {
      await enter(page, server, ada, `${server.url}/o/${slug}/${general.id}`)
      await page.waitForFunction(() => document.querySelectorAll('.row .text > .folded').length > 5, { polling: 50 })
    })
    assert.ok(opening < MOST_LAYOUT, `${opening} s of layout for the talk`)
    const lengths = await page.$$eval('.row .text > .long', all => all.map(each => each.textContent.length))
    assert.ok(lengths.length > 5 && Math.max(...lengths) <= 1800, `${lengths}`)

    for (const [name, id] of Object.entries(ids)) {
      await page.goto(`${server.url}/o/${slug}/${general.id}?m=${id}`)
      const button = await page.waitForSelector(`[data-id="${id}"] .text > .link-button`)
      const took = await layout(async () => {
        await button.evaluate(each => each.click())
        await page.waitForSelector(`[data-id="${id}"] .long:not(.folded)`)
        await page.evaluate(() => new Promise(resolve => requestAnimationFrame(() => setTimeout(resolve))))
      })
      assert.ok(took < MOST_LAYOUT, `${name}: ${took} s of layout`)
      const copied = await page.evaluate(id => {
        getSelection().selectAllChildren(document.querySelector(`[data-id="${id}"] .text`))
        const text = getSelection().toString()
        getSelection().removeAllRanges()
        return text
      }, id)
      assert.ok(copied.trim() === TEXTS[name].replace(/^`+\n?|\n?`+$/g, '').replaceAll('~~', ''), `${name}: ${copied.length} signs are copied`)
    }

    await page.goto(`${server.url}/o/${slug}/${general.id}?m=${last}`)
    const button = await page.waitForSelector(`[data-id="${last}"] .text > .link-button`)
    await pictures(page, kind, 'long-folded')
    await button.evaluate(each => each.click())
    await page.waitForSelector('.long:not(.folded)')
    await pictures(page, kind, 'long-opened')
    assert.deepEqual(problems, [])
  })
}
