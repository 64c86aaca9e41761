// The files of what is being written: what each is, how much of it has arrived, and what takes it out again.

import { size } from '../../text/sizes.js'
import { number, t } from '../../text/words.js'
import { h, when } from '../../view/element.js'
import { icon } from '../../view/icons.js'
import { list } from '../../view/list.js'
import { wording } from '../../view/wording.js'
import { isPicture, localAddress } from './media.js'

/** @typedef {import('../../store/index.js').Upload} Upload */

/** Why a file is not sent however often one tries. */
const FINAL = new Set(['body_too_large', 'lost'])

/**
 * @param {Store} store
 * @param {() => Upload[]} uploads
 * @param {{ takeOut: (id: string) => void, describes?: boolean }} options
 */
export const attachmentList = (store, uploads, options) =>
  list(h('ul', { class: 'attachments', 'aria-label': t('chat.files') }), uploads, each => each.id, item => attachment(store, () => item.value, options))

/** @param {Store} store @param {() => Upload} upload @param {{ takeOut: (id: string) => void, describes?: boolean }} options */
function attachment(store, upload, { takeOut, describes = false }) {
  const { id, name, type, size: bytes } = upload()
  const remove = t('chat.takeOut', { name })
  const share = () => bytes ? store.uploads.sent(upload()) / bytes : 1
  const isRefused = () => upload().state === 'refused'
  return h('li', { class: 'attachment' },
    preview(store.uploads.bytes(id), type),
    h('div', { class: 'facts' },
      h('bdi', { class: 'name' }, name),
      when(isRefused, () => h('span', { class: 'error small', role: 'alert' }, () => reason(upload().error), ' ',
        when(() => !FINAL.has(upload().error?.code), () =>
          h('button', { type: 'button', class: 'link-button', onclick: () => store.uploads.retry(id) }, t('common.retry')))),
      () => when(() => upload().state === 'done', () => h('span', { class: 'quiet small' }, size(bytes)), () => h('span', { class: 'quiet small arriving' },
        h('progress', { max: 1, value: share, 'aria-label': t('chat.uploading', { name }) }),
        () => number(share(), { style: 'percent' })))),
      when(() => upload().state !== 'done' && !store.uploads.isKept(id), () => h('span', { class: 'quiet small' }, t('chat.fileUnkept'))),
      tellsPlace(type) && h('span', { class: 'quiet small' }, t('chat.fileTellsPlace')),
      describes && isPicture(type) && h('input', {
        type: 'text', maxlength: 1000, value: upload().description, onkeydown: described, placeholder: t('chat.describe'), 'aria-label': t('chat.describeLabel', { name }),
        onchange: (/** @type {Event} */ { target }) => store.uploads.describe(id, /** @type {HTMLInputElement} */ (target).value.trim()),
      })),
    h('button', { type: 'button', class: 'icon-button', 'aria-label': remove, title: remove, onclick: () => takeOut(id) }, icon('close')))
}

/** Whether the server leaves in a file what a camera has noted. @param {string} type */
const tellsPlace = type => type.startsWith('video/') || (type.startsWith('image/') && !isPicture(type))

/** Enter ends what is said of a picture, and sends nothing: one goes on with the message. @param {KeyboardEvent} event */
function described(event) {
  if (event.key !== 'Enter' || event.isComposing) return
  event.preventDefault()
  const area = /** @type {HTMLElement} */ (event.currentTarget).closest('form')?.querySelector('textarea')
  area?.focus()
}

/** @param {Blob | undefined} file @param {string} type */
function preview(file, type) {
  if (!file || !isPicture(type)) return h('span', { class: 'preview' }, icon('file'))
  return h('span', { class: 'preview' }, h('img', { src: localAddress(file), alt: '' }))
}

/** @param {any} error */
function reason(error) {
  if (error?.code === 'body_too_large' && error.limit) return t('chat.fileTooLarge', { size: size(error.limit) })
  return error?.code === 'lost' ? t('chat.fileLost') : wording.explain(error)
}
