// Signs in texts of people that belong to the one before: combining marks, colours of emoji, and what nobody sees. A browser looks at
// all of them for each, so that thousands in a row would hold the page for seconds or minutes, and hide the lines above and below.

/** No writing has more on one letter. */
const MOST = 10
const SIGN = '[\\p{M}\\p{Emoji_Modifier}\\p{DI}]'
/** A text that begins with such signs stands behind another one, which may end with them. */
const MOST_FIRST = 3
const PILE = new RegExp(`(^${SIGN}{${MOST_FIRST}}|${SIGN}{${MOST}})${SIGN}+`, 'gu')
/** Below is none but the soft hyphen: most texts need no other look. */
const MAY_HAVE = /[\u0300-\uffff]/

/**
 * A text as it is shown: with ten such signs in a row at most. What is kept, copied or sent has all of them.
 *
 * @param {string} text
 */
export const withoutPiles = text => MAY_HAVE.test(text) ? text.replace(PILE, '$1') : text
