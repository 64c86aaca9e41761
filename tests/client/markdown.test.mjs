// Markdown: what people expect of it, and that no text breaks it or costs more than its length.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import test from 'node:test'
import { isSafe, shownAddress } from '../../src/web/client/text/addresses.js'
import { parse } from '../../src/web/client/text/markdown.js'
import { leastWork } from './lib/work.mjs'

const names = {
  mention: name => (name.toLowerCase() === 'ada' ? { kind: 'user', id: '1', name: 'ada' } : null),
  channel: name => (name === 'general' ? { id: '2', name } : null),
  emoji: name => (name === 'tada' ? '🎉' : null),
}

/** The tree in short: `p(bold(x) y)`. */
const SHORT = { strong: 'bold', emphasis: 'it', strike: 'del', paragraph: 'p', quote: 'q', heading: 'h' }
const short = nodes => nodes.map(node => {
  switch (node.type) {
    case 'text': return node.text
    case 'code-span': return `code(${node.text})`
    case 'code': return `pre[${node.language}](${node.text})`
    case 'link': return `a[${node.address}](${short(node.children)})`
    case 'mention': return `@[${node.name}]`
    case 'channel': return `#[${node.name}]`
    case 'emoji': return node.emoji
    case 'rule': return 'hr'
    case 'list': return `${node.ordered ? `ol${node.start}` : 'ul'}(${node.items.map(item => `(${short(item)})`).join('')})`
    default: return `${SHORT[node.type]}${node.level ?? ''}(${short(node.children)})`
  }
}).join('')

const cases = [
  ['plain & <b>text</b>', 'p(plain & <b>text</b>)'],
  ['one\ntwo\n\nthree', 'p(one\ntwo)p(three)'],
  ['one\r\ntwo', 'p(one\ntwo)'],
  ['**bold** *it* _it_ ~~del~~ __bold__', 'p(bold(bold) it(it) it(it) del(del) bold(bold))'],
  ['***both***', 'p(it(bold(both)))'],
  ['**a *b* c**', 'p(bold(a it(b) c))'],
  ['snake_case_name 2*3*4 2 * 3 * 4 ~/a ~/b', 'p(snake_case_name 2*3*4 2 * 3 * 4 ~/a ~/b)'],
  ['**open *and', 'p(**open *and)'],
  ['f******', 'p(f******)'],
  ['`a*b*` ``c`d`` `open', 'p(code(a*b*) code(c`d) `open)'],
  ['\\*no\\* \\`no\\` C:\\dir \\@ada', 'p(*no* `no` C:\\dir @ada)'],
  ['[text](https://a.example/b_(c)) [no](javascript:alert(1)) [no](/b) [x]', 'p(a[https://a.example/b_(c)](text) [no](javascript:alert(1)) [no](/b) [x])'],
  ['[**b** [c](https://c.example) @ada](https://a.example)', 'p(a[https://a.example](bold(b) c @ada))'],
  ['![picture](https://a.example/p.png)', 'p(a[https://a.example/p.png](picture))'],
  ['[](https://a.example)', 'p(a[https://a.example](https://a.example))'],
  ['[mail](mailto:a@b.example)', 'p(a[mailto:a@b.example](mail))'],
  ['see https://a.example/x_y?z=1, (https://b.example/c_(d)) **https://e.example**', 'p(see a[https://a.example/x_y?z=1](https://a.example/x_y?z=1), '
    + '(a[https://b.example/c_(d)](https://b.example/c_(d))) bold(a[https://e.example](https://e.example)))'],
  ['https://a.example\\[x](https://b.example)', 'p(a[https://a.example](https://a.example)[x](a[https://b.example](https://b.example)))'],
  ['<https://a.example/,> <mailto:a@b.example> <script>', 'p(a[https://a.example/,](https://a.example/,) a[mailto:a@b.example](a@b.example) <script>)'],
  ['javascript:alert(1) data:text/html,x ftp://a.example http:///x https://', 'p(javascript:alert(1) data:text/html,x ftp://a.example http:///x https://)'],
  ['xhttps://a.example', 'p(xhttps://a.example)'],
  ['https://bank.example\u202e@evil.example/moc', 'p(https://bank.example\u202e@evil.example/moc)'],
  ['[a](https://b.example/\u200b) <https://c.example/\u2066>', 'p([a](https://b.example/\u200b) <https://c.example/\u2066>)'],
  ['https://bank.example@evil.example/ [a](https://b:c@d.example) <http://@e.example>',
    'p(https://bank.example@evil.example/ [a](https://b:c@d.example) <http://@e.example>)'],
  ['https://a.example/@b <mailto:c@d.example>', 'p(a[https://a.example/@b](https://a.example/@b) a[mailto:c@d.example](c@d.example))'],
  ['@ada, @ADA. @bob mail@ada @ada_', 'p(@[ada], @[ada]. @bob mail@ada @[ada]_)'],
  ['`@ada` #general #other a#general', 'p(code(@ada) #[general] #other a#general)'],
  [':tada: :nope: 10:30:00 :tada', 'p(🎉 :nope: 10:30:00 :tada)'],
  ['# One\n### Three\n#general\n#', 'h1(One)h3(Three)p(#[general]\n#)'],
  ['a\n---\nb\n* * *\n___', 'p(a)hrp(b)hrhr'],
  ['> a\n> > b\n>c\nd', 'q(p(a)q(p(b))p(c))p(d)'],
  ['> ```js\n> a > b\n> ```', 'q(pre[js](a > b))'],
  ['```Rust\nlet a = 1;\n\n  **b**\n```\nafter', 'pre[rust](let a = 1;\n\n  **b**)p(after)'],
  ['```one line\nand another```', 'pre[](one line\nand another)'],
  ['```\nopen', 'pre[](open)'],
  ['```inline```', 'p(code(inline))'],
  ['~~~\na\n~~~', 'pre[](a)'],
  ['- a\n- b\n  - c\n    d\n  - e\n\n- f\ng', 'ul((p(a))(p(b)ul((p(c\nd))(p(e))))(p(f)))p(g)'],
  ['3. a\n4. b\n   - c\n1) d', 'ol3((p(a))(p(b)ul((p(c))))(p(d)))'],
  ['- a\n1. b', 'ul((p(a)))ol1((p(b)))'],
  ['It was\n1984. Great\n- list', 'p(It was\n1984. Great)ul((p(list)))'],
  ['* a\n\tb\n* ```\n  c\n  ```', 'ul((p(a\nb))(pre[](c)))'],
  ['-\n-a\n1.a', 'p(-\n-a\n1.a)'],
  ['', ''],
  [' \n\n ', ''],
]

