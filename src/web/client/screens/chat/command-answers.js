// What commands have answered to the person alone, above the field in which they were called, until it is dismissed.

import { effect } from '../../base/signal.js'
import { t } from '../../text/words.js'
import { h, when } from '../../view/element.js'
import { icon } from '../../view/icons.js'
import { list } from '../../view/list.js'
import { prose } from './prose.js'

/**
 * @param {import('../../store/index.js').Store} store
 * @param {string} talk The thread, or else the channel.
 */
export function answers(store, talk) {
  const all = store.commands.answers(talk)
  const element = h('div', { class: 'answers', role: 'log', 'aria-label': t('chat.answers') }, when(() => all.value.length > 0, () =>
    list(h('ul'), () => all.value, each => String(each.id), item => {
      const { id, command, text } = item.peek()
      return h('li', { class: 'notice' },
        h('div', { class: 'answer' },
          h('p', { class: 'quiet small' }, h('bdi', null, command), ' · ', t('chat.onlyYou')),
          h('div', { class: 'prose' }, prose(store, text, []))),
        h('button', {
          type: 'button', class: 'icon-button', 'aria-label': t('chat.dismiss'), title: t('chat.dismiss'),
          onclick: () => store.commands.dismiss(talk, id),
        }, icon('close')))
    })))
  // The newest one is read from its beginning.
  effect(() => {
    if (all.value.length > 0) queueMicrotask(() => {
      const [rows, last] = [element.querySelector('ul'), element.querySelector(':scope > ul > li:last-child')]
      if (rows && last instanceof HTMLElement) rows.scrollTop = last.offsetTop - rows.offsetTop
    })
  })
  return element
}
