// What the client is measured in: an organisation of 10,000 members, with 200 channels and 30 direct messages of Ada's, one of them
// with a million messages. What must be many is written straight into the database.
//
// BENCH_MESSAGES sets the size of the large channel. BENCH_WORLD names a folder where the world is kept from run to run.
import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { account, organisation, start } from '../../tests/browser/lib/server.mjs'

export const MESSAGES = Number(process.env.BENCH_MESSAGES ?? 1_000_000)
export const MEMBERS = 10_000
const [CHANNELS, DIRECT, ELSEWHERE, EACH] = [200, 30, 2, 120]
/** Raised when what is made changes: kept worlds of before are made anew. */
const FORM = 5

const FIRST = 'Ada Alma Amir Anke Bela Bruno Carla Chidi Dana Edda Emil Fatma Finn Greta Hana Ida Ines Ivo Jana Jonas Karim Lena Levi Mara Milo Nadia Noor Olga Otto Pia Quinn Rosa Sami Tove Ulf Vera Wim Xenia Yara Zoe'
const LAST = 'Abel Berg Conti Dietz Eriksen Fuchs Garcia Haas Ivanova Jansen Keller Lopez Meyer Novak Okafor Park Quist Rossi Sato Tanaka Ueda Vogel Weber Xu Yilmaz Zimmer'
const WORDS = 'the of and to in for is on that with as at by we are from be this will can not have it our you all any new report meeting budget release server review Thursday customer invoice question answer draft schedule update numbers deadline design contract travel office printer harbour station morning please thanks before after tomorrow together'

/** Runs SQL on a database that no server uses. `id(kind, k)` is an identifier, `text(k)` a message. */
const SQL = `
import sqlite3, sys, time
first, last, words = (line.split() for line in sys.stdin.readline().strip().split('|'))
def text(k):
    seed, many = k * 2654435761 % 2**32, (4, 8, 14, 9, 30, 6, 11, 60)[k % 8]
    said = ' '.join(words[(seed + i * i * 7 + i * k) % len(words)] for i in range(many)).capitalize()
    if k % 23 == 0: return said + '\\n\\n\`\`\`\\nlet wind = measure(%d)\\nif (wind > 20) stay()\\n\`\`\`' % k
    if k % 17 == 0: return said + ':\\n\\n- ' + said + '\\n- **two** and \`three\`\\n- https://example.org/%d' % k
    if k % 7 == 0: return '**' + said + '** or _not_, says [the page](https://example.org/%d).' % k
    return said + '.'
base = sqlite3.connect(sys.argv[1])
base.create_function('id', 2, lambda kind, k: bytes.fromhex('01900000000070008%s%014x' % (kind, k)), deterministic=True)
base.create_function('text', 1, text, deterministic=True)
base.create_function('first', 1, lambda k: first[k % len(first)], deterministic=True)
base.create_function('last', 1, lambda k: last[k // len(first) % len(last)], deterministic=True)
base.create_function('now', 0, lambda: time.time_ns() // 1000)
base.create_function('unhex', 1, bytes.fromhex, deterministic=True)
base.executescript(sys.stdin.read())
base.execute('pragma wal_checkpoint(truncate)')
`

const blob = id => `unhex('${id.replaceAll('-', '')}')`
const numbers = (from, to) => `with recursive k(k) as (select ${from} union all select k + 1 from k where k < ${to})`
const NOW = 'now()'

export function write(data, sql) {
  const run = spawnSync('python3', ['-c', SQL, join(data, 'tidings.db')], { input: `${FIRST}|${LAST}|${WORDS}\n${sql}`, encoding: 'utf8' })
  if (run.status !== 0) throw new Error(run.stderr || String(run.error))
}

/** Members beside those who are there. */
const people = (organisation, channel, count) => `
begin;
create temp table k as ${numbers(1, count)} select k from k;
insert into users (id, email, username, password_hash, first_name, last_name, is_verified, created_at, updated_at)
  select id('a', k), 'u' || k || '@example.org', lower(first(k)) || '.' || k, '', first(k), last(k), 1, ${NOW}, ${NOW} from k;
insert into organisation_members (organisation_id, user_id, role_id, created_at, updated_at, names)
  select ${blob(organisation)}, id('a', k), 4, ${NOW}, ${NOW}, lower(char(10) || first(k) || char(10) || last(k) || char(10) || first(k) || '.' || k || char(10) || k) from k;
insert into channel_members (channel_id, user_id, username, created_at)
  select ${blob(channel)}, id('a', k), lower(first(k)) || '.' || k, ${NOW} from k;
update channels set user_count = user_count + ${count} where id = ${blob(channel)};
commit;`

