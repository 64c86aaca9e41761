// What holds the client's tree together: imports go one way, data knows no page, text never becomes HTML, and files stay small.
import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import test from 'node:test'
import { client, modules } from './sources.mjs'

/** What each folder may import besides itself. */
const MAY_IMPORT = {
  base: [],
  net: ['base'],
  store: ['net', 'base'],
  text: ['base'],
  texts: [],
  view: ['base'],
  screens: ['view', 'store', 'text', 'net', 'base'],
  '.': ['screens', 'view', 'store', 'text', 'net', 'base'],
}

const folder = path => (path.includes('/') ? path.split('/')[0] : '.')
const importsOf = code => [...code.matchAll(/(?:^|[\s;}])(?:import|export)\s(?:[^'"`;]*?\sfrom\s)?['"]([^'"]+)['"]|\bimport\(\s*['"`]([^'"`]+)['"`]\s*\)/g)]
  .map(([, still, dynamic]) => still ?? dynamic)

const apart = modules.filter(({ path }) => path !== 'service-worker.js')

test('each import is relative, names its file, and goes one way', () => {
  for (const { path, code } of apart) {
    for (const each of importsOf(code)) {
      assert.match(each, /^\.\.?\/.*\.js$/, `${path} imports ${each}`)
      const target = normalize(join(dirname(path), each))
      // A language and an area are put in when words are loaded.
      if (!target.includes('${')) assert.ok(existsSync(join(client, target)), `${path} imports ${each}, which is not there`)
      const [from, to] = [folder(path), folder(target)]
      const isWords = path === 'text/words.js' && to === 'texts'
      assert.ok(from === to || isWords || MAY_IMPORT[from]?.includes(to), `${path} must not import ${each}`)
    }
  }
})

test('modules do not import each other in a circle', () => {
  const graph = new Map(apart.map(({ path, code }) => [path, importsAtLoad(code).map(each => normalize(join(dirname(path), each)))]))
  const done = new Set()
  const visit = (path, above) => {
    assert.ok(!above.includes(path), `${[...above.slice(above.indexOf(path)), path].join(' → ')}`)
    if (done.has(path)) return
    for (const each of graph.get(path) ?? []) visit(each, [...above, path])
    done.add(path)
  }
  for (const path of graph.keys()) visit(path, [])
})

const importsAtLoad = code => [...code.matchAll(/(?:^|\n)(?:import|export)\s(?:[^'"`;]*?\sfrom\s)?'([^']+)'/g)].map(([, each]) => each)

test('what main.js needs at once is loaded later by nobody', () => {
  const code = new Map(apart.map(each => [each.path, each.code]))
  const joined = new Set(['main.js'])
  for (const path of joined) for (const each of importsAtLoad(code.get(path))) joined.add(normalize(join(dirname(path), each)))
  for (const [path, text] of code) {
    for (const [, each] of text.matchAll(/\bimport\(\s*['"`]([^'"`]+)['"`]\s*\)/g)) {
      // The server joins these into one file, and has them under no address of their own.
      assert.ok(!joined.has(normalize(join(dirname(path), each))), `${path} loads ${each} later, which is joined with main.js`)
    }
  }
})

const GLOBALS = ['document', 'window', 'location', 'history', 'navigator', 'localStorage', 'sessionStorage', 'HTMLElement', 'Element', 'Node', 'getComputedStyle',
  'requestAnimationFrame', 'matchMedia', 'alert', 'customElements']

test('base, net, store and text know no page', () => {
  for (const { path, code } of apart.filter(({ path }) => ['base', 'net', 'store', 'text', 'texts'].includes(folder(path)))) {
    const bare = code.replace(/'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\.)*`/g, "''")
    for (const name of GLOBALS) {
      assert.doesNotMatch(bare, new RegExp(`(?<![\\w.$])${name}(?![\\w$]|\\s*[:,=)}])`), `${path} uses ${name}`)
    }
  }
})

test('no text becomes HTML, and nothing comes from elsewhere', () => {
  const forbidden = /\b(?:innerHTML|outerHTML|insertAdjacentHTML|setHTMLUnsafe|createContextualFragment|DOMParser|srcdoc|document\.write(?:ln)?|eval)\b|new Function\b|javascript:/
  for (const { path, code } of modules) {
    assert.doesNotMatch(code, forbidden, path)
    assert.doesNotMatch(code, /\b(?:setTimeout|setInterval)\(\s*['"`]/, path)
    const addresses = [...code.matchAll(/(?:src|href|import|fetch\()[:=( ]*['"`](?:https?:)?\/\/[^'"`]*/g)].map(([whole]) => whole)
    assert.deepEqual(addresses, [], path)
  }
})

test('no file has more than 300 lines, and half of them have less than 120', () => {
  const written = modules.filter(({ path }) => folder(path) !== 'texts')
  const lines = written.map(({ path, text }) => ({ path, count: text.split('\n').length - 1 })).sort((a, b) => a.count - b.count)
  assert.deepEqual(lines.filter(({ count }) => count > 300), [])
  const median = lines[Math.floor(lines.length / 2)].count
  assert.ok(median < 120, `the median is ${median}`)
})

/** What begins with `import`, `export` or `await` at the beginning of a line, as src/web/module_bundle.rs reads it. */
const JOINABLE = /^(?:import \{[^}]*$|import \{.*\} from '|export (?:async )?function \w|export class \w|export const \w+ |export \{[\w, ]+\}$)/
const WORDS = /^export default (?:\/\*\* .* \*\/ )?[({]/

test('modules are written so that the server can join them (src/web/module_bundle.rs)', () => {
  for (const { path, code } of apart) {
    const may = folder(path) === 'texts' ? [JOINABLE, WORDS] : [JOINABLE]
    for (const [at, line] of code.split('\n').entries()) {
      if (!/^(?:import|export|await|(?:const|let) .*= await)\b/.test(line)) continue
      assert.ok(may.some(form => form.test(line)), `src/web/client/${path}:${at + 1} can’t be joined, see docs/client.md: ${line}`)
    }
    assert.doesNotMatch(path, /_/, 'the joined file tells modules from their names by the underscore')
  }
})
