// The nodes that `inline.js` makes: those that stand, and the marks that may still turn those behind them into one.

/**
 * @typedef {import('./inline.js').Inline} Inline
 * @typedef {import('./inline.js').Budget} Budget
 *
 * @typedef {object} Opener A mark that may begin something.
 * @property {'*' | '_' | '~' | '['} sign
 * @property {number} at Its place among the nodes.
 * @property {number} count
 * @property {boolean} [gone] It is no longer on the stack.
 */

export class Nodes {
  /** @type {Inline[]} */
  nodes = []
  /** How deep each of `nodes` is. @type {number[]} */
  depths = []
  /** @type {Opener[]} */
  stack = []
  open = { '*': 0, '_': 0, '~': 0, '[': 0 }

  /** @param {Budget} budget @param {number} deepest */
  constructor(budget, deepest) {
    this.budget = budget
    this.deepest = deepest
  }

  /** @param {string} text */
  literal(text) {
    if (text) this.push({ type: 'text', text }, 0)
  }

  /** @param {Inline} node @param {number} [depth] */
  push(node, depth = 1) {
    this.nodes.push(node)
    this.depths.push(depth)
    // With it count the texts in it and behind it.
    if (node.type !== 'text') this.budget.nodes -= 'children' in node ? 3 : 2
    return true
  }

  /** @param {Opener} opener */
  remember(opener) {
    this.stack.push(opener)
    this.open[opener.sign] += 1
    return opener
  }

  /** Takes the last opener from the stack. */
  drop() {
    const opener = /** @type {Opener} */ (this.stack.pop())
    opener.gone = true
    this.open[opener.sign] -= 1
    return opener
  }

  /**
   * Ends what openers of this sign began. Openers above them end unused, so that each is looked at once.
   *
   * @param {'*' | '_' | '~'} sign
   * @param {number} count
   * @returns {number} How many signs are left.
   */
  close(sign, count) {
    let left = count
    while (left > 0 && this.open[sign] > 0) {
      let opener = this.drop()
      while (opener.sign !== sign) opener = this.drop()
      const used = Math.min(left, opener.count, 2)
      const type = sign === '~' ? 'strike' : used === 2 ? 'strong' : 'emphasis'
      if (!this.wrap(opener.at + 1, children => ({ type, children }))) return left
      left -= used
      opener.count -= used
      this.nodes[opener.at] = { type: 'text', text: sign.repeat(opener.count) }
      if (opener.count > 0) {
        opener.gone = false
        this.remember(opener)
      }
    }
    return left
  }

  /**
   * Puts the nodes from a place on into one.
   *
   * @param {number} from
   * @param {(children: Inline[]) => Inline} make
   * @returns {boolean} Whether that is not too deep.
   */
  wrap(from, make) {
    const depth = 1 + this.depths.slice(from).reduce((a, b) => Math.max(a, b), 0)
    if (depth > this.deepest) {
      // Whatever began further out would be deeper still.
      while (this.stack.length > 0) this.drop()
      return false
    }
    this.depths.length = from
    return this.push(make(joined(this.nodes.splice(from))), depth)
  }
}

/** The text of a node without others in it, as people see it. @param {Exclude<Inline, { children: Inline[] }>} node */
export function spoken(node) {
  switch (node.type) {
    case 'mention': return `@${node.name}`
    case 'channel': return `#${node.name}`
    case 'emoji': return node.emoji
    default: return node.text
  }
}

/** Whether nothing of nodes is seen. @param {Inline[]} nodes @returns {boolean} */
export const isEmpty = nodes => nodes.every(node => 'children' in node ? isEmpty(node.children) : spoken(node) === '')

/** What stands in a link is no link itself. @param {Inline} node @returns {Inline[]} */
export function unlinked(node) {
  switch (node.type) {
    case 'link': return node.children
    case 'mention': case 'channel': return [{ type: 'text', text: spoken(node) }]
    case 'text': case 'code-span': case 'emoji': return [node]
    default: return [{ ...node, children: node.children.flatMap(unlinked) }]
  }
}

/** Joins the texts that stand beside each other. @param {Inline[]} nodes @returns {Inline[]} */
export function joined(nodes) {
  /** @type {Inline[]} */
  const whole = []
  /** @type {string[]} */
  let texts = []
  const end = () => {
    const text = texts.join('')
    if (text) whole.push({ type: 'text', text })
    texts = []
  }
  for (const node of nodes) {
    if (node.type === 'text') texts.push(node.text)
    else {
      end()
      whole.push(node)
    }
  }
  end()
  return whole
}
