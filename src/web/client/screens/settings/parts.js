// What the parts of the settings are made of.

import { language } from '../../text/words.js'
import { confirm } from '../../view/dialog.js'
import { h } from '../../view/element.js'
import { icon } from '../../view/icons.js'
import { wording } from '../../view/wording.js'

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
 * @param {{ danger?: boolean, describedBy?: string }} [look]
 */
export const deed = (label, run, { danger = false, describedBy } = {}) => {
  const element = h('button', {
    type: 'button',
    class: `button ${danger ? 'danger' : ''}`,
    'aria-describedby': describedBy,
    onclick: () => attempt(element, run),
  }, label)
  return element
}

/**
 * A button that asks before it does something.
 *
 * @param {Child} label
 * @param {() => { title: string, text?: Child, action: string, danger?: boolean }} question
 * @param {() => Promise<unknown>} run
 * @param {{ danger?: boolean, describedBy?: string }} [look]
 */
export const asking = (label, question, run, { danger = false, describedBy } = {}) => {
  const element = h('button', {
    type: 'button',
    class: `button ${danger ? 'danger' : ''}`,
    'aria-describedby': describedBy,
    onclick: async () => { if (await confirm(question())) await attempt(element, run) },
  }, label)
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
  const part = control.closest('.item, .part-section, .part')
  const row = control.closest('.item')
  const neighbour = row?.nextElementSibling ?? row?.previousElementSibling
  part?.querySelector(':scope > .error')?.remove()
  control.setAttribute('aria-busy', 'true')
  try {
    await run()
  } catch (error) {
    part?.append(h('p', { class: 'error', role: 'alert' }, wording.explain(error)))
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
 * A small word beside a name: a state or a role.
 *
 * @param {Child} text
 * @param {'' | 'good' | 'bad'} [tone]
 */
export const badge = (text, tone = '') => h('span', { class: `badge ${tone}` }, text)

/**
 * A link to the step before.
 *
 * @param {string | (() => string)} address
 * @param {string} label
 * @param {string} [className]
 */
export const up = (address, label, className = '') => h('a', { class: `up ${className}`, href: address }, icon('back'), label)

/** A moment, with its day. @param {string} moment In RFC 3339. */
export const time = moment => h('time', { datetime: moment }, () =>
  new Intl.DateTimeFormat(language.value, { dateStyle: 'medium', timeStyle: 'short' }).format(new Date(moment)))
