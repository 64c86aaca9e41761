// What the names in a message mean: people, channels, emoji.

import { emojiNamed } from '../../text/emoji.js'
import { resolver } from '../../text/mentions.js'

/** @typedef {{ id: string, type: string, username: string }} Mention */

/**
 * For one reading of a text: what is asked of the store is asked once.
 *
 * @param {Pick<Store, 'person' | 'channelsByName'>} store
 * @param {readonly Mention[]} mentions
 * @returns {import('../../text/markdown.js').Names}
 */
export function namesOf(store, mentions) {
  const meant = resolver(mentions)
  /** @type {Store['channelsByName']['value'] | undefined} */
  let channels
  return {
    mention: name => {
      const found = meant(name)
      return found?.kind === 'user' ? { ...found, name: store.person(found.id)?.full_name || found.name } : found
    },
    channel: name => {
      channels ??= store.channelsByName.value
      const found = channels.get(name)
      return found ? { id: found.id, name: found.name } : null
    },
    emoji: emojiNamed,
  }
}
