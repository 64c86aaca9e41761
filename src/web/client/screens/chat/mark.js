// The signs beside a channel's name: whether it is public or private, or the face of the person, and whether it is muted.

import { t } from '../../text/words.js'
import { h } from '../../view/element.js'
import { icon } from '../../view/icons.js'
import { badge, face } from '../face.js'

/** @param {import('../../store/index.js').Channel} channel */
export function mark(channel) {
  const [other] = channel.participants ?? []
  if (channel.is_direct) return other ? face(other, { tiny: true }) : badge(channel.id, channel.title, { tiny: true })
  return h('span', { class: 'mark' }, icon(channel.is_private ? 'lock' : 'hash'))
}

/** The other one in a direct message of two. @param {import('../../store/index.js').Channel | null} channel */
export const other = channel => channel?.is_direct && channel.participants.length === 1 ? channel.participants[0] : null

export const muteSign = () => h('span', { class: 'sign', role: 'img', 'aria-label': t('talk.muted'), title: t('talk.muted') }, icon('mute'))
