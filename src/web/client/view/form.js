// Forms: they say that they wait, and show what was refused where it belongs.

import { h } from './element.js'
import { wording } from './wording.js'

/**
 * A form with one primary button.
 *
 * @param {object} form
 * @param {(values: FormData, form: HTMLFormElement) => Promise<unknown>} form.submit Fails with what was refused.
 * @param {Child} form.button
 * @param {Child[]} form.children
 * @param {Child} [form.beside] More buttons.
 * @param {() => boolean} [form.isReady] Whether there is something to submit.
 * @param {boolean} [form.danger]
 * @param {string} [form.class]
 * @returns {HTMLFormElement}
 */
export function form({ submit, button, children, beside, isReady = () => true, danger = false, class: className = '' }) {
  const problem = h('p', { class: 'error', role: 'alert', hidden: true })
  const send = h('button', { class: `button ${danger ? 'danger' : 'primary'}`, disabled: () => !isReady() }, button)
  const element = h('form', { class: `form ${className}`, novalidate: false }, children, problem, h('div', { class: 'form-buttons' }, beside, send))
  let waits = false
  element.addEventListener('submit', async event => {
    event.preventDefault()
    if (waits) return
    waits = true
    clear(element, problem)
    send.setAttribute('aria-busy', 'true')
    try {
      await submit(new FormData(element), element)
    } catch (error) {
      show(element, problem, error)
    } finally {
      waits = false
      send.removeAttribute('aria-busy')
    }
  })
  return element
}

let ids = 0

/**
 * A labelled control, with a hint below it. A refusal that names the control's `name` is shown there.
 *
 * @param {Child} label
 * @param {HTMLInputElement | HTMLTextAreaElement | HTMLSelectElement} control
 * @param {Child} [hint]
 */
export function field(label, control, hint) {
  const id = `field-${ids += 1}`
  const problem = h('p', { class: 'error', id: `${id}-error`, hidden: true })
  control.setAttribute('aria-describedby', hint ? `${id}-hint ${id}-error` : `${id}-error`)
  return h('div', { class: 'field' },
    h('label', null, h('span', null, label), control),
    hint && h('p', { class: 'quiet small', id: `${id}-hint` }, hint),
    problem)
}

/**
 * @param {HTMLFormElement} element
 * @param {HTMLElement} problem
 */
function clear(element, problem) {
  problem.hidden = true
  for (const control of element.querySelectorAll('[aria-invalid]')) control.removeAttribute('aria-invalid')
  for (const each of element.querySelectorAll('.field > .error')) /** @type {HTMLElement} */ (each).hidden = true
}

/**
 * @param {HTMLFormElement} element
 * @param {HTMLElement} problem
 * @param {unknown} error
 */
function show(element, problem, error) {
  const words = wording.explain(error)
  const named = /** @type {{ fields?: { field: string }[] }} */ (error).fields?.[0]?.field
  const control = named ? element.elements.namedItem(named) : null
  const line = control instanceof HTMLElement ? control.closest('.field')?.querySelector(':scope > .error') : null
  if (control instanceof HTMLElement && line instanceof HTMLElement) {
    control.setAttribute('aria-invalid', 'true')
    line.textContent = words
    line.hidden = false
    control.focus()
  } else {
    problem.textContent = words
    problem.hidden = false
  }
}
