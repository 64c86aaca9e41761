// What menus do at once: a refusal is told in the line at the bottom.

import { t } from '../../text/words.js'
import { h } from '../../view/element.js'
import { say } from '../../view/toast.js'
import { wording } from '../../view/wording.js'

/**
 * @param {() => Promise<unknown>} run
 * @returns {Promise<boolean>} Whether it was done.
 */
export async function attempt(run) {
  try {
    await run()
    return true
  } catch (error) {
    say(wording.explain(error))
    return false
  }
}

/** Browsers have no clipboard over plain http. @param {string} text */
export async function copy(text) {
  try {
    await navigator.clipboard.writeText(text)
    say(t('common.copied'))
  } catch {
    const back = document.activeElement
    const area = h('textarea', { class: 'visually-hidden', value: text })
    document.body.append(area)
    area.select()
    const done = document.execCommand('copy')
    area.remove()
    if (back instanceof HTMLElement) back.focus()
    say(done ? t('common.copied') : t('common.copyFailed'))
  }
}
