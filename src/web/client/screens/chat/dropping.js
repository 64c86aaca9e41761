// Files that are dropped anywhere on a talk go to where one writes in it. Nowhere does the browser open them in place of the page.

import { onEnd } from '../../base/signal.js'
import { t } from '../../text/words.js'
import { say } from '../../view/toast.js'
import { takerOf } from './attachments.js'

/** Follows files over the page, until its owner ends. */
export function dropping() {
  /** @type {HTMLElement | null} */
  let over = null
  /** @param {HTMLElement | null} column */
  const mark = column => {
    if (over === column) return
    over?.removeAttribute('data-dropping')
    over = column
    over?.setAttribute('data-dropping', t('chat.dropHere'))
  }
  /** @param {DragEvent} event */
  const drag = event => {
    if (!event.dataTransfer?.types.includes('Files')) return
    event.preventDefault()
    const column = columnOf(event)
    event.dataTransfer.dropEffect = column ? 'copy' : 'none'
    mark(column)
  }
  /** @param {DragEvent} event */
  const leave = event => { if (!event.relatedTarget) mark(null) }
  /** @param {DragEvent} event */
  const drop = event => {
    if (!event.dataTransfer?.types.includes('Files')) return
    event.preventDefault()
    const column = columnOf(event)
    mark(null)
    const files = filesOf(event.dataTransfer)
    const take = takerOf(column?.querySelector('.composer'))
    if (!take) say(t('chat.dropNowhere'))
    else if (files.length > 0) take(files)
  }
  const all = /** @type {const} */ ([['dragenter', drag], ['dragover', drag], ['dragleave', leave], ['drop', drop]])
  for (const [name, handler] of all) document.addEventListener(name, handler)
  onEnd(() => all.forEach(([name, handler]) => document.removeEventListener(name, handler)))
}

/** The column under the pointer in which one writes. @param {DragEvent} event @returns {HTMLElement | null} */
function columnOf({ target }) {
  const column = target instanceof Element ? target.closest('.column') : null
  return column instanceof HTMLElement && column.querySelector('.composer') ? column : null
}

/** The files, without folders: they have no bytes. @param {DataTransfer} dropped */
function filesOf({ items, files }) {
  const folders = [...items].filter(item => item.webkitGetAsEntry?.()?.isDirectory)
  if (folders.length > 0) say(t('chat.noFolders'))
  const names = new Set(folders.map(folder => folder.webkitGetAsEntry()?.name))
  return [...files].filter(file => !names.has(file.name))
}
