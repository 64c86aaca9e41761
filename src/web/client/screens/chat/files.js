// The files of a channel, beside the talk: each with who has posted it, and the way to its message.

import { computed, effect, signal, untracked } from '../../base/signal.js'
import { dayAndTimeOf, fullTime } from '../../text/dates.js'
import { t } from '../../text/words.js'
import { h, when } from '../../view/element.js'
import { list } from '../../view/list.js'
import { paged } from '../../view/paged.js'
import { address } from '../addresses.js'
import { nameOf } from '../face.js'
import { mediaNode, mediaOf } from './media.js'
import { channelBar, failure, moreButton } from './pane-parts.js'

/** @type {['all' | 'image' | 'video' | 'audio' | 'document' | 'file', () => string][]} */
const KINDS = [['all', () => t('panes.filesAll')], ['image', () => t('panes.filesImage')], ['video', () => t('panes.filesVideo')],
  ['audio', () => t('panes.filesAudio')], ['document', () => t('panes.filesDocument')], ['file', () => t('panes.filesFile')]]

/**
 * @param {Store} store
 * @param {string} channel
 */
export function filesPane(store, channel) {
  const kind = signal(/** @type {typeof KINDS[number][0]} */ ('all'))
  const found = paged(query => store.api.listChannelFiles(channel, { type: kind.peek(), ...query }))
  const { rows, next, total, isBusy, problem, ask, more } = found
  const load = () => ask({})
  // What is posted, and taken out again, the talk hears; of older messages this is told by nobody.
  const { rows: shown } = store.talk(channel)
  const known = computed(() => shown.value.flatMap(mediaOf).map(each => each.id).join())
  effect(() => {
    void [kind.value, known.value]
    untracked(load)
  })
  return h('section', { class: 'column', 'aria-label': t('talk.showFiles') },
    channelBar(store, t('talk.showFiles'), channel),
    h('div', { class: 'pane-body', tabindex: -1 },
      h('p', { class: 'pane-filter' }, h('select', {
        'aria-label': t('panes.fileKinds'),
        onchange: (/** @type {Event} */ { target }) => { kind.value = /** @type {any} */ (target).value },
      }, KINDS.map(([value, words]) => h('option', { value }, words)))),
      when(() => total.value === null && !problem.value, () => h('p', { class: 'empty quiet', role: 'status' }, t('common.loading'))),
      failure(() => problem.value, load),
      when(() => total.value !== null && rows.value.length === 0, () => h('p', { class: 'empty quiet' },
        () => t(kind.value === 'all' ? 'panes.noFiles' : 'panes.noFilesOfKind'))),
      list(h('ol', { class: 'results', 'aria-label': t('talk.showFiles') }), () => rows.value, each => each.id, item => h('li', null, file(store, item.peek()))),
      when(() => next.value, () => moreButton(t('common.more'), () => isBusy.value, more))))
}

/**
 * @param {Store} store
 * @param {import('#api').components['schemas']['ChannelFile']} found
 */
function file(store, found) {
  const { channel_id: channel, message_id: message, thread_id: thread, user_id: user, created_at } = found
  const at = String(created_at)
  const href = () => address(store, { channel: String(channel), thread: thread === message ? null : thread, message: String(message) })
  const who = () => {
    const person = store.person(user)
    return nameOf(person.username ? person : { username: found.username })
  }
  return h('article', { class: 'result file' },
    h('div', { class: 'media' }, mediaNode(found)),
    h('p', { class: 'small quiet' }, h('bdi', null, who), ' · ', h('time', { datetime: at, title: fullTime(at) }, dayAndTimeOf(at)), ' · ',
      h('a', { href }, t('panes.goThere'))))
}
