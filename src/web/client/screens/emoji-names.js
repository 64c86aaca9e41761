// The names of emoji, which the server has in a file: loaded when the first one is needed.

import { loadEmoji } from '../text/emoji.js'

/** @param {import('../store/index.js').Store} store */
export const loadEmojiNames = store => loadEmoji(async () => (await store.api.emoji()).data.emoji)
