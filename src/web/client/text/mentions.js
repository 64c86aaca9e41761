// Names in texts: whom they mean, and completing them while somebody writes. The server finds the mentions of a message by itself;
// here are the names that it takes, so that what is shown as one is one.

/**
 * @typedef {{ kind: 'user' | 'channel', id: string, name: string }} Meant
 * @typedef {(name: string) => Meant | null} Resolver
 * @typedef {{ sign: '@' | '#' | ':' | '/', query: string, from: number, to: number }} Completion What is being written at the caret.
 */

/** Names that mention everybody in a channel. */
export const EVERYBODY = ['channel', 'here', 'all', 'everyone']

/**
 * Whom the names in a message mean, by the mentions that the server found in it.
 *
 * @param {readonly { id: string, type: string, username: string }[] | null | undefined} mentions
 * @returns {Resolver}
 */
export function resolver(mentions) {
  /** @type {Map<string, Meant>} */
  const known = new Map()
  for (const { id, type, username } of mentions ?? []) {
    if (type === 'user') known.set(username.toLowerCase(), { kind: 'user', id, name: username })
    else for (const name of EVERYBODY) known.set(name, { kind: 'channel', id, name })
  }
  return name => known.get(name.toLowerCase()) ?? null
}

/**
 * Whether a message mentions somebody, by name or with everybody.
 *
 * @param {readonly { id: string, type: string }[] | null | undefined} mentions
 * @param {string} userId
 */
export const isMentioned = (mentions, userId) => (mentions ?? []).some(({ id, type }) => type === 'channel' || id === userId)

const STARTED = /(?:^|[^\p{L}\p{N}])(?:(@)([\p{L}\p{N}_.-]{0,64})|(#)([\p{L}\p{N}_-]{0,64})|(:)([a-z0-9_+-]{2,60}))$/iu

/** A command is written at the beginning of a text. */
const COMMAND = /^\/([\p{L}\p{N}_.-]{0,32})$/u

/**
 * The command in what somebody has written; none if it is a message. A space before the slash makes it one.
 *
 * @param {string} written
 */
export function commandIn(written) {
  const [, name = '', text = ''] = /^\/([\p{L}\p{N}_.-]{1,32})(?:\s+([^]*))?$/u.exec(written) ?? []
  return name ? { name: name.toLowerCase(), text: text.trim() } : null
}

/**
 * The name that is being written at the caret: `@ad|`, `#gen|`, `:ta|`, `/to|`. It is none inside of code.
 *
 * @param {string} text
 * @param {number} caret
 * @returns {Completion | null}
 */
export function completionAt(text, caret) {
  const command = COMMAND.exec(text.slice(0, caret))
  if (command) return { sign: '/', query: command[1], from: 0, to: caret }
  const found = STARTED.exec(text.slice(Math.max(0, caret - 70), caret))
  if (!found || isInCode(text, caret)) return null
  const sign = /** @type {'@' | '#' | ':'} */ (found[1] ?? found[3] ?? found[5])
  const query = found[2] ?? found[4] ?? found[6]
  return { sign, query, from: caret - query.length - 1, to: caret }
}

/** @param {string} text @param {number} caret */
function isInCode(text, caret) {
  const before = text.slice(0, caret)
  if ((before.match(/^ {0,3}```/gm)?.length ?? 0) % 2 === 1) return true
  return ((before.slice(before.lastIndexOf('\n') + 1).match(/`/g)?.length ?? 0) % 2) === 1
}

/**
 * The text with a completed name and a space behind it, and where the caret stands then.
 *
 * @param {string} text
 * @param {Completion} completion
 * @param {string} word With its sign: `@ada`, `#general`, or an emoji.
 */
export function complete(text, { from, to }, word) {
  const rest = text.slice(to)
  const space = /^\s/.test(rest) ? '' : ' '
  return { text: `${text.slice(0, from)}${word}${space}${rest}`, caret: from + word.length + 1 }
}

/**
 * Those that a query may mean, the best first: whose first text begins with it, then any of whose words does, then any that hold it.
 *
 * @template T
 * @param {Iterable<T>} items In the order for equally good ones.
 * @param {string} query
 * @param {(item: T) => (string | null | undefined)[]} texts Names of an item, the most important first.
 * @param {number} [limit]
 * @returns {T[]}
 */
export function rank(items, query, texts, limit = 8) {
  const wanted = folded(query)
  /** @type {T[][]} */
  const groups = [[], [], [], []]
  for (const item of items) {
    const group = quality(texts(item), wanted)
    if (group >= 0 && groups[group].length < limit) groups[group].push(item)
  }
  return groups.flat().slice(0, limit)
}

/** @param {(string | null | undefined)[]} texts @param {string} wanted */
function quality(texts, wanted) {
  let best = -1
  for (const [index, text] of texts.entries()) {
    if (!text) continue
    const name = folded(text)
    const at = name.indexOf(wanted)
    if (at < 0) continue
    const group = at === 0 ? Math.min(index, 1) : /[\s._-]/.test(name[at - 1]) ? 2 : 3
    if (best < 0 || group < best) best = group
  }
  return best
}

/** In small letters and without accents, so that "muller" finds "Müller". @param {string} text */
export const folded = text => /^[ -~]*$/.test(text) ? text.toLowerCase() : text.normalize('NFD').replace(/\p{M}/gu, '').toLowerCase()
