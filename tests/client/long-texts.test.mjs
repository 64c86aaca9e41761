// Long texts: their beginning is all that is shown at first, and none holds up the page.
import assert from 'node:assert/strict'
import test from 'node:test'
import { effect } from '../../src/web/client/base/signal.js'
import { namesOf } from '../../src/web/client/screens/chat/names.js'
import { createChannels } from '../../src/web/client/store/channels.js'
import { beginning } from '../../src/web/client/text/beginning.js'
import { parse } from '../../src/web/client/text/markdown.js'
import { parting } from '../../src/web/client/text/runs.js'
import { leastWork } from './lib/work.mjs'

const LENGTH = 40_000
const filled = text => text.repeat(Math.ceil(LENGTH / text.length)).slice(0, LENGTH)
const names = { mention: name => ({ kind: 'user', id: '1', name }) }

/** The nodes of a tree and the signs in them. */
const measure = nodes => nodes.reduce((sum, node) => {
  const inner = [...(node.children ? [node.children] : []), ...(node.items ?? [])].map(measure)
  return {
    nodes: sum.nodes + 1 + inner.reduce((all, each) => all + each.nodes, 0),
    signs: sum.signs + (node.text ?? node.name ?? node.emoji ?? '').length + inner.reduce((all, each) => all + each.signs, 0),
  }
}, { nodes: 0, signs: 0 })

test('a text of any signs begins with 1,800 of them in 20 lines and 200 nodes', () => {
  for (const sign of ['AVAT', 'a', '🎉', '日本語', 'แผนที่', ' b', 'a\n', 'a\n\n', '> ', '> a\n', '>\n\n', '- a\n', '1. a\n', '---\n', '# a\n', '**a** ', '`a` ', '@a ',
    '[a](https://a.example) ', '*a **b', '```\na\n```\n', '- - - a\n', '    - a\n  - b\n']) {
    for (const text of [filled(sign), `\`\`\`\n${filled(sign)}`, `\`${filled(sign)}\``]) {
      const { blocks, isWhole } = beginning(text, names)
      const { nodes, signs } = measure(blocks)
      assert.ok(!isWhole && nodes <= 200 && signs <= 1800, `${JSON.stringify(text.slice(0, 20))}: ${nodes} nodes, ${signs} signs, ${isWhole}`)
      assert.ok(JSON.stringify(blocks).split('\\n').length <= 20, JSON.stringify(text.slice(0, 20)))
    }
  }
})

