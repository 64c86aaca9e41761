// Keys that work wherever the focus is.

import { closeBeside, place } from '../addresses.js'

/**
 * @param {import('../../store/index.js').Store} store
 * @returns {() => void} Ends them.
 */
export function keys(store) {
  /** @param {KeyboardEvent} event */
  const press = async event => {
    if (event.defaultPrevented || event.isComposing) return
    if ((event.ctrlKey || event.metaKey) && !event.shiftKey && !event.altKey && event.key.toLowerCase() === 'k') {
      event.preventDefault()
      const { openSwitcher } = await import('./switcher.js')
      openSwitcher(store)
    } else if (event.key === 'Escape' && !document.querySelector('dialog[open], .menu')) {
      const { thread, pane, search } = place()
      if (thread || pane || search != null) closeBeside()
    }
  }
  addEventListener('keydown', press)
  return () => removeEventListener('keydown', press)
}