for (const [text, expected] of cases) {
  test(`Markdown ${JSON.stringify(text)}`, () => assert.equal(short(parse(text, names)), expected))
}

/** The deepest level and the number of nodes of a tree. */
function measure(nodes, level = 1) {
  let deepest = nodes.length ? level : level - 1
  let count = nodes.length
  for (const node of nodes) {
    for (const inner of node.items ?? (node.children ? [node.children] : [])) {
      const below = measure(inner, level + 1)
      deepest = Math.max(deepest, below.deepest)
      count += below.count
    }
  }
  return { deepest, count }
}

test('the real address stands beside a label that could be read as another one', () => {
  const examples = JSON.parse(readFileSync(new URL('../data/links.json', import.meta.url), 'utf8'))
  for (const { label, address, hides: isHiding } of examples) {
    const [{ children }] = parse(`[${label}](${address})`)
    const links = children.filter(each => each.type === 'link')
    assert.deepEqual(links.map(each => each.address), [address], label)
    const isBeside = children.length > 1 && short(children).endsWith(` (a[${address}](${shownAddress(address)}))`)
    assert.equal(isBeside, isHiding, `[${label}](${address}): ${short(children)}`)
  }
})

test('a label is read together with what touches it', () => {
  const evil = 'https://evil.example'
  const beside = ` (a[${evil}](${evil}))`
  for (const [text, shown] of [
    [`[https://goo](${evil})[gle.com](${evil})`, `https://goo${beside}gle.com${beside}`],
    [`[accounts.g](${evil})[oogle.com](${evil})`, `accounts.g${beside}oogle.com${beside}`],
    [`accounts.[goo](${evil})gle`, `accounts.goo${beside}gle`],
    [`**bank**.*[example](${evil})*`, `bold(bank).it(example${beside})`],
    [`[bank](${evil})~~.example~~`, `bank${beside}del(.example)`],
    [`\`https://\`[bank](${evil})`, `code(https://)bank${beside}`],
    [`[bank](${evil})\u200b.\u2009example`, `bank${beside}\u200b.\u2009example`],
    [`bank.[example the plan](${evil})`, `bank.example the plan${beside}`],
    [`[see bank](${evil}).example`, `see bank${beside}.example`],
    ['goo[gle.com](https://gle.com)', 'google.com (a[https://gle.com](https://gle.com))'],
    [`<${evil}>.bank.example`, `${evil}${beside}.bank.example`],
    [`bank.example/<${evil}>`, `bank.example/${evil}${beside}`],
    [`bank.example/[log in](${evil})`, `bank.example/log in${beside}`],
    // A page shows ten such signs in a row at most, so that the label is read without the eleventh.
    [`[bank.c${'\u034f'.repeat(10)}🏽om](${evil})`, `bank.c${'\u034f'.repeat(10)}🏽om${beside}`],
    // What is written apart is shown beside each other.
    [`Log in at \u202b[bank](${evil}) \u202c.com now`, `Log in at \u202bbank${beside} \u202c.com now`],
  ]) assert.equal(short(parse(text)), `p(${shown})`, text)
  for (const [text, shown] of [
    ['see bank.example: [log in](https://a.example).', 'see bank.example: a[https://a.example](log in).'],
    ['(https://a.example), **https://a.example**: x', '(a[https://a.example](https://a.example)), bold(a[https://a.example](https://a.example)): x'],
    ['PR:https://a.example/x.', 'PR:a[https://a.example/x](https://a.example/x).'],
    ['([a.example](https://a.example))', '(a[https://a.example](a.example))'],
    ['{"b.example":"https://a.example","c.example":1}', '{"b.example":"a[https://a.example](https://a.example)","c.example":1}'],
    ['[a](https://a.example)[b](https://b.example)', 'a[https://a.example](a)a[https://b.example](b)'],
    ['开会。请看[文档](https://a.example)。谢谢🎉再见', '开会。请看a[https://a.example](文档)。谢谢🎉再见'],
    ['开会。https://a.example。谢谢', '开会。a[https://a.example](https://a.example)。谢谢'],
    [`\u200f<${evil}>`, `\u200fa[${evil}](${evil})`],
    [`https://a.example/${'x'.repeat(400)}`, `a[https://a.example/${'x'.repeat(400)}](https://a.example/${'x'.repeat(400)})`],
  ]) assert.equal(short(parse(text)), `p(${shown})`, text)
})

