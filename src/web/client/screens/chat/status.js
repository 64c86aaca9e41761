// Saying what one does now, in a dialog or in a line.

import { signal } from '../../base/signal.js'
import { reactionSign } from '../../text/emoji.js'
import { dayAndTimeOf } from '../../text/dates.js'
import { daysAhead, inMinutes } from '../../text/moments.js'
import { locale, t } from '../../text/words.js'
import { openDialog } from '../../view/dialog.js'
import { h, when } from '../../view/element.js'
import { field, form } from '../../view/form.js'
import { icon } from '../../view/icons.js'
import { attempt } from './deeds.js'

/** @typedef {import('../face.js').Status} Status */

const MOST = 100

/** When a status is taken away. @typedef {{ value: string, label: () => string, until: () => Date | null }} End */

/** @type {End[]} */
const ENDS = [
  { value: 'never', label: () => t('chat.statusNever'), until: () => null },
  { value: '30', label: () => t('chat.statusHalfHour'), until: () => inMinutes(30) },
  { value: '60', label: () => t('chat.statusHour'), until: () => inMinutes(60) },
  { value: '240', label: () => t('chat.statusHours'), until: () => inMinutes(240) },
  { value: 'today', label: () => t('common.today'), until: () => daysAhead(new Date(), 1) },
  { value: 'week', label: () => t('chat.statusWeek'), until: () => daysAhead(new Date(), (firstDay() - new Date().getDay() + 7) % 7 || 7) },
]

/** The day that weeks begin with where the reader is, as dates count them: 0 is Sunday. */
function firstDay() {
  // Not all browsers know.
  const region = /** @type {{ getWeekInfo?: () => { firstDay: number } }} */ (new Intl.Locale(locale.peek()))
  return (region.getWeekInfo?.().firstDay ?? (locale.peek().startsWith('he') ? 7 : 1)) % 7
}

/** What people often do. @type {[emoji: string, text: () => string, ends: string][]} */
const USUAL = [
  ['🗓️', () => t('chat.statusMeeting'), '60'],
  ['🚆', () => t('chat.statusTravel'), '30'],
  ['🤒', () => t('chat.statusSick'), 'today'],
  ['🌴', () => t('chat.statusHoliday'), 'never'],
  ['🏠', () => t('chat.statusHome'), 'today'],
]

/** @param {Store} store */
export async function openStatus(store) {
  /** @type {Status | null} */
  const now = store.me.peek()?.custom_status ?? null
  const emoji = signal(now?.emoji ?? '')
  const text = h('input', { name: 'text', maxlength: MOST, autocomplete: 'off', dir: 'auto', value: now?.text ?? '', autofocus: true })
  const ends = h('select', { name: 'ends' },
    now?.until && h('option', { value: 'same' }, dayAndTimeOf(now.until)),
    ENDS.map(({ value, label }) => h('option', { value }, label())))
  const pick = async (/** @type {Event} */ event) => {
    const anchor = /** @type {HTMLElement} */ (event.currentTarget)
    const { pickEmoji } = await import('./emoji-picker.js')
    emoji.value = await pickEmoji(store, anchor) ?? emoji.peek()
  }
  await openDialog({
    title: t('chat.statusTitle'),
    body: close => form({
      button: t('common.save'),
      children: [
        h('div', { class: 'status-box' },
          h('button', { type: 'button', class: 'button', 'aria-label': t('chat.emojiTitle'), title: t('chat.emojiTitle'), onclick: pick },
            when(() => emoji.value, () => h('span', null, () => reactionSign(emoji.value)), () => icon('face'))),
          field(t('chat.statusText'), text)),
        h('div', { class: 'chips', role: 'group', 'aria-label': t('chat.completions') }, USUAL.map(([sign, words, end]) => h('button', {
          type: 'button', class: 'button small',
          onclick: () => {
            emoji.value = sign
            text.value = words()
            ends.value = end
          },
        }, h('span', { 'aria-hidden': 'true' }, sign), words()))),
        field(t('chat.statusEnds'), ends),
      ],
      beside: now && h('button', {
        type: 'button', class: 'button', onclick: async () => { if (await attempt(() => set(store, '', ''))) close() },
      }, t('chat.statusClear')),
      submit: async () => {
        const until = ends.value === 'same' ? now?.until : ENDS.find(each => each.value === ends.value)?.until()?.toISOString()
        await set(store, emoji.peek(), text.value.trim(), until)
        close()
      },
    }),
  })
}

/** Without an emoji and a text there is no status any more. @param {Store} store @param {string} emoji @param {string} text @param {string | null} [until] */
async function set(store, emoji, text, until) {
  const { data } = await store.api.setCustomStatus({ emoji: emoji || undefined, text, until: until ?? undefined })
  store.me.value = data
}

/** The emoji that a line begins with, or its name. @param {string} line */
function emojiOf(line) {
  const [name] = /^:[\w+-]+:/.exec(line) ?? []
  if (name) return name
  const [first] = new Intl.Segmenter().segment(line)
  return first && /^\p{Emoji_Presentation}|^\p{Emoji}\ufe0f|^\p{Regional_Indicator}/u.test(first.segment) ? first.segment : ''
}

/**
 * Says it in one line, which may begin with an emoji or its name.
 *
 * @param {Store} store
 * @param {string} line
 */
export async function sayStatus(store, line) {
  const emoji = emojiOf(line)
  const text = line.slice(emoji.length).trim()
  if ([...text].length > MOST) return t('chat.statusTooLong', { count: MOST })
  return set(store, emoji, text)
}
