// Which channel was open last in each organisation, kept by the browser so that the talk opens where it was left.

const PLACE = 'tidings-last-channels'

/** @returns {Record<string, string>} */
function read() {
  try {
    return JSON.parse(localStorage.getItem(PLACE) ?? '{}')
  } catch {
    return {}
  }
}

/** @param {string} organisation */
export const lastChannel = organisation => read()[organisation] ?? null

/**
 * @param {string} organisation
 * @param {string} channel
 */
export function rememberChannel(organisation, channel) {
  try {
    localStorage.setItem(PLACE, JSON.stringify({ ...read(), [organisation]: channel }))
  } catch {
    // Without storage the talk opens at its first channel.
  }
}