test('an address ends before what closes around it, also where no space follows', () => {
  const link = 'a[https://a.example/b](https://a.example/b)'
  for (const [before, after] of [
    ['„', '“ ist'], ['“', '” is'], ['«', '» est'], ['״', '״'], ['「', '」を見て'], ['（', '）'], ['详见：', '，谢谢'], ['', '。詳細'], ['', '—gut'], ['', '…'], ['', '’s'],
  ]) assert.equal(short(parse(`${before}https://a.example/b${after}`)), `p(${before}${link}${after})`)
  assert.equal(short(parse('https://a.example/b。c')), 'p(a[https://a.example/b。c](https://a.example/b。c))')
})

test('a host that mixes scripts, or has letters that look like others, is shown as it is looked up', () => {
  for (const [written, seen] of [
    ['https://münchen.example/ü', 'https://münchen.example/ü'],
    ['https://пример.рф', 'https://пример.рф'],
    ['https://日本.example', 'https://日本.example'],
    ['https://a_b.example:8080/c', 'https://a_b.example:8080/c'],
    ['https://\u0430pple.com/x', 'https://xn--pple-43d.com/x'],
    ['https://\u0430\u0440\u0440\u04cf\u0435.com', 'https://xn--80ak6aa92e.com'],
    ['https://bank.comノlogin.example', 'https://bank.xn--comlogin-634g.example'],
    ['https://bank.com∕login.example/', 'https://bank.xn--comlogin-0f7d.example/'],
    ['https://\ufb01nance.example', 'https://finance.example'],
    ['https://\u0262ithub.example', 'https://xn--ithub-wmc.example'],
    ['https://\u0261oogle.example', 'https://xn--oogle-qmc.example'],
    ['https://app\u029fe.example', 'https://xn--appe-xhc.example'],
    ['https://p\u0251ypal.example', 'https://xn--pypal-0jc.example'],
    ['https://g\u0131thub.example', 'https://xn--gthub-n4a.example'],
    ['https://g\u0130thub.example', 'https://xn--github-qyd.example'],
    ['https://łódź.example', 'https://łódź.example'],
    ['https://MÜNCHEN.example', 'https://MÜNCHEN.example'],
    ['https://tuổitrẻ.example', 'https://tuổitrẻ.example'],
    ['https://straße-ță.example', 'https://straße-ță.example'],
    ['https://bank。example', 'https://bank.example'],
  ]) {
    for (const text of [written, `<${written}>`, `[](${written})`]) assert.equal(short(parse(text)), `p(a[${written}](${seen}))`)
  }
  assert.equal(short(parse('<mailto:ada@\u0430pple.com>')), 'p(a[mailto:ada@\u0430pple.com](ada@xn--pple-43d.com))')
  assert.equal(short(parse('[shop](https://\u0430pple.com)')), 'p(a[https://\u0430pple.com](shop))', 'no address is read there')
})

