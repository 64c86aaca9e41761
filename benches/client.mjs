// Prints what the client takes beside what it may take: `node benches/client.mjs [row…]`, after `npm ci` in tests/browser and tests/client.
//
// TIDINGS_BIN names the server's binary (a release build, for figures that count), BENCH_WORLD a folder where what it is measured in
// is kept, BENCH_MESSAGES the size of the large channel. The exit code is 1 if a row is past twice its bar.
import { cpus, loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { binary } from '../tests/browser/lib/server.mjs'
import { day } from './client/day.mjs'
import { bytes, firstPaint, kept } from './client/loading.mjs'
import { scrolling, shift, switching } from './client/moving.mjs'
import { processor } from './client/processor.mjs'
import { restart } from './client/restart.mjs'
import { restored } from './client/restored.mjs'
import { table as makeTable } from './client/table.mjs'
import { upgrade } from './client/upgrade.mjs'
import { waking } from './client/waking.mjs'
import { MEMBERS, MESSAGES, world as makeWorld } from './client/world.mjs'
import { enter, keys } from './client/writing.mjs'

const ROWS = { bytes, 'first-paint': firstPaint, kept, switching, enter, keys, shift, scrolling, day, processor, waking, restart, restored, upgrade }

const wanted = process.argv.slice(2)
const unknown = wanted.filter(name => !ROWS[name])
if (unknown.length > 0) {
  console.error(`${unknown.join(', ')}: expected some of ${Object.keys(ROWS).join(', ')}`)
  process.exit(2)
}

const folder = process.env.BENCH_WORLD ?? join(tmpdir(), 'tidings-bench-client')
const table = makeTable()
console.log(`${binary().includes('/release/') ? 'release' : 'debug'} build, ${cpus().length} cores, load ${loadavg()[0].toFixed(1)}; ${MEMBERS.toLocaleString('en')} members, 200 channels, one of ${MESSAGES.toLocaleString('en')} messages`)
table.head()
let isBroken = false
for (const [name, run] of Object.entries(ROWS)) {
  if (wanted.length > 0 && !wanted.includes(name)) continue
  const ends = []
  const t = { after: end => ends.unshift(end) }
  try {
    await run({ t, table, world: await makeWorld(t, folder, ...run.flags ?? []), makeWorld: (...flags) => makeWorld(t, folder, ...flags) })
  } catch (error) {
    isBroken = true
    table.missing(name, String(error?.stack ?? error))
  }
  for (const end of ends) await end()
}
process.exit(table.failed() || isBroken ? 1 : 0)
