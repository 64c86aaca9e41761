// Files may be anything, and be called anything. None of them runs in the origin of the server, whatever leads to it.
import assert from 'node:assert/strict'
import test from 'node:test'
import { BROWSERS, enter, launch, picture, sees } from './lib/browser.mjs'
import { account, organisation, start, until } from './lib/server.mjs'

const SCRIPT = 'localStorage.broken = 1; globalThis.broken = 1; document.title = "broken"'
/** Each with what it is to the server. */
const FILES = [
  ['gif.gif', `GIF89a=1;${SCRIPT}//`, 'image/gif'],
  ['gif.js', `GIF89a=1;${SCRIPT}//`, 'image/gif'],
  ['page.png', `<!DOCTYPE html><script>${SCRIPT}</script>`, 'text/html'],
  ['page.html', `<html><body onload='${SCRIPT}'>`, 'text/html'],
  ['late.html', `${' '.repeat(9000)}<script>${SCRIPT}</script>`, 'text/plain'],
  ['picture.svg', `<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg" onload='${SCRIPT}'><script>${SCRIPT}</script></svg>`, 'text/xml'],
  ['bare.svg', `<svg xmlns="http://www.w3.org/2000/svg"><script>${SCRIPT}</script></svg>`, null],
  ['style.xml', `<?xml version="1.0"?><?xml-stylesheet type="text/xsl" href="data:text/xml,x"?><html xmlns="http://www.w3.org/1999/xhtml"><script>${SCRIPT}</script></html>`, 'text/xml'],
  ['acts.pdf', `%PDF-1.7\n1 0 obj<</Type/Catalog/OpenAction<</S/JavaScript/JS(app.alert(1))>>>>endobj\ntrailer<</Root 1 0 R>>`, 'application/pdf'],
  ['plain.js', SCRIPT, 'text/plain'],
  ['worker.js', 'postMessage(1)', 'text/plain'],
  ['archive.mhtml', `MIME-Version: 1.0\nContent-Type: text/html\n\n<script>${SCRIPT}</script>`, 'text/plain'],
  ['\u202efdp.exe', 'MZ', null],
  ['../../etc/passwd', 'x', 'text/plain'],
  ['..', 'x', 'text/plain'],
  ['nul\0.png\0.html', 'x', 'text/plain'],
  ['"onload="x.png\r\nSet-Cookie: broken=1', 'x', 'text/plain'],
  ['<img src=x onerror="globalThis.broken=1">', 'x', 'text/plain'],
  [`${'ä'.repeat(5000)}.txt`, 'x', 'text/plain'],
  ['link', 'x', 'text/plain'],
]

/** Uploads one by tus, whose names are any bytes. */
async function upload(server, { bearer }, name, content) {
  const bytes = Buffer.from(content)
  const headers = { authorization: `Bearer ${bearer}`, 'tus-resumable': '1.0.0' }
  const begun = await fetch(`${server.url}/api/v1/files/uploads`, { method: 'POST',
    headers: { ...headers, 'upload-length': bytes.length, 'upload-metadata': `filename ${Buffer.from(name).toString('base64')}` } })
  assert.equal(begun.status, 201, await begun.text())
  const path = begun.headers.get('location')
  const sent = await fetch(server.url + path, { method: 'PATCH', body: bytes,
    headers: { ...headers, 'upload-offset': '0', 'content-type': 'application/offset+octet-stream' } })
  assert.equal(sent.status, 204)
  return path.slice(path.lastIndexOf('/') + 1)
}

