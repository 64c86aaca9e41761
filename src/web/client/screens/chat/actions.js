// Buttons below what a program has posted. A press is a click that the program gets, and may answer.

import { signal } from '../../base/signal.js'
import { Refusal, Unreachable } from '../../net/request.js'
import { newId } from '../../store/ids.js'
import { t } from '../../text/words.js'
import { h, when } from '../../view/element.js'
import { list } from '../../view/list.js'
import { say } from '../../view/toast.js'
import { wording } from '../../view/wording.js'
import { mayTakePart } from './may.js'

/**
 * @param {Store} store
 * @param {() => Message} message
 * @param {boolean} inThread Where an answer that the person alone sees is shown.
 */
export function actionBar(store, message, inThread) {
  // What an older version of this page has kept has none.
  const actions = () => message().actions ?? []
  return when(() => actions().length > 0, () =>
    list(h('div', { class: 'actions', role: 'group', 'aria-label': t('chat.actions') }), actions, each => each.id, item =>
      button(store, message, item.peek(), inThread)))
}

/**
 * @param {Store} store
 * @param {() => Message} message
 * @param {NonNullable<Message['actions']>[number]} action
 * @param {boolean} inThread
 */
function button(store, message, { id, label, style }, inThread) {
  const isUnderWay = signal(false)
  // A click whose answer was lost keeps its id, so that pressing again calls the program once.
  let click = newId()
  const press = async () => {
    if (isUnderWay.peek()) return
    isUnderWay.value = true
    const { id: of, channel_id: channel, thread_id: thread, full_name: name, username } = message()
    try {
      const { data } = await store.api.clickAction(channel, of, id, { id: click })
      click = newId()
      if (data.text) store.commands.tell(inThread ? thread : channel, name || username, data.text)
    } catch (error) {
      const isUncertain = error instanceof Unreachable || (error instanceof Refusal && error.code === 'click_under_way')
      if (!isUncertain) click = newId()
      say(wording.explain(error))
    } finally {
      isUnderWay.value = false
    }
  }
  return h('button', {
    type: 'button', class: ['button', style !== 'default' && style].filter(Boolean).join(' '),
    'aria-busy': () => String(isUnderWay.value), disabled: () => !mayTakePart(store, message().channel_id), onclick: press,
  }, h('bdi', null, label))
}
