// Files that messages show, in Chromium and Firefox.
import assert from 'node:assert/strict'
import test from 'node:test'
import { BROWSERS, accessible, enter, launch, picture, pictures, press, sees } from './lib/browser.mjs'
import { png } from './lib/png.mjs'
import { account, organisation, start, until } from './lib/server.mjs'

/** Uploads files, and answers their ids. */
async function upload(server, person, files) {
  const form = new FormData()
  for (const [name, content] of files) form.append('files', new Blob([content]), name)
  const answer = await fetch(`${server.url}/api/v1/files/upload-files`, { method: 'POST', headers: { authorization: `Bearer ${person.bearer}` }, body: form })
  assert.equal(answer.status, 200)
  return (await answer.json()).data.map(each => each.id)
}

for (const kind of BROWSERS) {
  test(`the files of messages are shown in ${kind}`, { timeout: 120_000 }, async t => {
    const server = await start(t)
    const [ada, grace] = await Promise.all([account(server, 'ada', { first_name: 'Ada', last_name: 'King' }),
      account(server, 'grace', { first_name: 'Grace', last_name: 'Holm' })])
    const harbour = await organisation(ada, [grace])
    const direct = (await ada.call('POST', `/organisations/${harbour.id}/dms`, { user_ids: [grace.id] })).id
    const sent = await upload(server, grace, [['harbour.png', png(1200, 800)], ['mark.png', png(24, 24)], ['Plan of the quay, second draft.pdf', '%PDF-1.7\n'],
      ['page.html', '<!DOCTYPE html><script>alert(1)</script>'], ['quay.sh', `#!/bin/sh\n${'echo ahoy\n'.repeat(8000)}`], ['empty.txt', '']])
    const media = sent.map((id, n) => (n === 0 ? { id, description: 'The quay in the morning' } : { id }))
    const posted = await grace.call('POST', `/channels/${direct}/messages`, { content: '', media })
    await grace.call('POST', `/channels/${direct}/messages`, { content: 'That is all.' })
    const { visitor } = await launch(t, kind)
    const { page, problems } = await visitor()
    await enter(page, server, ada, `${server.url}/o/${harbour.slug}/${direct}`)
    await sees(page, 'That is all.')

    await t.test('pictures in their room, others as cards', async () => {
      await until('both pictures are there', () => page.$$eval('.picture img', all => all.length === 2 && all.every(each => each.complete && each.naturalWidth > 0)))
      const shown = await page.$$eval('.picture img', all => all.map(each => [each.alt, each.getAttribute('width'), each.getAttribute('height')]))
      assert.deepEqual(shown, [['The quay in the morning', '360', '240'], ['mark.png', '24', '24']])
      const cards = await page.$$eval('.file-card', all => all.map(each => each.innerText.split('\n').filter(Boolean)))
      assert.deepEqual(cards, [['Plan of the quay, second draft.pdf', 'PDF · 1 kB'], ['page.html', 'HTML · 1 kB'], ['quay.sh', 'SH · 80 kB'], ['empty.txt', 'TXT · 0 kB']])
      await accessible(page, 'a message with files')
      await pictures(page, kind, 'media')
    })

    await t.test('texts unfold where they stand', async () => {
      const text = () => page.$eval('.file-text', each => each.textContent)
      await press(page, 'Show the text: page.html')
      await page.waitForSelector('.file-text')
      assert.equal(await text(), '<!DOCTYPE html><script>alert(1)</script>')
      await press(page, 'Hide the text: page.html')
      await press(page, 'Show the text: quay.sh')
      await page.waitForSelector('.file-text')
      const shown = await text()
      assert.equal(shown.length, 64_000)
      assert.ok(shown.startsWith('#!/bin/sh\necho ahoy\n'))
      await sees(page, 'Open the file to read all of it.')
      await accessible(page, 'a text in the talk')
      await pictures(page, kind, 'text-file')
      await press(page, 'Hide the text: quay.sh')
      await press(page, 'Show the text: empty.txt')
      await page.waitForSelector('.file-text')
      assert.equal(await text(), '')
      await press(page, 'Hide the text: empty.txt')
      await until('all are folded', async () => (await page.$('.file-text')) === null)
    })

    await t.test('all of a channel beside the talk, by their kind', async () => {
      await press(page, 'Files', 'link')
      const names = () => page.$$eval('.beside .media', all => all.map(each => each.querySelector('img')?.alt ?? each.querySelector('.name')?.innerText))
      await until('all six are there', async () => (await names()).length === 6)
      await accessible(page, 'the files of a channel')
      await pictures(page, kind, 'channel-files')
      await page.select('.beside select', 'document')
      await until('the documents alone', async () => (await names()).sort().join() === 'Plan of the quay, second draft.pdf,empty.txt')
      await page.select('.beside select', 'video')
      await sees(page, 'No files of this kind here.')
      await press(page, 'Files', 'link')
    })

    await t.test('until they are taken out', async () => {
      await grace.call('DELETE', `/files/file/${posted.media[0].id}`)
      await until('one picture is left', () => page.$$eval('.main .picture', all => all.length === 1))
    })

    await t.test('one by one, in the menu of the message', async () => {
      const files = await upload(server, ada, [['buoy.bin', '\0'], ['anchor.bin', '\0']])
      const { id } = await ada.call('POST', `/channels/${direct}/messages`, { content: '', files })
      const shown = () => page.$$eval(`.main [data-id="${id}"] .name`, all => all.map(each => each.innerText).join())
      await until('both are there', async () => (await shown()) === 'buoy.bin,anchor.bin')
      const open = async () => {
        const row = await page.waitForSelector(`.main [data-id="${id}"]`)
        await row.hover()
        await (await row.$('.tools button:last-child')).click()
        await page.waitForSelector('[role="menu"]')
      }
      await open()
      await accessible(page, 'a menu with files')
      await picture(page, `menu-with-files-${kind}`)
      await press(page, 'Remove anchor.bin', 'menuitem')
      await press(page, 'Delete')
      await until('it is gone', async () => (await shown()) === 'buoy.bin')
      await open()
      const items = await page.$$eval('[role="menuitem"]', all => all.map(each => each.innerText.trim()))
      assert.ok(items.includes('Delete') && !items.some(each => each.startsWith('Remove')), `the last goes with its message: ${items}`)
      await page.keyboard.press('Escape')
    })

    await t.test('and nothing more to somebody who was removed, whatever their page had open', async () => {
      const plans = await grace.call('POST', '/channels', { name: 'plans', organisation_id: harbour.id, is_private: true, userIds: [ada.id] })
      const show = async name => {
        const [id] = await upload(server, grace, [[name, png(30, 20)]])
        await grace.call('POST', `/channels/${plans.id}/messages`, { content: '', files: [id] })
        return `/api/v1/files/${id}/${name}`
      }
      const before = await show('before.png')
      const link = await page.waitForFunction(() => [...document.querySelectorAll('.side a')].find(each => each.innerText.includes('plans')))
      await link.asElement().click()
      await until('she sees it', () => page.$$eval('.picture img', all => all.some(each => each.alt === 'before.png' && each.naturalWidth > 0)))
      const asked = []
      page.on('request', request => asked.push(new URL(request.url()).pathname))
      await grace.call('DELETE', `/channels/${plans.id}/users/${ada.id}`)
      const after = await show('after.png')
      const opens = address => page.evaluate(address => fetch(address, { cache: 'no-store' }).then(answer => answer.status), address)
      assert.deepEqual([await opens(before), await opens(after)], [404, 404])
      await until('the channel is gone', () => page.$$eval('.side a', all => all.every(each => !each.innerText.includes('plans'))))
      assert.ok(!(await page.content()).includes('after.png'))
      assert.deepEqual(asked.filter(path => path === after).length, 1, 'nobody but this test has asked for it')
    })
    assert.deepEqual(problems.filter(each => !each.includes('404')), [])
  })
}