test('what fits into 20 lines is there as it is', () => {
  for (const text of [
    '', 'short', 'word '.repeat(359) + 'word', Array(20).fill('line').join('\n'), Array(10).fill('> quote').join('\n\n'), '```\n' + 'code\n'.repeat(19) + 'x\n```',
    `[the plan](https://a.example/${'x'.repeat(1900)})`, '- a **b**\n'.repeat(15),
  ]) assert.deepEqual(beginning(text), { blocks: parse(text), isWhole: true })
  assert.ok(!beginning(Array(21).fill('line').join('\n')).isWhole)
  assert.ok(!beginning('word '.repeat(361)).isWhole)
  // Of a pile of marks, no more is ever shown.
  assert.deepEqual(beginning(`👩${'\u0301'.repeat(19_000)}`), { blocks: parse(`👩${'\u0301'.repeat(10)}`), isWhole: true })
  // Writing without spaces stands there, too, and no part of an address.
  for (const first of ['お知らせ\n', '> ', '- ', '\n']) {
    const { signs } = measure(beginning(first + '本日は'.repeat(1500)).blocks)
    assert.ok(signs > 1600, `${JSON.stringify(first)}: ${signs} signs`)
  }
  // All of the text that is read is a label: of the address behind it, none or the whole is shown.
  const { blocks } = beginning(`${'[a](https://a.example/xxxxx) '.repeat(125)}https://bank.example.evil.example/${'x'.repeat(100)}`)
  assert.doesNotMatch(JSON.stringify(blocks), /"https:..bank/)
})

test('the beginning ends between words, and at no half of an address or letter', () => {
  const text = blocks => blocks.map(({ children }) => children.map(each => each.text ?? `<${each.address}>`).join('')).join('')
  assert.match(text(beginning('seven words of some length fill lines '.repeat(100)).blocks), /^(?:seven words of some length fill lines )*(?:\w+ )*\w+$/)
  assert.match(text(beginning('e\u0301'.repeat(2000)).blocks), /^(?:e\u0301)+$/)
  assert.ok(text(beginning('🎉'.repeat(2000)).blocks).isWellFormed())
  const address = `https://bank.example.${'x'.repeat(50)}.evil.example/${'y'.repeat(500)}`
  assert.ok(text(beginning(`${'word '.repeat(355)}${address} and more`).blocks).endsWith(`<${address}>`))
  const long = `https://a.example/${'x'.repeat(2000)}`
  assert.match(text(beginning(`${'word '.repeat(355)}${long} and more`).blocks), /^(?:word )*word$/)
})

/** The parts that the texts of a line have. */
const parted = texts => {
  const found = ['']
  for (const { text, isApart } of texts.flatMap(parting())) {
    if (isApart) found.push(text)
    else found[found.length - 1] += text
  }
  return found
}

test('no run of more than 500 signs is in one part, and none of 250 is parted', () => {
  for (const sign of ['AVAT', 'แผนที่', '🎉', '/', 'e\u0301', '\u0301', '🇩🇪', '👩\u200d🚀']) {
    for (const texts of [[filled(sign)], filled(sign).match(/[^]{99}|[^]+$/gu), filled(sign).match(/[^]{249}|[^]+$/gu), ['a b', filled(sign), 'c d']]) {
      const found = parted(texts)
      assert.equal(found.join(''), texts.join(''))
      for (const part of found) assert.ok([...part].length <= 500, `${[...part].length} of ${sign}`)
    }
  }
  for (const text of ['x'.repeat(250), `${'x'.repeat(250)} ${'y'.repeat(250)}`, '']) assert.deepEqual(parted([text]), [text])
})

test('a run is parted behind a sign, and never within a letter', () => {
  assert.ok(parted([`https://a.example/${'part/of-it?'.repeat(90)}`]).slice(0, -1).every(part => /[/?-]$/.test(part)))
  assert.ok(parted(['e\u0301\u0323'.repeat(400)]).every(part => part.startsWith('e') && part.endsWith('\u0323')))
  assert.deepEqual([...new Set(parting()(filled('AVAT')).map(each => each.breaks))], [false], 'lines stay full')
  const thai = parting()(filled('แผนที่')).slice(1)
  assert.ok(thai.length >= 160 && thai.every(each => each.breaks))
  // The vowel AM belongs to the letter before it, and the leading vowels to the one behind.
  for (const text of ['x' + 'ทำ'.repeat(300), 'x' + 'เก'.repeat(300)]) {
    assert.ok(parted([text]).every(part => !part.startsWith('ำ') && !part.endsWith('เ')), text.slice(0, 4))
  }
  assert.ok(parted(['\u1112\u1161\u11ab'.repeat(300)]).every(part => part.startsWith('\u1112')))
  assert.ok(parted(['👩\u200d🚀'.repeat(400)]).every(part => part.startsWith('👩') && part.endsWith('🚀')))
})

test('a text of names of channels is read in a time that the number of channels does not change', () => {
  const channels = createChannels({ me: () => '', came: () => {} })
  for (let n = 0; n < 5000; n += 1) {
    channels.put({ id: `${n}`, name: `c${n >> 1}`, thread_count: 0, mention_count: 0, last_message_at: '' }, 'here', false, null)
  }
  const store = channels.lists(() => 'here')
  assert.deepEqual(parse('#c7', namesOf(store, [])), [{ type: 'paragraph', children: [{ type: 'channel', id: '14', name: 'c7' }] }])
  const text = filled('#no ')
  // As a text that is shown does, which is read again when a channel has another name.
  const work = leastWork(() => effect(() => parse(text, namesOf(store, []))), { enough: 50 })
  assert.ok(work < 100, `${work} ms`)
})