test('mail goes to the one person whom its link names, and sets nothing but a subject and a text', () => {
  for (const safe of [
    'mailto:ada@a.example', 'MAILTO:ada%2Bnews@a.example', 'mailto:jörg+x@a.example?subject=Hello,%20you;&body=a%0D%0Ab@c', 'mailto:ada@a.example?body=x',
  ]) assert.ok(isSafe(safe), safe)
  for (const unsafe of [
    'mailto:', 'mailto:ada', 'mailto:@a.example', 'mailto:ada@', 'mailto:ada@a.example,eve@evil.example', 'mailto:ada@a.example;eve@evil.example',
    'mailto:ada@a.example%2Ceve%40evil.example', 'mailto:ada@a.example,', 'mailto:ada@a.example@evil.example', 'mailto:ada%2Ceve@a.example',
    'mailto:?to=eve@evil.example', 'mailto:ada@a.example?bcc=eve@evil.example', 'mailto:ada@a.example?subject=x&cc=eve@evil.example',
    'mailto:ada@a.example?subject=x%0D%0ABcc:eve@evil.example', 'mailto:ada@a.example?attach=/etc/passwd', 'mailto:ada@a.example#eve',
  ]) assert.ok(!isSafe(unsafe), unsafe)
})

const HOSTILE = ['*', '_', '~~', '~', 'a_b', '*_', '`', '[', '](', '[](', '![', '[a](http://b)', '[x](http://a', '[[a](http://b)', '[a](http://b(', '<http://', '<http://a>',
  'http://a ', 'https://;', 'http:///', 'http://%', 'http://é@', 'http://\u0301', 'http://\u202e', '[a](http://b)c.', 'b.[a](http://b)', 'a.bc[a](http://b)',  'http://a(', '>', '> ', '>- ', '> - \n', '- ', '-\n- ', '- a\n\n', '- a\n \n', '    - a\n', '1. a\n', '- - ', '* * *\n', '***',
  '\n', 'a\n\n', '\\', '@a', '@ada ', '@', '#a', '#general ', ':a', ':tada:', ':', '**a ', '*a_b', 'a*', '*a*', '**a** ', '*a _b ~~c ', 'x_', '_x', '```\n',
  '``` \n', '# a\n', '# ', '(', ')', ' ', '\t', 'a', '[a.bc](https://x.example)', '[e\u0301\u0323](https://x.example)', '[a\u2027\u0660](https://x.example)', '<mailto:a@b?body=', '[[a.bc](https://x.example)', '`a', '[`', '*[', '*[a]', '`*', '&', '<', '\u200b', '\u0000', '\u05d0*', '🎉*', '\ud83d', '\u202e']

test('100 KB of any sign take less than 50 ms, are at most 16 deep, and 2,000 nodes with the texts between them', () => {
  // What comes last may take back what all that came before had begun.
  for (const sign of HOSTILE.flatMap(each => ['', '`', ']', ')', '_', 'x'].map(end => [each, end]))) {
    const text = sign[0].repeat(Math.ceil(100_000 / sign[0].length)) + sign[1]
    let tree
    const work = leastWork(() => { tree = parse(text, names) }, { enough: 25 })
    assert.ok(work < 50, `${JSON.stringify(sign)}: ${work} ms`)
    const { deepest, count } = measure(tree)
    assert.ok(deepest <= 17, `${JSON.stringify(sign)}: ${deepest} deep`)
    assert.ok(count <= 2100, `${JSON.stringify(sign)}: ${count} nodes`)
  }
})

test('labels in labels are read in a time that their number bounds', () => {
  for (const sign of ['\ufdfa', '\u0301\u0323', 'a\u2027', '\ud55c']) {
    const text = '['.repeat(200) + sign.repeat(90_000 / sign.length) + '](https://x.example)'.repeat(200)
    const work = leastWork(() => parse(text), { enough: 200 })
    assert.ok(work < 400, `${JSON.stringify(sign)}: ${work} ms`)
  }
})

test('marks that are opened and never closed cost no more when something deep follows', () => {
  const text = '*a '.repeat(12_000) + '**_'.repeat(20) + 'x' + '_**'.repeat(20) + 'x* '.repeat(12_000)
  const work = leastWork(() => parse(text), { enough: 100 })
  assert.ok(work < 200, `${work} ms`)
})

test('no text is lost, whatever the marks', () => {
  const signs = ['*', '**', '_', '~~', '`', '[', ']', '(', ')', '](http://a.example)', '\n', '\n\n', '- ', '> ', '#', ' ', 'ab', '1. ', '```', ':', '@', '!', '<', '>', 'é', '🎉']
  let seed = 27
  const random = below => {
    seed = (seed * 1103515245 + 12345) % 2 ** 31
    return Math.floor((seed / 2 ** 31) * below)
  }
  for (let round = 0; round < 3000; round += 1) {
    let word = 0
    const text = Array.from({ length: 1 + random(30) }, () => signs[random(signs.length)].replace('ab', () => `w${word += 1}`)).join('')
    const shown = JSON.stringify(parse(text, names))
    for (let each = 1; each <= word; each += 1) assert.ok(shown.includes(`w${each}`), `w${each} of ${JSON.stringify(text)} in ${shown}`)
  }
})
