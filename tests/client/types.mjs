// Checks the client's types against the server's own document: a changed operation fails here before it fails for people.
//
// The document is the file that TIDINGS_OPENAPI names, else what `tidings openapi` prints.
import { execFileSync, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { binary } from '../sdk/lib/server.mjs'

const here = dirname(fileURLToPath(import.meta.url))
const out = join(here, 'out')

const text = process.env.TIDINGS_OPENAPI
  ? readFileSync(process.env.TIDINGS_OPENAPI, 'utf8')
  : execFileSync(binary(), ['openapi'], { encoding: 'utf8', maxBuffer: 2 ** 26 })

// Making the types takes some seconds, and the document seldom changes.
const mark = `// ${createHash('sha256').update(text).digest('hex')}\n`
const target = join(out, 'api.d.ts')
if (!existsSync(target) || !readFileSync(target, 'utf8').startsWith(mark)) {
  const { default: openapi, astToString } = await import('openapi-typescript')
  const types = astToString(await openapi(JSON.parse(text)))
  mkdirSync(out, { recursive: true })
  writeFileSync(target, mark + types)
}

for (const project of ['tsconfig.json', 'tsconfig.worker.json']) {
  const check = spawnSync(join(here, 'node_modules/.bin/tsc'), ['--project', join(here, project)], { stdio: 'inherit' })
  if (check.status !== 0) process.exitCode = 1
}
