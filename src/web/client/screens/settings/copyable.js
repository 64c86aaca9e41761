// What is there to be copied.

import { h } from '../../view/element.js'
import { icon } from '../../view/icons.js'
import { t } from '../../text/words.js'

/**
 * An address or a secret that can't be changed, with a button that copies it.
 *
 * @param {string} label
 * @param {() => string} value
 * @param {import('../../view/element.js').Child} [hint]
 */
export function copyable(label, value, hint) {
  const done = h('p', { class: 'small', role: 'status', hidden: true })
  const shown = h('input', { readOnly: true, value, class: 'mono', onfocus: () => selectAll(shown) })
  return h('div', { class: 'field copyable' },
    h('label', null, h('span', null, label), shown),
    h('button', {
      type: 'button', class: 'button', 'aria-label': t('settings.copyOf', { name: label }), onclick: () => copy(shown, done),
    },
      icon('copy'), t('common.copy')),
    done,
    hint && h('p', { class: 'quiet small' }, hint))
}

/**
 * Browsers give no clipboard to pages of plain http: there the person copies what is selected. What happened is said here, since a
 * dialog would cover the line at the bottom.
 *
 * @param {HTMLInputElement} shown
 * @param {HTMLElement} done
 */
async function copy(shown, done) {
  done.hidden = false
  try {
    await navigator.clipboard.writeText(shown.value)
    done.textContent = t('common.copied')
  } catch {
    shown.focus()
    selectAll(shown)
    done.textContent = t('settings.pressCopy', { keys: /Mac|iP/.test(navigator.userAgent) ? '⌘C' : t('settings.ctrlC') })
  }
}

/** Selects backwards, so that the beginning stays in view. @param {HTMLInputElement} shown */
const selectAll = shown => shown.setSelectionRange(0, shown.value.length, 'backward')
