// Adding files to what is being written: by choosing, pasting and dropping them.

import { MOST } from '../../store/uploads.js'
import { t } from '../../text/words.js'
import { h, when } from '../../view/element.js'
import { icon } from '../../view/icons.js'
import { say } from '../../view/toast.js'
import { lazy } from './lazy.js'
import { isPicture } from './media.js'

/** @typedef {import('../../store/index.js').Upload} Upload */

/** What takes the files of a composer, by its form. @type {WeakMap<Element, (files: File[]) => void>} */
const takers = new WeakMap()

/** @param {Element} form @param {(files: File[]) => void} take */
export const takesFiles = (form, take) => void takers.set(form, take)

/** @param {Element | null | undefined} form */
export const takerOf = form => form && takers.get(form)

/**
 * Adds files to a draft, as many as fit a message.
 *
 * @param {Store} store
 * @param {string} draft
 * @param {readonly File[]} files
 */
export function addFiles(store, draft, files) {
  const room = MOST - store.uploads.of(draft).peek().length
  if (files.length > room) say(t('chat.mostFiles', { count: MOST }))
  for (const file of files.slice(0, room)) {
    const id = store.uploads.add({ file, draft, organisation: store.organisation.peek()?.id ?? '' })
    if (isPicture(file.type)) void measure(store, id, file)
  }
}

/** Finds the size of a picture, so that it has its room from the start. @param {Store} store @param {string} id @param {File} file */
async function measure(store, id, file) {
  try {
    const bitmap = await createImageBitmap(file)
    store.uploads.measured(id, bitmap)
    bitmap.close()
  } catch {
    // It is no picture, whatever its name says: the server tells later.
  }
}

/** The button that lets one choose files, and on a phone take a picture. @param {(files: File[]) => void} add */
export function chooseFiles(add) {
  const title = t('chat.addFiles')
  const field = h('input', {
    type: 'file', multiple: true, hidden: true, onchange: () => {
      add([...field.files ?? []])
      field.value = ''
    },
  })
  return [field, h('button', { type: 'button', class: 'icon-button', 'aria-label': title, title, onclick: () => field.click() }, icon('clip'))]
}

/** What was copied besides text, such as a picture of the screen. @param {(files: File[]) => void} add */
export const pasting = add => (/** @type {ClipboardEvent} */ event) => {
  const files = [...event.clipboardData?.files ?? []]
  // Programs for texts and tables copy a picture of what they copy.
  if (files.length === 0 || event.clipboardData?.types.includes('text/plain')) return
  event.preventDefault()
  add(files)
}

/**
 * The files of what is being written, once there are some.
 *
 * @param {Store} store
 * @param {() => Upload[]} uploads
 * @param {{ takeOut: (id: string) => void, describes?: boolean }} options Whether what pictures show can be said here.
 */
export const attachments = (store, uploads, options) => when(() => uploads().length > 0, () =>
  lazy(async () => {
    const { attachmentList } = await import('./attachment-list.js')
    return () => attachmentList(store, uploads, options)
  }))
