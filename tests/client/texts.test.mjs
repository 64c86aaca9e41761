// The words of the client: the same ones in all languages, none missing, none left over.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import test from 'node:test'
import { root } from '../sdk/lib/server.mjs'
import { LANGUAGES, direction, hasText, language, listed, loadWords, preferredLanguage, rich, setLanguage, t }
  from '../../src/web/client/text/words.js'
import { codeText, refusalText } from '../../src/web/client/text/refusals.js'
import { languages, modules, texts } from './sources.mjs'

const english = await texts('en')
const keysOf = areas => Object.entries(areas).flatMap(([area, words]) => Object.keys(words).map(key => `${area}.${key}`)).sort()
const forms = text => (typeof text === 'string' ? { other: text } : text)
const holes = text => [...new Set([...text.matchAll(/\{\w+\}|<\w+>/g)].map(([hole]) => hole))].sort()

test('there are words for each language that can be chosen, and for no other', () => {
  assert.deepEqual(Object.keys(LANGUAGES).sort(), languages)
})

for (const name of languages.filter(name => name !== 'en')) {
  test(`"${name}" has the same words as English`, async () => {
    assert.deepEqual(keysOf(await texts(name)), keysOf(english))
  })
}

for (const name of languages) {
  test(`the words of "${name}" have the same values as in English, and each form that its numbers need`, async () => {
    const plural = new Intl.PluralRules(name)
    const needed = new Set(Array.from({ length: 200 }, (_, count) => plural.select(count)))
    for (const [area, words] of Object.entries(await texts(name))) {
      for (const [key, text] of Object.entries(words)) {
        const original = english[area]?.[key] ?? text
        assert.equal(typeof text, typeof original, `${area}.${key} counts in one language and not in the other`)
        // One may be a word in one language and a number in another, so that a count need not be in each form.
        const expected = holes(Object.values(forms(original)).join(' '))
        assert.deepEqual(holes(Object.values(forms(text)).join(' ')), expected, `${area}.${key} in ${name}`)
        for (const each of Object.values(forms(text))) {
          assert.equal(typeof each, 'string')
          assert.notEqual(each.trim(), '', `${area}.${key} in ${name} is empty`)
          for (const [, tag] of each.matchAll(/<(\w+)>/g)) assert.ok(each.includes(`</${tag}>`), `${area}.${key} in ${name}`)
        }
        if (typeof text === 'object') {
          for (const form of needed) assert.ok(text[form] ?? (form === 'two' && text.other), `${area}.${key} in ${name} lacks "${form}"`)
        }
      }
    }
  })
}

for (const name of languages) {
  test(`the words of "${name}" that each page needs come in one file`, async () => {
    const { areas } = await import(`../../src/web/client/texts/${name}/first.js`)
    const { chat, common, refusals, talk } = await texts(name)
    assert.deepEqual(areas, { chat, common, refusals, talk })
    await setLanguage(name, ...Object.keys(areas), 'panes')
    for (const key of ['chat.send', 'common.tidings', 'refusals.soon', 'talk.places']) assert.ok(hasText(key), key)
    await setLanguage('en')
  })
}

const literals = new Map()
for (const { path, code } of modules.filter(({ path }) => !path.startsWith('texts/'))) {
  for (const [, key] of code.matchAll(/'(\w+\.\w+)'/g)) {
    if (Object.hasOwn(english, key.split('.')[0])) literals.set(key, [...(literals.get(key) ?? []), path])
  }
}

test('each text that the code names exists', () => {
  const missing = [...literals].filter(([key]) => !keysOf(english).includes(key)).map(([key, paths]) => `${key} in ${paths}`)
  assert.deepEqual(missing, [])
})

test('the code names each text, refusals aside', () => {
  const unused = keysOf(english).filter(key => !literals.has(key) && !key.startsWith('refusals.'))
  assert.deepEqual(unused, [])
})

