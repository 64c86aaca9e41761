// How a person wants the client in this browser: kept in its storage, and the same in all tabs.

import { effect, signal } from '../base/signal.js'
import { language, preferredLanguage, setLanguage } from '../text/words.js'

/** @typedef {'system' | 'light' | 'dark'} Theme */

/** @param {string} name */
const keyOf = name => `tidings-${name}`

/** @param {string} name */
function read(name) {
  try {
    return localStorage.getItem(keyOf(name)) ?? ''
  } catch {
    // A browser may forbid the storage; then choices last as long as the page.
    return ''
  }
}

/**
 * @param {string} name
 * @param {string} value
 */
function write(name, value) {
  try {
    localStorage.setItem(keyOf(name), value)
  } catch {
    // See above.
  }
}

/** @param {string} text @returns {Theme} */
const asTheme = text => text === 'light' || text === 'dark' ? text : 'system'

/** The colours: those of the system, or always light or dark. */
export const theme = signal(asTheme(read('theme')))

/** Whether Enter sends a message and Shift+Enter breaks the line, or Enter breaks it and Ctrl+Enter sends. On touch, Enter always breaks. */
export const enterSends = signal(read('enter') !== 'breaks')

/** Whether this browser shows messages that notify the person while nobody looks at the page, if it allows that. */
export const notifies = signal(read('notifications') !== 'off')

/** The language that the person chose, such as `de`; empty for that of the browser. */
export const chosenLanguage = signal(read('language'))

/** Applies and keeps the choices from now on. Called once, before the first screen; `main.js` sets the first language itself. */
export function followPreferences() {
  effect(() => {
    write('theme', theme.value)
    if (theme.value === 'system') delete document.documentElement.dataset.theme
    else document.documentElement.dataset.theme = theme.value
  })
  effect(() => write('enter', enterSends.value ? 'sends' : 'breaks'))
  effect(() => write('notifications', notifies.value ? 'on' : 'off'))
  let isFirst = true
  effect(() => {
    write('language', chosenLanguage.value)
    const next = preferredLanguage(chosenLanguage.value, navigator.languages)
    // The words of the former language stay if the others can't be loaded.
    if (!isFirst && next !== language.peek()) setLanguage(next).catch(() => {})
    isFirst = false
  })
  addEventListener('storage', ({ key }) => {
    if (key === keyOf('theme')) theme.value = asTheme(read('theme'))
    else if (key === keyOf('enter')) enterSends.value = read('enter') !== 'breaks'
    else if (key === keyOf('notifications')) notifies.value = read('notifications') !== 'off'
    else if (key === keyOf('language')) chosenLanguage.value = read('language')
  })
}
