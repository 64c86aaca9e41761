// One quiet line at the bottom, which also readers of the screen hear.

import { h } from './element.js'

/** @type {HTMLElement | null} */
let line = null
/** @type {ReturnType<typeof setTimeout> | undefined} */
let ending

/**
 * Says something for as long as it takes to read it.
 *
 * @param {string} text
 * @param {{ action?: string, run?: () => void }} [offer] A button beside the text, which also keeps it for longer.
 */
export function say(text, { action, run } = {}) {
  line ??= document.body.appendChild(h('div', { class: 'toast', role: 'status', 'aria-live': 'polite' }))
  line.replaceChildren(h('span', null, text))
  if (action && run) {
    line.append(h('button', {
      type: 'button',
      onclick: () => {
        hide()
        run()
      },
    }, action))
  }
  line.classList.add('shown')
  clearTimeout(ending)
  ending = setTimeout(hide, action ? 20_000 : 3_000 + text.length * 50)
}

function hide() {
  line?.classList.remove('shown')
  line?.replaceChildren()
}
