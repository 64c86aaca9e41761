// The sign before a channel's name: of a public or private one, or the face of the person.

import { h } from '../../view/element.js'
import { icon } from '../../view/icons.js'
import { badge, face } from '../face.js'

/** @param {import('../../store/index.js').Channel} channel */
export function mark(channel) {
  const [other] = channel.participants ?? []
  if (channel.is_direct) return other ? face(other, { tiny: true }) : badge(channel.id, channel.title, { tiny: true })
  return h('span', { class: 'mark' }, icon(channel.is_private ? 'lock' : 'hash'))
}
