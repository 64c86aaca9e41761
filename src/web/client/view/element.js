// Makes elements. It parses no HTML: texts become text nodes, and addresses pass one function.

import { withoutPiles } from '../base/marks.js'
import { Owner, computed, effect, untracked } from '../base/signal.js'

/**
 * @typedef {Node | string | number | null | undefined | false | (() => any) | readonly any[]} Child Also lists of these.
 *   A function is read again when a signal that it read has changed.
 * @typedef {Record<string, any>} Props
 *   `class`, `onclick` and other handlers (functions), `style` (an object of properties), `ref` (called with the element), properties
 *   such as `value`, and attributes. A function is read again when a signal that it read has changed, except for handlers and `ref`.
 */

const PROPERTIES = new Set(['value', 'checked', 'disabled', 'hidden', 'readOnly', 'selected', 'open', 'indeterminate', 'textContent'])
/** What a field begins with, beside the property that has what a person made of it. @type {Record<string, string>} */
const INITIAL = { value: 'defaultValue', checked: 'defaultChecked' }
const SVG = 'http://www.w3.org/2000/svg'

/**
 * @template {keyof HTMLElementTagNameMap} K
 * @param {K} tag
 * @param {Props | null} [props]
 * @param {...Child} children
 * @returns {HTMLElementTagNameMap[K]}
 */
export function h(tag, props, ...children) {
  return build(document.createElement(tag), props, children)
}

/**
 * @param {keyof SVGElementTagNameMap} tag
 * @param {Props | null} [props]
 * @param {...Child} children
 */
export const svg = (tag, props, ...children) => build(document.createElementNS(SVG, tag), props, children)

/**
 * @template {Element} E
 * @param {E} element
 * @param {Props | null | undefined} props
 * @param {Child[]} children
 * @returns {E}
 */
function build(element, props, children) {
  append(element, children)
  for (const [name, value] of Object.entries(props ?? {})) {
    if (name === 'ref') value(element)
    else if (name.startsWith('on')) {
      if (typeof value !== 'function') throw new TypeError(`${name} has to be a function`)
      element.addEventListener(name.slice(2), value)
    } else if (typeof value === 'function') effect(() => set(element, name, value()))
    else set(element, name, value)
  }
  return element
}

/**
 * @param {Element} element
 * @param {string} name
 * @param {any} value
 */
function set(element, name, value) {
  if (name === 'style') {
    if (typeof value !== 'object') throw new TypeError('style has to be an object')
    const { style } = /** @type {HTMLElement} */ (element)
    for (const [property, each] of Object.entries(value)) {
      if (each == null) style.removeProperty(property)
      else style.setProperty(property, String(each))
    }
  } else if (PROPERTIES.has(name)) {
    // Writing the same value would move the caret of a field.
    if (/** @type {any} */ (element)[name] !== value) /** @type {any} */ (element)[name] = value
    if (INITIAL[name] in element) /** @type {any} */ (element)[INITIAL[name]] = value ?? ''
  } else if (value == null || value === false) element.removeAttribute(name)
  else {
    const text = value === true ? '' : String(value)
    element.setAttribute(name, name === 'href' || (name === 'src' && !text.startsWith('blob:')) ? safeAddress(text) : text)
  }
}

/**
 * An address that can't run a script: http, https, mailto, and those of this server. Everything else becomes `#`.
 *
 * @param {string} address
 */
export function safeAddress(address) {
  if (/^[/#?](?![/\\])/.test(address)) return address
  try {
    return ['http:', 'https:', 'mailto:'].includes(new URL(address).protocol) ? address : '#'
  } catch {
    return '#'
  }
}

/**
 * @param {Element | DocumentFragment} parent
 * @param {Child[]} children
 */
export function append(parent, children) {
  for (const child of children) {
    if (Array.isArray(child)) append(parent, child)
    else if (typeof child === 'function') changing(parent, child)
    else if (child instanceof Node) parent.append(child)
    else if (child != null && child !== false) parent.append(withoutPiles(String(child)))
  }
}

/**
 * Appends the nodes of a function, between two empty texts that mark their place when it is read again.
 *
 * @param {Element | DocumentFragment} parent
 * @param {() => Child} make
 */
function changing(parent, make) {
  const [start, end] = [document.createTextNode(''), document.createTextNode('')]
  parent.append(start)
  effect(() => {
    if (!end.parentNode) {
      append(parent, [make()])
      return
    }
    const nodes = document.createDocumentFragment()
    append(nodes, [make()])
    keepFocus(start.parentElement, () => {
      while (start.nextSibling && start.nextSibling !== end) start.nextSibling.remove()
      end.before(nodes)
    })
  })
  parent.append(end)
}

/**
 * Changes what an element holds. If the change takes the focus away, such as a button that removes itself, what is around gets it.
 *
 * @param {Element | null} parent
 * @param {() => void} change
 */
export function keepFocus(parent, change) {
  const before = document.activeElement
  change()
  if (!before || before.isConnected) return
  const around = parent?.closest('[tabindex], dialog')
  if (around instanceof HTMLElement) around.focus({ preventScroll: true })
}

/**
 * Shows one of two things, made anew only when the condition changes between true and false.
 *
 * @param {() => unknown} condition
 * @param {() => Child} make
 * @param {() => Child} [otherwise]
 * @returns {Child}
 */
export function when(condition, make, otherwise = () => null) {
  const holds = computed(() => Boolean(condition()))
  return () => {
    const now = holds.value
    return untracked(() => now ? make() : otherwise())
  }
}

/**
 * Puts what a function makes in place of all that a container has, until the returned function is called or it is mounted again.
 *
 * @param {Element} container
 * @param {() => Child} make
 * @returns {() => void}
 */
export function mount(container, make) {
  const whole = new Owner()
  // No variable of this function may hold the nodes: what ends them would hold them, too.
  container.replaceChildren(whole.run(() => {
    const nodes = document.createDocumentFragment()
    append(nodes, [make()])
    return nodes
  }))
  return () => {
    whole.end()
    container.replaceChildren()
  }
}
