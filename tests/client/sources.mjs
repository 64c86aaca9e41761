// The client's files, as tests read them.
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'

export const client = join(dirname(fileURLToPath(import.meta.url)), '../../src/web/client')

/** All modules: `{ path, text, code }`, where `code` has the same lines without comments and types. */
export const modules = readdirSync(client, { recursive: true })
  .filter(path => path.endsWith('.js'))
  .map(path => {
    const text = readFileSync(join(client, path), 'utf8')
    return { path: relative(client, join(client, path)), text, code: withoutComments(text) }
  })
  .sort((a, b) => a.path.localeCompare(b.path))

/** Strings are kept, since an address in one holds what begins a comment; a regular expression has to escape its slashes. */
function withoutComments(text) {
  return text.replace(/('(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\.)*`)|\/\*[^]*?\*\/|(?<![\\:])\/\/[^\n]*/g, (whole, string) => string ?? whole.replace(/[^\n]/g, ''))
}

export const languages = readdirSync(join(client, 'texts')).sort()

/** The texts of a language by area. `first.js` is some of them once more. */
export async function texts(language) {
  const areas = readdirSync(join(client, 'texts', language)).map(file => file.replace('.js', '')).filter(area => area !== 'first').sort()
  const found = {}
  for (const area of areas) found[area] = (await import(join(client, 'texts', language, `${area}.js`))).default
  return found
}
