// The names of emoji, from the server's file.

import { loadEmoji } from '../../text/emoji.js'

/**
 * Loads the names once, for all who need them.
 *
 * @param {import('../../store/index.js').Store} store
 */
export const loadEmojiNames = store => loadEmoji(async () => {
  const { data } = await store.api.emoji()
  return data.emoji ?? data
})
