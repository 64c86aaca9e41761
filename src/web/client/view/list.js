// Lists of rows with keys.

import { Owner, currentOwner, effect, onEnd, signal } from '../base/signal.js'
import { keepFocus } from './element.js'

/**
 * Keeps the children of an element equal to a list: one node a key, made once, told of the newer item of the same key by its signal.
 * Rows that stay are not moved if the others can be moved instead, so that the one with the focus keeps it. A row that can't be made
 * is shown as `broken`, and harms no other.
 *
 * @template T
 * @template {Element} E
 * @param {E} parent
 * @param {() => readonly T[]} items
 * @param {(item: T) => string} key
 * @param {(item: import('../base/signal.js').Signal<T>, key: string) => Element} make
 * @param {(key: string) => Element} [broken]
 * @returns {E}
 */
export function list(parent, items, key, make, broken) {
  /** @type {Map<string, { item: import('../base/signal.js').Signal<T>, node: Element, owner: Owner }>} */
  let rows = new Map()
  const around = currentOwner() ?? new Owner()
  onEnd(() => {
    for (const row of rows.values()) row.owner.end()
  })
  effect(() => {
    const next = new Map()
    for (const item of items()) {
      const name = key(item)
      if (next.has(name)) continue
      const known = rows.get(name)
      if (known) {
        known.item.value = item
        next.set(name, known)
      } else next.set(name, around.run(() => row(item, name, make, broken)))
    }
    keepFocus(parent, () => {
      for (const [name, old] of rows) {
        if (next.has(name)) continue
        old.owner.end()
        old.node.remove()
      }
    })
    rows = next
    arrange(parent, [...next.values()].map(each => each.node))
  })
  return parent
}

/**
 * @template T
 * @param {T} item
 * @param {string} name
 * @param {(item: import('../base/signal.js').Signal<T>, key: string) => Element} make
 * @param {((key: string) => Element) | undefined} broken
 */
function row(item, name, make, broken) {
  const owner = new Owner()
  const value = signal(item)
  let node
  try {
    node = owner.run(() => make(value, name))
  } catch (error) {
    owner.end()
    if (!broken) throw error
    console.error(error)
    node = broken(name)
  }
  return { item: value, node, owner }
}

/**
 * Puts the nodes in order. The row with the focus is the fixed point: taking it out of the document would lose the focus.
 *
 * @param {Element} parent
 * @param {Element[]} nodes
 */
function arrange(parent, nodes) {
  const focused = document.activeElement
  const fixed = focused && focused !== document.body ? nodes.findIndex(node => node.parentNode === parent && node.contains(focused)) : -1
  if (fixed < 0) {
    let at = parent.firstElementChild
    for (const node of nodes) {
      if (node === at) at = at.nextElementSibling
      else parent.insertBefore(node, at)
    }
    return
  }
  const anchor = nodes[fixed]
  for (let index = fixed - 1, after = anchor; index >= 0; index -= 1) {
    if (after.previousElementSibling !== nodes[index]) parent.insertBefore(nodes[index], after)
    after = nodes[index]
  }
  for (let index = fixed + 1, before = anchor; index < nodes.length; index += 1) {
    if (before.nextElementSibling !== nodes[index]) before.after(nodes[index])
    before = nodes[index]
  }
}
