// Files that people add to what they write, in Chromium and Firefox: chosen, pasted and dropped, over cuts, kills and reloads.
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { existsSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import test from 'node:test'
import { BROWSERS, accessible, byRole, enter, launch, pictures, press, sees, write } from './lib/browser.mjs'
import { png } from './lib/png.mjs'
import { account, organisation, scratch, start, until } from './lib/server.mjs'

const MB = 1_000_000

/** Chooses files in the composer of the talk, as its button does. */
async function choose(page, ...paths) {
  const field = await page.waitForSelector('.main .composer input[type="file"]', { hidden: true })
  await field.uploadFile(...paths)
}

/** Hands files to the page, as the clipboard or a drop does. */
const hand = (page, kind, files) => page.evaluate(async (kind, files) => {
  const data = new DataTransfer()
  for (const { name, type, base64 } of files) data.items.add(new File([Uint8Array.from(atob(base64), c => c.charCodeAt(0))], name, { type }))
  if (kind === 'paste') {
    const event = new ClipboardEvent('paste', { bubbles: true, cancelable: true })
    Object.defineProperty(event, 'clipboardData', { value: data }) // Firefox takes none
    return void document.querySelector('.main .composer textarea').dispatchEvent(event)
  }
  const at = document.querySelector(kind)
  const is = name => at.dispatchEvent(new DragEvent(name, { dataTransfer: data, bubbles: true, cancelable: true }))
  is('dragenter')
  // What takes them is loaded with the first, and nobody lets go of one so soon.
  while (is('dragover')) await new Promise(resolve => setTimeout(resolve, 20))
  is('drop')
}, kind, files)

const names = page => page.$$eval('.composer .attachment .name', all => all.map(each => each.innerText))
const isWhole = page => page.$$eval('.composer .attachment', all => all.length > 0 && all.every(each => !each.querySelector('progress')))

/** The files that the messages of a channel show. */
async function media(server, { bearer }, channel) {
  const { messages } = await server.call('GET', `/channels/${channel}/messages?limit=20`, { bearer })
  return messages.flatMap(each => each.media)
}

for (const kind of BROWSERS) {
  test(`files are added to what one writes in ${kind}`, { timeout: 180_000 }, async t => {
    const server = await start(t)
    const folder = scratch(t)
    const [ada, grace] = await Promise.all([account(server, 'ada', { first_name: 'Ada', last_name: 'King' }),
      account(server, 'grace', { first_name: 'Grace', last_name: 'Holm' })])
    const harbour = await organisation(ada, [grace])
    const channel = harbour.general.id
    const address = `${server.url}/o/${harbour.slug}/${channel}`
    const { visitor } = await launch(t, kind)
    const [here, there] = [await visitor(), await visitor()]
    const { page } = here
    await enter(there.page, server, grace, address)
    await there.page.waitForSelector('.composer')
    await enter(page, server, ada, address)
    await page.waitForSelector('.composer')
    const file = (name, bytes) => {
      writeFileSync(join(folder, name), bytes)
      return join(folder, name)
    }

    await t.test('chosen ones stand with what they are, and on another screen once they are sent', async () => {
      await choose(page, file('quay at dawn.png', png(1200, 800)), file('Plan.pdf', '%PDF-1.7\n'))
      await until('both are there', () => isWhole(page))
      assert.deepEqual(await names(page), ['quay at dawn.png', 'Plan.pdf'])
      await page.type('.attachment input[type="text"]', 'The quay in the morning')
      await page.keyboard.press('Enter')
      assert.equal(await page.evaluate(() => document.activeElement?.tagName), 'TEXTAREA', 'Enter sends nothing yet')
      await accessible(page, 'a composer with files')
      await pictures(page, kind, 'composer-files')
      await write(page, 'Look at this')
      await until('she sees it', () => there.page.$$eval('.picture img', all => all.some(each => each.complete && each.naturalWidth > 0)))
      assert.deepEqual(await there.page.$$eval('.picture img', all => all.map(each => [each.alt, each.getAttribute('width')])), [['The quay in the morning', '360']])
      assert.deepEqual(await names(page), [])
      await until('its row is the message', () => page.$$eval('.row.pending', all => all.length === 0))
      assert.equal((await page.$$('.picture img')).length, 1)
    })

    await t.test('pasted and dropped ones as well, without a word', async () => {
      const base64 = png(40, 30).toString('base64')
      await hand(page, 'paste', [{ name: 'image.png', type: 'image/png', base64 }])
      await hand(page, '.main .talk', [{ name: 'notes.txt', type: 'text/plain', base64: Buffer.from('Notes').toString('base64') }])
      await until('both are there', async () => (await names(page)).length === 2 && isWhole(page))
      await press(page, 'Send')
      await until('they are sent', async () => (await media(server, grace, channel)).length === 4)
      await hand(page, '.side', [{ name: 'lost.txt', type: 'text/plain', base64: '' }])
      await sees(page, 'Files can’t be added here.')
      assert.deepEqual(await names(page), [])
    })

    await t.test('what is dragged over the talk is told where it would go', async () => {
      const over = name => page.evaluate(name => {
        const data = new DataTransfer()
        data.items.add(new File(['x'], 'x.txt'))
        document.querySelector('.main .talk').dispatchEvent(new DragEvent(name, { dataTransfer: data, bubbles: true, cancelable: true }))
      }, name)
      const told = () => page.$eval('.main .column', each => each.dataset.dropping)
      await over('dragover')
      assert.match(await told(), /Drop files here/)
      await pictures(page, kind, 'dropping')
      await over('dragleave')
      assert.equal(await told(), undefined)
    })

    await t.test('sound and video are played', async () => {
      const wav = Buffer.concat([Buffer.from('RIFF\x24\x00\x00\x00WAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00\x40\x1f\x00\x00\x40\x1f\x00\x00\x01\x00\x08\x00data', 'latin1'), Buffer.from([0x40, 0x1f, 0, 0]), Buffer.alloc(8000, 128)])
      await choose(page, file('horn.wav', wav), file('fog.webm', Buffer.from('1a45dfa39f4286810142f7810142f2810442f381084282847765626d42878104428581', 'hex')))
      await until('both are there', () => isWhole(page))
      await write(page, 'Listen')
      await page.waitForSelector('.main .player audio')
      await until('its length is known', () => page.$eval('.main .player audio', each => each.duration === 1))
      await page.waitForSelector('.main .player video')
      await accessible(page, 'players')
      await pictures(page, kind, 'players')
    })

    await t.test('one that is taken out is gone', async () => {
      await choose(page, file('secret.txt', 'Not for you'))
      await until('it is there', () => isWhole(page))
      await press(page, 'Remove secret.txt')
      await until('it is out', async () => (await names(page)).length === 0)
      assert.equal(await page.evaluate(() => document.activeElement?.tagName), 'TEXTAREA')
    })

    await t.test('a large one goes on over a kill, and later posts pass it', async () => {
      await choose(page, file('film.bin', randomBytes(60 * MB)))
      const incoming = join(server.data, 'files/incoming')
      await until('some of it has arrived', () => readdirSync(incoming).some(name => existsSync(join(incoming, name)) && statSync(join(incoming, name)).size > 0))
      await server.kill()
      await write(page, 'The film')
      await page.waitForSelector('.row.pending .attachment')
      await pictures(page, kind, 'pending-files')
      await server.launch()
      await write(page, 'A word before it')
      await until('both are there', async () => (await media(server, grace, channel)).some(each => each.file_name === 'film.bin'), 60_000)
      const shown = await page.waitForFunction(() => document.querySelectorAll('.row.pending').length === 0 && document.body.innerText.includes('film.bin'), { polling: 50 })
      assert.ok(shown)
    })

    await t.test('what is being written outlives a reload with its files', async () => {
      await choose(page, file('log.bin', randomBytes(40 * MB)))
      await page.waitForSelector('.composer .attachment')
      await until('it is kept', () => page.evaluate(async () => {
        const [{ name }] = (await indexedDB.databases()).filter(each => /^tidings-[0-9a-f]{8}-/.test(each.name))
        const database = await new Promise(resolve => { const request = indexedDB.open(name); request.onsuccess = () => resolve(request.result) })
        const keys = await new Promise(resolve => { const request = database.transaction('records').objectStore('records').getAllKeys(); request.onsuccess = () => resolve(request.result) })
        database.close()
        return keys.some(key => key.startsWith('bytes/'))
      }))
      await page.reload()
      await until('it is there again', async () => (await names(page)).join() === 'log.bin')
      await until('all of it has arrived', () => isWhole(page), 60_000)
      await press(page, 'Send')
      await until('it is sent', async () => (await media(server, grace, channel)).some(each => each.file_name === 'log.bin'))
    })
    assert.deepEqual([...here.problems, ...there.problems], [])
  })

  test(`files that don't go say why in ${kind}`, { timeout: 120_000 }, async t => {
    const server = await start(t, '--file-bytes', '1000')
    const folder = scratch(t)
    const ada = await account(server, 'ada')
    const harbour = await organisation(ada)
    const { visitor } = await launch(t, kind)
    const { page, problems } = await visitor()
    await enter(page, server, ada, `${server.url}/o/${harbour.slug}/${harbour.general.id}`)
    await page.waitForSelector('.composer')
    writeFileSync(join(folder, 'long.txt'), 'x'.repeat(1001))
    await choose(page, join(folder, 'long.txt'))
    await sees(page, 'Too large: at most 1 kB.')
    await accessible(page, 'a file that is too large')
    await pictures(page, kind, 'refused-file')
    await press(page, 'Send')
    await sees(page, 'One of the files can’t be sent.')
    await (await page.waitForSelector(byRole('button', 'Remove long.txt'))).click()
    const eleven = Array.from({ length: 11 }, (_, n) => join(folder, `${n}.txt`))
    eleven.forEach(path => writeFileSync(path, 'x'))
    await choose(page, ...eleven)
    await sees(page, 'At most 10 files fit in a message.')
    await until('ten are there', async () => (await names(page)).length === 10 && isWhole(page))
    assert.deepEqual(problems, [])
  })

  test(`what takes hours to pass is said beside the file in ${kind}`, { timeout: 60_000 }, async t => {
    const server = await start(t, '--rate-limit', 'on', '--file-bytes-per-user-day', '1000000')
    const ada = await account(server, 'ada')
    const harbour = await organisation(ada)
    const { visitor } = await launch(t, kind)
    const { page, problems } = await visitor()
    await enter(page, server, ada, `${server.url}/o/${harbour.slug}/${harbour.general.id}`)
    await page.waitForSelector('.composer')
    const path = join(scratch(t), 'film.bin')
    writeFileSync(path, randomBytes(1_200_000))
    await choose(page, path)
    await sees(page, 'You have sent as much as you may for now.')
    await accessible(page, 'a file past the day')
    await pictures(page, kind, 'used-up-day')
    assert.deepEqual(problems, [])
  })
}
