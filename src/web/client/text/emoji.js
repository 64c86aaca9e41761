// The emoji and their names, from the server's file: 200 KB, loaded when somebody first needs it.

import { signal } from '../base/signal.js'
import { rank } from './mentions.js'

/**
 * @typedef {{ emoji: string, names: string[], description: string, group: string }} Emoji
 * @typedef {{ all: Emoji[], byName: Map<string, string>, bySign: Map<string, Emoji> }} Known
 */

/** @type {import('../base/signal.js').Signal<Known>} */
const known = signal({ all: [], byName: new Map(), bySign: new Map() })
/** @type {Promise<void> | null} */
let loading = null

/** Those that are at hand before anything is loaded, and first in the choice for a reaction. */
export const USUAL = ['👍', '❤️', '😂', '🎉', '👀', '✅', '🙏', '🚀']

/**
 * Loads the names once; if that fails, the next call tries again.
 *
 * @param {() => Promise<Emoji[]>} fetch
 */
export function loadEmoji(fetch) {
  loading ??= fetch().then(all => {
    known.value = {
      all,
      byName: new Map(all.flatMap(({ emoji, names }) => names.map(name => [name, emoji]))),
      bySign: new Map(all.map(each => [bare(each.emoji), each])),
    }
  }).catch(error => {
    loading = null
    throw error
  })
  return loading
}

/** Without the sign that asks for colour: keyboards differ in whether they send it. @param {string} emoji */
const bare = emoji => emoji.replaceAll('\ufe0f', '')

/** The emoji of a name such as `tada`. Reading it subscribes the reader to the names. @param {string} name @returns {string | null} */
export const emojiNamed = name => known.value.byName.get(name) ?? null

/** Whether there are names in a text that only the file can tell; times such as 10:30:15 are none. @param {string} text */
export const hasEmojiNames = text => /:(?=\d*[a-z_+-])[a-z0-9_+-]{1,60}:/.test(text)

/** Whether a reaction is the name of an emoji. @param {string} reaction */
export const isEmojiName = reaction => /^(:?)[\w+-]+\1$/.test(reaction)

/**
 * A reaction as it is shown: the API keeps the emoji itself or a name, as imports bring them.
 *
 * @param {string} reaction
 */
export function reactionSign(reaction) {
  const name = reaction.replace(/^:(.+):$/, '$1')
  return emojiNamed(name) ?? (isEmojiName(name) ? `:${name}:` : reaction)
}

/** What an emoji is called, for those who hear it; the sign itself while the names are not there. @param {string} emoji */
export const emojiLabel = emoji => known.value.bySign.get(bare(emoji))?.names[0].replaceAll('_', ' ') ?? emoji

/**
 * Emoji for what somebody types, the best first.
 *
 * @param {string} query
 * @param {number} [limit]
 * @returns {Emoji[]}
 */
export const findEmoji = (query, limit = 8) =>
  rank(known.value.all, query.toLowerCase().replaceAll(' ', '_'), ({ names, description }) => [...names, description.replaceAll(' ', '_')], limit)

/**
 * The name of an emoji that answers what somebody types: of `+1` and `thumbsup`, the second for `thu`.
 *
 * @param {Emoji} emoji
 * @param {string} query
 */
export function emojiNameFor({ names }, query) {
  const typed = query.toLowerCase()
  return names.find(name => name.startsWith(typed)) ?? names.find(name => name.includes(typed)) ?? names[0]
}

/** All emoji by group, in the order of Unicode. @returns {Map<string, Emoji[]>} */
export function emojiGroups() {
  /** @type {Map<string, Emoji[]>} */
  const groups = new Map()
  for (const each of known.value.all) {
    const group = groups.get(each.group)
    if (group) group.push(each)
    else groups.set(each.group, [each])
  }
  return groups
}
