// What the user wants to be reminded of: the same on all devices.

import { computed, signal } from '../base/signal.js'

/** @typedef {import('#api').components['schemas']['Reminder']} Reminder */

/**
 * @param {object} options
 * @param {import('../net/request.js').Api} options.api
 * @param {ReturnType<import('./positions.js').createRecorder>} options.recorder
 */
export function createReminders({ api, recorder }) {
  /** Those that are due first come first. @type {import('../base/signal.js').Signal<Reminder[]>} */
  const all = signal(/** @type {Reminder[]} */ ([]))
  /** The one whose time came last while this page was open. */
  const rung = signal(/** @type {Reminder | null} */ (null))
  return {
    all,
    rung,
    /** How many are due. */
    due: computed(() => all.value.filter(each => each.is_due).length),

    load: () => recorder.fetch(() => api.listReminders({}), ({ data }) => { all.value = data }),

    /** @param {Reminder & { action: string }} change Of a `reminder_update`. */
    changed({ action, ...reminder }) {
      const others = all.peek().filter(each => each.id !== reminder.id)
      all.value = action === 'deleted' ? others : [...others, reminder].sort((one, other) => (one.due_at < other.due_at ? -1 : 1))
      if (action === 'due') rung.value = reminder
      else if (rung.peek()?.id === reminder.id) rung.value = null
    },
  }
}
