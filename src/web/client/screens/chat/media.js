// The files of a message: pictures in the room that they need, and for all others a card with what they are.

import { size } from '../../text/sizes.js'
import { h, when } from '../../view/element.js'
import { list } from '../../view/list.js'

/** @typedef {NonNullable<Message['media']>[number]} Media */

/** What browsers show in a page. */
const SHOWN = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp'])
/** The largest picture in the talk, in pixels. */
const WIDEST = 360
const HIGHEST = 300

/** What an older version of this page has kept of a message has none. @param {Message} message */
export const mediaOf = message => message.media ?? []

/** What a message says, or of files alone what they show. @param {Message} message */
export const wordsOf = message => message.content || mediaOf(message).map(each => each.description || each.file_name).join(', ')

/** @param {() => Message} message */
export const mediaList = message => when(() => mediaOf(message()).length > 0, () =>
  list(h('div', { class: 'media' }), () => mediaOf(message()), each => `${each.id} ${each.description}`, item => shown(item.peek())))

/** @param {Media} media */
const shown = media => (SHOWN.has(media.mime_type) ? picture(media) : card(media))

/** The server asks for the right to read it each time. @param {Media} media */
const place = ({ id, file_name: name }) => `/api/v1/files/${id}/${encodeURIComponent(name)}`

/** A picture takes its room before it is there, so that nothing moves. @param {Media} media */
function picture(media) {
  const { description, file_name: name } = media
  const [width, height] = [Number(media.width), Number(media.height)]
  const scale = Math.min(1, WIDEST / width, HIGHEST / height)
  const room = width && height ? { width: Math.max(1, Math.round(width * scale)), height: Math.max(1, Math.round(height * scale)) } : {}
  return h('a', { class: 'picture', href: place(media), target: '_blank', rel: 'noopener' },
    h('img', { src: place(media), alt: description || name, title: name, loading: 'lazy', ...room }))
}

/** @param {Media} media */
const card = media => h('a', { class: 'file-card', href: place(media), target: '_blank', rel: 'noopener', title: media.description || null },
  h('bdi', { class: 'name' }, media.file_name),
  h('span', { class: 'quiet small' }, [media.file_type.toUpperCase(), size(media.size)].filter(Boolean).join(' · ')))