/** Messages of a channel, the last a minute ago, one each \`apart\` seconds; all but the last \`unread\` are read by its members. */
const talk = ({ channel, others, count, apart, unread }, kind) => `
begin;
create temp table base as select coalesce(max(n), 0) as n, ${NOW} as now from messages;
insert into messages (n, id, channel_id, user_id, username, content, active_n, created_at, updated_at)
  ${numbers(1, count)} select base.n + k, id('${kind}', base.n + k), ${blob(channel)}, u.id, u.username, text(base.n + k), base.n + k,
    base.now - (${count} - k + 1) * ${apart}000000, base.now - (${count} - k + 1) * ${apart}000000
  from k, base join users u on u.id = ${others};
update channels set message_count = ${count}, thread_count = ${count}, last_n = (select max(n) from messages),
  last_thread = (select max(n) from messages), last_message_at = (select created_at from messages order by n desc limit 1) where id = ${blob(channel)};
update channel_members set read_thread_count = ${count - unread}, read_n = (select max(n) from messages) - ${unread},
  read_id = id('${kind}', (select max(n) from messages) - ${unread}) where channel_id = ${blob(channel)};
drop table base;
commit;`

const reactions = channel => `
begin;
create temp table some as select n from messages where channel_id = ${blob(channel)} and n % 9 = 0 order by n desc limit 2000;
insert into reactions (n, emoji, user_id, created_at) select n, '👍', id('a', 1 + n % 90), ${NOW} from some;
insert into reaction_counts (n, emoji, count, first_at) select n, '👍', 1, ${NOW} from some;
update meta set value = (select max(n) from messages) where key = 'search_cursor';
commit;`

async function make(folder) {
  const ends = []
  const t = { after: end => ends.unshift(end) }
  const server = await start(t)
  const ada = await account(server, 'ada', { first_name: 'Ada', last_name: 'King' })
  const grace = await account(server, 'grace', { first_name: 'Grace', last_name: 'Berg' })
  const harbour = await organisation(ada, [grace])
  for (let n = 0; n < ELSEWHERE; n += 1) await organisation(ada, [grace], `Elsewhere ${n + 1}`)
  const named = async name => (await ada.call('POST', '/channels', { name, organisation_id: harbour.id })).id
  const channels = []
  const topics = WORDS.split(' ').slice(26)
  for (let n = 1; n < CHANNELS; n += 1) channels.push(await named(`${topics[n % topics.length].toLowerCase()}-${n}`))
  for (const id of [harbour.general.id, ...channels.slice(0, 40)]) await ada.call('POST', `/channels/${id}/users`, { user_id: grace.id }).catch(() => {})
  await server.stop()
  write(server.data, people(harbour.id, harbour.general.id, MEMBERS - 2))
  await server.launch()
  const ids = Array.from({ length: DIRECT }, (_, k) => `01900000-0000-7000-8a00-${(k + 1).toString(16).padStart(12, '0')}`)
  const direct = []
  for (const id of ids) direct.push((await ada.call('POST', `/organisations/${harbour.id}/dms`, { user_ids: [id] })).id)
  await server.stop()
  const talks = [
    ...channels.map((channel, n) => ({ channel, others: "id('a', 1 + k % 25)", count: EACH, apart: 600, unread: n % 20 === 19 ? 5 : 0 })),
    ...direct.map((channel, n) => ({ channel, others: `id('a', ${n + 1})`, count: EACH, apart: 900, unread: 0 })),
    { channel: harbour.general.id, others: "id('a', 1 + (k / 3) % 90)", count: MESSAGES, apart: 20, unread: 0 },
  ]
  write(server.data, talks.map(each => talk(each, 'd')).join('') + reactions(harbour.general.id))
  await server.launch()
  for (const person of [ada, grace]) await person.call('PUT', '/users/switch-org', { current_org: harbour.id })
  await server.stop()
  mkdirSync(folder, { recursive: true })
  cpSync(server.data, join(folder, 'data'), { recursive: true })
  const { email } = ada
  writeFileSync(join(folder, 'world.json'), JSON.stringify({ form: FORM, messages: MESSAGES, slug: harbour.slug, organisation: harbour.id, email, grace: grace.email, large: harbour.general.id, channels, direct }))
  for (const end of ends) await end()
}

/** What was made before, if it is as it would be made now. */
function known(folder) {
  const file = join(folder, 'world.json')
  const world = existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : null
  return world?.form === FORM && world.messages === MESSAGES ? world : null
}

/** A server on a copy of the world, so that nothing that a row does is there for the next. */
export async function world(t, folder, ...flags) {
  if (!known(folder)) {
    console.error(`making a channel of ${MESSAGES.toLocaleString('en')} messages in ${folder}`)
    rmSync(folder, { recursive: true, force: true })
    await make(folder)
  }
  const server = await start(t, ...flags)
  await server.stop()
  rmSync(server.data, { recursive: true })
  cpSync(join(folder, 'data'), server.data, { recursive: true })
  await server.launch()
  return { ...known(folder), server }
}