for (const kind of BROWSERS) {
  test(`${kind}: no file runs in the origin`, { timeout: 180_000 }, async t => {
    const server = await start(t)
    const [ada, eve] = await Promise.all([account(server, 'ada'), account(server, 'eve')])
    const harbour = await organisation(ada, [eve])
    const channel = harbour.general.id
    const shown = []
    for (const [name, content, type] of FILES) {
      const id = await upload(server, eve, name, content)
      const posted = await eve.call('POST', `/channels/${channel}/messages`, { content: '', files: [id] })
      const [media] = posted.media
      if (type) assert.equal(media.mime_type, type, name)
      assert.ok(Buffer.byteLength(media.file_name) <= 255 && !/[\u0000-\u001f\u202e/\\]/.test(media.file_name), media.file_name)
      shown.push(media)
    }
    await eve.call('POST', `/channels/${channel}/messages`, { content: 'That is all.' })
    const { visitor } = await launch(t, kind)
    const { page, problems, another } = await visitor()
    await enter(page, server, ada, `${server.url}/o/${harbour.slug}/${channel}`)
    await sees(page, 'That is all.')
    const isSound = () => page.evaluate(() => [globalThis.broken, localStorage.broken, document.cookie.includes('broken')].every(each => !each))

    await t.test('they stand in the talk as what they are', async () => {
      await until('all are there', () => page.$$eval('.media', (all, count) => all.length === count, FILES.length))
      assert.ok(await isSound())
      await picture(page, `${kind}-hostile-files`)
      assert.deepEqual(problems, [])
    })

    await t.test('no page of the origin runs one, as a script, a module, a worker or a frame', async () => {
      for (const { file_link: link } of shown) {
        const ran = await page.evaluate(async link => {
          const { pathname } = new URL(link)
          // The policy of the page throws, and the answer's own keeps the rest.
          const tried = run => new Promise(resolve => {
            try {
              run(resolve)
            } catch {
              resolve(false)
            }
          })
          const script = type => tried(resolve => document.head.append(Object.assign(document.createElement('script'),
            { src: pathname, type, onload: () => resolve(true), onerror: () => resolve(false) })))
          const worker = tried(resolve => {
            const made = new Worker(pathname)
            made.onerror = () => resolve(false)
            made.onmessage = () => resolve(true)
            setTimeout(() => resolve(false), 500)
          })
          const service = tried(resolve => navigator.serviceWorker.register(pathname).then(() => resolve(true), () => resolve(false)))
          const module = import(pathname).then(() => true, () => false)
          return Promise.all([script(''), script('module'), worker, service, module])
        }, link)
        assert.deepEqual(ran, [false, false, false, false, false], link)
      }
      assert.ok(await isSound())
    })

    await t.test('nor does one that is opened by its address', async () => {
      const before = problems.length
      const other = await another()
      let saved = 0
      for (const { file_link: link, file_name: name } of shown) {
        const { headers } = await fetch(link, { headers: { authorization: `Bearer ${ada.bearer}` } })
        assert.match(headers.get('content-security-policy'), /^sandbox; default-src 'none'/)
        assert.equal(headers.get('x-content-type-options'), 'nosniff')
        // A browser takes its time to tell that it saves one.
        if (headers.get('content-disposition').startsWith('attachment') && (saved += 1) > 2) continue
        // What is saved is no page.
        const answer = await other.goto(link, { waitUntil: 'load', timeout: 3000 }).catch(error => {
          assert.match(error.message, /ERR_ABORTED|NS_BINDING_ABORTED|timeout/, name)
          return null
        })
        const address = other.url()
        if (answer && address === link) {
          const seen = await other.evaluate(() => ({ origin: self.origin, broken: globalThis.broken, title: document.title })).catch(() => null)
          // What frames the browser's own viewer is a page of the origin without anything of the file.
          if (seen) assert.deepEqual([seen.origin, seen.broken ?? null], [name.endsWith('.pdf') ? server.url : 'null', null], name)
          assert.notEqual(seen?.title, 'broken')
        }
      }
      await other.close()
      // Firefox itself wants a picture for each page, and its viewer says what is wrong with the PDF.
      assert.deepEqual(problems.slice(before).filter(each => !/favicon\.ico|uncaught exception: Object/.test(each)), [])
      assert.ok(await isSound())
    })
  })
}
