// Reads the AsyncAPI document on standard input with AsyncAPI's own parser, and checks each example against its schema, which
// the parser doesn't do for AsyncAPI 3. Fails on any error or warning.
import { readFileSync } from 'node:fs'
import { Parser } from '@asyncapi/parser'
import Ajv from 'ajv'
import formats from 'ajv-formats'

const SEVERITIES = ['error', 'warning', 'information', 'hint']

const { document, diagnostics } = await new Parser().parse(readFileSync(0, 'utf8'))
for (const { severity, code, message, path } of diagnostics) {
  console.log(`${SEVERITIES[severity]}: ${code}: ${message} at ${path.join('.')}`)
}
if (!document || diagnostics.some(({ severity }) => severity <= SEVERITIES.indexOf('warning'))) process.exit(1)

const ajv = formats(new Ajv({ strict: false, allErrors: true }))
let examples = 0
for (const message of document.messages()) {
  for (const example of message.examples()) {
    for (const part of ['headers', 'payload']) {
      const schema = message[part]()?.json()
      if (schema && !ajv.validate(schema, example[part]())) {
        console.log(`error: ${message.name()}: the ${part} of an example: ${ajv.errorsText()}`)
        process.exitCode = 1
      }
    }
    examples += 1
  }
}
console.log(`${document.channels().length} channels, ${document.messages().length} messages, ${examples} examples`)
