// The person's reminders: those that are due, those to come, and another one.

import { signal } from '../../base/signal.js'
import { dayAndTimeOf } from '../../text/dates.js'
import { daysAhead, inMinutes, momentIn, on } from '../../text/moments.js'
import { t } from '../../text/words.js'
import { openDialog } from '../../view/dialog.js'
import { h, when } from '../../view/element.js'
import { field, form } from '../../view/form.js'
import { list } from '../../view/list.js'
import { openMenu } from '../../view/menu.js'
import { attempt } from './deeds.js'
import { show } from './opening.js'

/** @typedef {import('../../store/reminders.js').Reminder} Reminder */

const MOST = 500

/** @typedef {{ value: string, label: () => string, at: () => Date }} Time */

/** @type {Time[]} */
const TIMES = [
  { value: '20', label: () => t('chat.reminderMinutes'), at: () => inMinutes(20) },
  { value: '60', label: () => t('chat.reminderHour'), at: () => inMinutes(60) },
  { value: '180', label: () => t('chat.reminderHours'), at: () => inMinutes(180) },
  { value: 'tomorrow', label: () => t('chat.reminderTomorrow'), at: () => on(daysAhead(new Date(), 1)) },
  // The next Monday, a week from now on a Monday.
  { value: 'week', label: () => t('chat.reminderWeek'), at: () => on(daysAhead(new Date(), (8 - new Date().getDay()) % 7 || 7)) },
]

/**
 * @param {Store} store
 * @param {{ text?: string, channel?: string }} [about] What another one begins with.
 */
export async function openReminders(store, { text = '', channel } = {}) {
  /** @type {string | undefined} */
  const goal = await openDialog({
    title: t('chat.reminders'),
    wide: true,
    body: close => [
      list(h('ul', { class: 'reminders', 'aria-label': t('chat.reminders'), hidden: () => store.reminders.all.value.length === 0 }),
        () => store.reminders.all.value, each => each.id, item => row(store, item, close)),
      when(() => store.reminders.all.value.length === 0, () => h('p', { class: 'quiet' }, t('chat.noReminders'))),
      another(store, text, channel),
    ],
  })
  if (goal) await show(store, goal)
}

/**
 * @param {Store} store
 * @param {import('../../base/signal.js').Signal<Reminder>} item
 * @param {(channel: string) => void} close
 */
function row(store, item, close) {
  const { id } = item.peek()
  const channel = () => store.channel(item.value.channel_id ?? '')
  const done = () => attempt(() => store.api.deleteReminder(id))
  const later = (/** @type {Event} */ event) => openMenu(/** @type {HTMLElement} */ (event.currentTarget), TIMES.map(({ label, at }) => ({
    label: label(), run: () => attempt(() => store.api.updateReminder(id, { due_at: at().toISOString() })),
  })))
  return h('li', { class: () => item.value.is_due ? 'due' : '' },
    h('div', null,
      h('p', { id: `reminder-${id}` }, h('bdi', null, () => item.value.text)),
      h('p', { class: 'quiet small' },
        when(() => item.value.is_due, () => h('span', { class: 'tag' }, t('chat.reminderNow'))), ' ',
        h('time', { datetime: () => item.value.due_at }, () => dayAndTimeOf(item.value.due_at)),
        when(channel, () => [' · ', h('button', { type: 'button', class: 'link-button', onclick: () => close(item.peek().channel_id ?? '') },
          () => h('bdi', null, channel()?.title))]))),
    h('div', { class: 'row-line' },
      h('button', { type: 'button', class: 'button small', 'aria-haspopup': 'menu', 'aria-describedby': `reminder-${id}`, onclick: later }, t('chat.reminderLater')),
      h('button', { type: 'button', class: 'button small', 'aria-describedby': `reminder-${id}`, onclick: done }, () => item.value.is_due ? t('chat.reminderDone') : t('common.delete'))))
}

/** @param {Store} store @param {string} begun @param {string} [channel] */
function another(store, begun, channel) {
  const isOther = signal(false)
  const text = h('input', { name: 'text', required: true, maxlength: MOST, autocomplete: 'off', dir: 'auto', value: begun, autofocus: channel !== undefined })
  const at = h('input', { name: 'due_at', type: 'datetime-local', required: true })
  const time = h('select', { name: 'time', onchange: () => { isOther.value = time.value === 'other' } },
    TIMES.map(({ value, label }) => h('option', { value }, label())), h('option', { value: 'other' }, t('chat.reminderOther')))
  const due = () => TIMES.find(each => each.value === time.value)?.at() ?? new Date(at.value)
  return form({
    class: 'another-reminder',
    button: t('chat.reminderAdd'),
    children: [
      field(t('chat.reminderText'), text),
      field(t('chat.reminderTime'), time),
      when(() => isOther.value, () => field(t('chat.reminderAt'), at)),
    ],
    submit: async () => {
      await store.api.createReminder({ text: text.value.trim(), due_at: due().toISOString(), ...(channel ? { channel_id: channel } : {}) })
      text.value = ''
    },
  })
}

/**
 * Makes a reminder of a line that begins with a time.
 *
 * @param {Store} store
 * @param {string} channel
 * @param {string} line
 * @returns {Promise<string | null>} What to tell the person; null if the line says no time, or nothing else.
 */
export async function remind(store, channel, line) {
  const found = momentIn(line)
  if (!found?.rest) return null
  if ([...found.rest].length > MOST) return t('chat.reminderTooLong', { count: MOST })
  const due = found.moment.toISOString()
  await store.api.createReminder({ text: found.rest, due_at: due, channel_id: channel })
  return t('chat.reminderSet', { time: dayAndTimeOf(due) })
}