test('keys are written out where they are used', () => {
  for (const { path, code } of modules.filter(({ path }) => !/^(texts\/|text\/(words|refusals)\.js)/.test(path))) {
    const made = [...code.matchAll(/(?<![\w.])(?:t|rich)\(\s*(`[^`]*`|[^)'"\n]*\+)/g)].map(([whole]) => whole)
    assert.deepEqual(made, [], `${path} makes a key, which this test can't find`)
  }
})

test('no element gets words that are not in the texts', () => {
  // What an example of an address looks like needs no language.
  for (const { path, code } of modules.filter(({ path }) => /^(screens|view)\//.test(path))) {
    const strays = [...code.matchAll(/(?:aria-label|title|placeholder|alt): '([^']*[A-Za-z]{2}[^']*)'/g)].map(([whole]) => whole)
    assert.deepEqual(strays.filter(each => !each.includes('example.org')), [], path)
  }
})

/** The codes of the API: those of its document, else of the page that is made from it. */
const codes = [...readFileSync(join(root, 'docs/errors.md'), 'utf8').matchAll(/^\| `(\w+)` \|/gm)].map(([, code]) => code)

test('each code of the API has words, and there are no others', () => {
  assert.ok(codes.length > 100)
  assert.deepEqual(Object.keys(english.refusals).filter(key => key !== 'soon').sort(), [...codes].sort())
})

test('a refusal is said with its bound and with when to try again', async () => {
  await loadWords('common', 'refusals')
  await setLanguage('en')
  assert.equal(refusalText({ code: 'too_long', fields: [{ field: 'name', code: 'too_long', limit: 80 }] }), 'Too long: at most 80 characters fit.')
  assert.equal(refusalText({ code: 'rate_limited', retryAfter: 90 }), 'That was a little too fast. Try again in 2 minutes.')
  assert.equal(refusalText({ code: 'rate_limited' }), 'That was a little too fast. Try again in a moment.')
  assert.equal(refusalText({ code: 'of_a_later_release', message: 'it is too late' }), 'it is too late')
  assert.equal(refusalText(Object.assign(new Error(), { name: 'Unreachable' })), t('common.unreachable'))
  assert.equal(refusalText(new TypeError('x is undefined')), t('common.unexpected'))
  await setLanguage('de')
  for (const code of codes) {
    const words = codeText(code, { limit: 3, retryAfter: 20 })
    assert.ok(words && !/[{}]/.test(words), `${code}: ${words}`)
    assert.ok(!/[{}]/.test(codeText(code) ?? ''), `${code} without a limit`)
  }
})

test('a language is chosen by the person, then by the browser', () => {
  assert.equal(preferredLanguage('he', ['de-AT']), 'he')
  assert.equal(preferredLanguage(null, ['fr-FR', 'de-AT', 'en']), 'de')
  assert.equal(preferredLanguage('xx', ['fr']), 'en')
  preferredLanguage(null, [])
})

test('the last language that was asked for is set, and its direction', async () => {
  await Promise.all([setLanguage('de'), setLanguage('he'), setLanguage('de')])
  assert.equal(language.value, 'de')
  assert.equal(direction.value, 'ltr')
  await setLanguage('he')
  assert.equal(direction.value, 'rtl')
  assert.equal(listed(['Ann', 'דנה']), '\u2068Ann\u2069 ודנה', 'a name that runs the other way is kept apart')
  await setLanguage('en')
})

test('nodes stand in a sentence where the language wants them', async () => {
  const link = words => ({ link: words })
  assert.deepEqual(rich('common.todayAt', { time: { node: 1 } }), ['today ', { node: 1 }])
  assert.deepEqual(rich('no.such', { link }), ['no.such'])
  assert.ok(!hasText('common.toString'))
})

test('a text with markup is none: no word of the client holds HTML or an address that is not to be read', async () => {
  for (const name of languages) {
    for (const [area, words] of Object.entries(await texts(name))) {
      const all = Object.entries(words).flatMap(([key, text]) => Object.values(forms(text)).map(each => [key, each]))
      for (const [key, each] of all) assert.doesNotMatch(each, /&\w+;|<\/?(?:a|b|i|br|p|span|script)\b|javascript:/i, `${area}.${key} in ${name}`)
    }
  }
})
