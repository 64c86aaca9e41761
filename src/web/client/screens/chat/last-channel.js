// Which channel a user had open last in each organisation, kept by the browser so that the talk opens where it was left.

/** @param {string} user */
const keyOf = user => `tidings-last-channels-${user}`

/** @param {string} user @returns {Record<string, string>} */
function read(user) {
  try {
    return JSON.parse(localStorage.getItem(keyOf(user)) ?? '{}')
  } catch {
    return {}
  }
}

/**
 * @param {string} user
 * @param {string} organisation
 */
export const lastChannel = (user, organisation) => read(user)[organisation] ?? null

/**
 * @param {string} user
 * @param {string} organisation
 * @param {string} channel
 */
export function rememberChannel(user, organisation, channel) {
  try {
    localStorage.setItem(keyOf(user), JSON.stringify({ ...read(user), [organisation]: channel }))
  } catch {
    // Without storage the talk opens at its first channel.
  }
}
