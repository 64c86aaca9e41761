// Choosing the picture of a person, a bot or an organisation: what is shown now, and the ways to change it.

import { h, when } from '../../view/element.js'
import { say } from '../../view/toast.js'
import { t } from '../../text/words.js'
import { attempt, deed, section } from './parts.js'

/**
 * @param {object} setting
 * @param {string} setting.title
 * @param {() => Child} setting.shown
 * @param {() => string} setting.address Of the picture; empty without one.
 * @param {(picture: Blob) => Promise<unknown>} setting.set
 * @param {() => Promise<unknown>} setting.remove
 */
export function faceSetting({ title, shown, address, set, remove }) {
  const field = h('input', { type: 'file', accept: 'image/jpeg,image/png,image/gif,image/webp', hidden: true, onchange: choose })
  const button = h('button', { type: 'button', class: 'button', onclick: () => field.click() }, () => t(address() ? 'faces.change' : 'faces.choose'))
  async function choose() {
    const [file] = field.files ?? []
    field.value = ''
    if (!file) return
    const { crop } = await import('./crop.js')
    const picture = await crop(file)
    if (picture) await attempt(button, async () => {
      await set(picture)
      say(t('common.saved'))
    })
  }
  return section(title, h('div', { class: 'face-setting' }, shown, field, button,
    when(() => address(), () => deed(t('faces.remove'), async () => {
      await remove()
      say(t('common.saved'))
    }))))
}
