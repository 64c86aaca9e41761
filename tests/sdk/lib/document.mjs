// What a document tells its reader to do.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from './server.mjs'

/** The text of a section of a document, up to the next heading of the same level. */
export function section(document, heading) {
  const text = readFileSync(join(root, document), 'utf8')
  const [, rest] = text.split(`\n## ${heading}\n`)
  assert.ok(rest, `${document} has no section "${heading}"`)
  return rest.split('\n## ')[0]
}

/** The blocks of commands that run on the reader's machine. */
export const blocks = text => [...text.matchAll(/```sh\n([^]*?)```/g)].map(([, block]) => block)

/** What a reader does: each `name=...` is filled in from the answer before, as the comment behind it says. */
export const reader = `
curl() { answer=$(command curl --fail-with-body "$@"); printf '%s\\n' "$answer"; }
field() { printf '%s' "$answer" | grep -o "\\"$1\\":\\"[^\\"]*\\"" | head -n 1 | cut -d '"' -f 4; }
`
export const filled = block => block.replaceAll(/^(\w+)=\.\.\. +# (?:data\.|its )(\w+).*$/gm, '$1=$(field $2)\n[ -n "$$$1" ]')
