// The files of a message: pictures in the room that they need, sound and video to be played, and for all others a card with what they are.

import { onEnd, signal } from '../../base/signal.js'
import { fileOf } from '../../store/ids.js'
import { size } from '../../text/sizes.js'
import { t } from '../../text/words.js'
import { h, when } from '../../view/element.js'
import { list } from '../../view/list.js'
import { go } from '../../view/router.js'
import { addressWithView } from '../addresses.js'
import { lazy } from './lazy.js'

/** @typedef {Pick<NonNullable<Message['media']>[number], 'id' | 'file_name' | 'file_type' | 'mime_type' | 'size' | 'width' | 'height' | 'color' | 'animated'
 *   | 'file_link' | 'thumbnail_link' | 'preview_link' | 'channel_id' | 'description'> & { local?: Blob }} Media `local` has the bytes of one that is only here. */

/** What browsers show in a page. */
const SHOWN = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp'])
/** The largest picture in the talk, in pixels. */
const WIDEST = 360
const HIGHEST = 300
/** Bytes of the longest film that plays in the talk. */
const LONGEST = 10_000_000

/** What an older version of this page has kept of a message has none. @param {Message} message */
export const mediaOf = message => message.media ?? []

/** What a message says, or of files alone what they show. @param {Message} message */
export const wordsOf = message => message.content || mediaOf(message).map(each => each.description || each.file_name).join(', ')

/** Whether browsers show files of a type in a page. @param {string} type */
export const isPicture = type => SHOWN.has(type)

/** @param {() => Message} message @param {() => readonly Media[]} [own] Those of a post that the server has not answered. */
export const mediaList = (message, own = () => []) => {
  const media = () => [...mediaOf(message()), ...own()]
  return when(() => media().length > 0, () =>
    list(h('div', { class: 'media' }), media, each => `${each.id} ${each.description}`, item => mediaNode(item.peek())))
}

/**
 * The files of a post as its message will show them. Of those that still arrive, pictures alone: the others stand with what has.
 *
 * @param {Store} store
 * @param {Pending | null} pending
 * @returns {Media[]}
 */
export const mediaOfPost = (store, pending) => store.uploads.named(pending?.files ?? []).filter(({ state, type }) => state === 'done' || isPicture(type)).map(({ id, path, name, type, size, width, height, description }) => ({
  id: path ? fileOf(path) : id, file_name: name, file_type: name.includes('.') ? name.split('.').at(-1) ?? '' : '', mime_type: type, size, width, height,
  color: null, animated: false, channel_id: null, file_link: '', thumbnail_link: null, preview_link: null, description, local: store.uploads.bytes(id),
}))

/** An address of bytes that are only here, for as long as what shows them. @param {Blob} file */
export function localAddress(file) {
  const address = URL.createObjectURL(file)
  onEnd(() => URL.revokeObjectURL(address))
  return address
}

/** @param {Media} media */
export const mediaNode = media => {
  const [kind] = media.mime_type.split('/')
  if (media.local ? isPicture(media.mime_type) : media.color) return picture(media)
  if (kind === 'text') return text(media)
  return kind === 'video' || kind === 'audio' ? player(media, kind) : card(media)
}

/** The server asks for the right to read it each time. `link` at the end is an operation. @param {Media} media */
const fileAddress = ({ id, file_name: name }) => `/api/v1/files/${id}/${name === 'link' ? 'file' : encodeURIComponent(name)}`

/** @param {Media} media */
export const source = media => media.local ? localAddress(media.local) : fileAddress(media)

/** The address of a copy of a picture, or of the picture itself where that is small. @param {Media} media @param {unknown} link */
export const copyPlace = (media, link) => fileAddress(media) + (link ? new URL(String(link)).search : '')

/** What is shown in the talk: a copy as sharp as the screen; a film itself, for those who like motion. @param {Media} media */
function shown(media) {
  if (media.local || (media.animated && media.size <= LONGEST && !matchMedia('(prefers-reduced-motion: reduce)').matches)) return source(media)
  return copyPlace(media, devicePixelRatio > 1 ? media.preview_link : media.thumbnail_link)
}

/** The picture that was pressed last: the viewer has it before it knows any. @type {Media | null} */
let last = null

/** @param {string | null} id */
export const pressed = id => last?.id === id ? last : null

/** Opens a picture over the talk, unless another tab is wanted. @param {MouseEvent} event @param {Media} media */
function enlarge(event, media) {
  if (event.ctrlKey || event.metaKey || event.shiftKey || media.local || !media.channel_id) return
  event.preventDefault()
  last = media
  go(addressWithView(media.id), { state: { isViewer: true } })
}

/** A picture takes its room before it is there, so that nothing moves. @param {Media} media */
function picture(media) {
  const { description, file_name: name } = media
  const [width, height] = [Number(media.width), Number(media.height)]
  const scale = Math.min(1, WIDEST / width, HIGHEST / height)
  const room = width && height ? { width: Math.max(1, Math.round(width * scale)), height: Math.max(1, Math.round(height * scale)) } : {}
  return h('a', { class: 'picture', href: fileAddress(media), target: '_blank', rel: 'noopener', onclick: (/** @type {MouseEvent} */ event) => enlarge(event, media), style: { 'background-color': media.color } },
    h('img', { src: shown(media), alt: description || name, title: name, loading: 'lazy', ...room }))
}

/** A browser that does not know the form shows what the card does. @param {Media} media @param {'audio' | 'video'} kind */
const player = (media, kind) => h('div', { class: `player ${kind}` },
  h(kind, { src: source(media), controls: true, preload: 'metadata', 'aria-label': media.description || media.file_name }), card(media))

/** A text can be read where it stands: folded, since it may be long. @param {Media} media */
function text(media) {
  const isOpen = signal(false)
  const label = () => t(isOpen.value ? 'chat.foldText' : 'chat.unfoldText')
  return h('div', { class: 'text-file' }, card(media),
    h('button', {
      type: 'button', class: 'link-button small', 'aria-expanded': () => String(isOpen.value), 'aria-label': () => `${label()}: ${media.file_name}`,
      onclick: () => { isOpen.value = !isOpen.value },
    }, label),
    when(() => isOpen.value, () => lazy(async () => (await import('./text-file.js')).read(media.file_name, media.local ?? fileAddress(media)))))
}

/** @param {Media} media */
const card = media => h('a', { class: 'file-card', href: fileAddress(media), target: '_blank', rel: 'noopener', title: media.description || null },
  h('bdi', { class: 'name' }, media.file_name),
  h('span', { class: 'quiet small' }, [media.file_type.toUpperCase(), size(media.size)].filter(Boolean).join(' · ')))
