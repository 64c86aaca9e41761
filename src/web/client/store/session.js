// How a session ends, where its live connection is, and what events change in it.

/** @typedef {null | 'signed-out' | 'session-ended' | 'other-user' | 'removed'} Ended */

/**
 * What events change.
 *
 * @typedef {object} Parts
 * @property {import('../base/signal.js').Signal<any>} me
 * @property {ReturnType<typeof import('./channels.js').createChannels>} channels
 * @property {ReturnType<typeof import('./organisations.js').createOrganisations>} organisations
 * @property {ReturnType<typeof import('./people.js').createPeople>} people
 * @property {ReturnType<typeof import('./messages.js').createMessages>} messages
 * @property {ReturnType<typeof import('./my-threads.js').createMyThreads>} threads
 * @property {ReturnType<typeof import('./commands.js').createCommands>} commands
 * @property {ReturnType<typeof import('./reminders.js').createReminders>} reminders
 * @property {ReturnType<typeof import('./notified.js').createNotified>} notified
 * @property {(channel: string, isOut: boolean) => void} leave
 * @property {(organisation: string) => void} leaveOrganisation
 * @property {(channel: string) => void} came
 * @property {(channel: string, organisation: string) => void} fetchChannel
 * @property {(organisation: string) => void} fetchCounts
 * @property {(organisation: string) => void} fetchStart
 * @property {() => void} refresh
 */

/** How a refusal ends everything, if it does. @param {import('../net/request.js').Refusal} refusal @returns {Ended} */
export const endOf = ({ status, code }) => {
  if (code === 'other_user') return 'other-user'
  if (status === 401 && code.startsWith('token_')) return 'session-ended'
  return code === 'account_disabled' ? 'removed' : null
}

/** @param {string} base @param {string} address A path, or a whole address where another server pushes. */
export const socketUrl = (base, address) => {
  const url = new URL(address, base || globalThis.location?.href)
  return url.href.replace(/^http/, 'ws')
}
