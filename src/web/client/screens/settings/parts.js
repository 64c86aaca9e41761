// What the parts of the settings are made of.

import { h } from '../../view/element.js'
import { icon } from '../../view/icons.js'
import { wording } from '../../view/wording.js'
import { say } from '../../view/toast.js'
import { t } from '../../text/words.js'

/** @typedef {import('../../view/element.js').Child} Child */

/**
 * A whole part with its heading.
 *
 * @param {Child} title
 * @param {Child} intro
 * @param {...Child} children
 */
export const part = (title, intro, ...children) => h('div', { class: 'part' },
  h('h1', { tabindex: -1 }, title),
  intro && h('p', { class: 'quiet intro' }, intro),
  children)

/**
 * @param {Child} title
 * @param {...Child} children
 */
export const section = (title, ...children) => h('section', { class: 'part-section' }, h('h2', null, title), children)

/**
 * A button that does something at once: it says that it waits, and shows beside itself why it failed.
 *
 * @param {Child} label
 * @param {() => Promise<unknown>} run
 * @param {{ danger?: boolean, primary?: boolean, describedBy?: string, icon?: string }} [look]
 */
export const deed = (label, run, { danger = false, primary = false, describedBy, icon: name } = {}) => {
  const element = h('button', {
    type: 'button',
    class: `button ${danger ? 'danger' : ''} ${primary ? 'primary' : ''}`,
    'aria-describedby': describedBy,
    onclick: () => attempt(element, run),
  }, name && icon(name), label)
  return element
}

/**
 * Does what a control stands for. A refusal is shown in the row or section of the control. If the control's row is gone afterwards,
 * the focus goes to a neighbour.
 *
 * @param {HTMLElement} control
 * @param {() => Promise<unknown>} run
 */
export async function attempt(control, run) {
  if (control.getAttribute('aria-busy') === 'true') return
  const place = control.closest('.item, .part-section, .part')
  const row = control.closest('.item')
  const neighbour = row?.nextElementSibling ?? row?.previousElementSibling
  place?.querySelector(':scope > .error')?.remove()
  control.setAttribute('aria-busy', 'true')
  try {
    await run()
  } catch (error) {
    place?.append(h('p', { class: 'error', role: 'alert' }, wording.explain(error)))
  } finally {
    control.removeAttribute('aria-busy')
    if (!control.isConnected) focusNear(neighbour)
  }
}

/** @param {Element | null | undefined} neighbour */
function focusNear(neighbour) {
  if (document.activeElement && document.activeElement !== document.body) return
  const next = neighbour?.isConnected ? neighbour.querySelector('button, a') : null
  const target = next ?? document.querySelector('.part h1')
  if (target instanceof HTMLElement) target.focus()
}

/**
 * An address or a secret that can't be changed, with a button that copies it.
 *
 * @param {string} label
 * @param {() => string} value
 * @param {Child} [hint]
 */
export function copyable(label, value, hint) {
  const shown = h('input', { readOnly: true, value, class: 'mono', onfocus: () => shown.select() })
  return h('div', { class: 'field copyable' },
    h('label', null, h('span', null, label), shown),
    h('button', { type: 'button', class: 'button', 'aria-label': t('settings.copyOf', { name: label }), onclick: () => copy(shown) },
      icon('copy'), t('common.copy')),
    hint && h('p', { class: 'quiet small' }, hint))
}

/**
 * Browsers give no clipboard to pages of plain http: there the person copies what is selected.
 *
 * @param {HTMLInputElement} shown
 */
async function copy(shown) {
  try {
    await navigator.clipboard.writeText(shown.value)
    say(t('common.copied'))
  } catch {
    shown.focus()
    shown.select()
    say(t('settings.pressCopy', { keys: /Mac|iP/.test(navigator.userAgent) ? '⌘C' : t('settings.ctrlC') }))
  }
}

/**
 * A small word beside a name: a state or a role.
 *
 * @param {Child} text
 * @param {'' | 'good' | 'bad'} [tone]
 */
export const badge = (text, tone = '') => h('span', { class: `badge ${tone}` }, text)

/**
 * Goes through pages.
 *
 * @param {() => { page: number, hasLater: boolean }} state
 * @param {(page: number) => Promise<unknown>} open
 */
export const pager = (state, open) => h('nav', { class: 'pager', 'aria-label': t('settings.pages'), hidden: () => state().page === 1 && !state().hasLater },
  turn(t('settings.earlierPage'), () => state().page <= 1, () => open(state().page - 1)),
  h('span', { class: 'quiet small', role: 'status' }, () => t('settings.page', { page: state().page })),
  turn(t('settings.laterPage'), () => !state().hasLater, () => open(state().page + 1)))

/**
 * A button that keeps the focus at the first and the last page.
 *
 * @param {string} label
 * @param {() => boolean} isOff
 * @param {() => Promise<unknown>} run
 */
const turn = (label, isOff, run) => {
  const element = h('button', {
    type: 'button', class: 'button', 'aria-disabled': () => isOff() ? 'true' : null,
    onclick: () => { if (!isOff()) attempt(element, run) },
  }, label)
  return element
}
