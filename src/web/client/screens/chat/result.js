// A message away from its place: what the search finds, what is pinned, what my threads show.

import { dayAndTimeOf, fullTime } from '../../text/dates.js'
import { t } from '../../text/words.js'
import { h } from '../../view/element.js'
import { go } from '../../view/router.js'
import { face } from '../face.js'
import { author, byline } from './author.js'
import { mediaList } from './media.js'
import { prose } from './prose.js'
import { mark } from './mark.js'

/** @typedef {import('#api').components['schemas']['Message']} Message */

/**
 * @param {Store} store
 * @param {() => Message} message
 * @param {{ href: () => string, above?: Child, below?: Child }} options `href` leads to the message, from its time.
 */
export const result = (store, message, { href, above, below }) => h('article', {
  class: 'result way', onclick: (/** @type {Event} */ event) => follow(event, href()),
},
  () => face(author(store, message())),
  h('div', { class: 'said' },
    above,
    h('p', { class: 'head' },
      byline(store, message),
      h('a', { class: 'when', href }, h('time', {
        datetime: () => message().created_at, title: () => fullTime(message().created_at),
      }, () => dayAndTimeOf(message().created_at)))),
    h('div', { class: 'text' }, () => text(store, message())),
    below))

/**
 * A press anywhere on a message leads to it, except on what does something else, and while text is being selected.
 *
 * @param {Event} event
 * @param {string} href
 */
function follow({ target }, href) {
  if (target instanceof Element && !target.closest('a, button') && getSelection()?.isCollapsed !== false) go(href)
}

/**
 * @param {Store} store
 * @param {Message} message
 */
const text = (store, message) => message.deleted_at.startsWith('0001')
  ? [
    message.event_name && h('p', { class: 'event' }, h('bdi', null, message.event_name)),
    prose(store, message.content, message.mentions),
    mediaList(() => message),
  ]
  : h('p', { class: 'quiet' }, t('talk.deleted'))

/**
 * The name of a channel with its mark.
 *
 * @param {Store} store
 * @param {string} id
 */
export const channelName = (store, id) => () => {
  const channel = store.channel(id)
  return channel && h('span', { class: 'channel-name small quiet' }, mark(channel), h('bdi', null, channel.title))
}
