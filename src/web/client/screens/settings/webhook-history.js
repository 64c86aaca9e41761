// What a webhook took in and gave out: trying it, looking at attempts, and sending again.

import { h, when } from '../../view/element.js'
import { list } from '../../view/list.js'
import { say } from '../../view/toast.js'
import { number, t } from '../../text/words.js'
import { deliveryAddress } from './channel-webhooks.js'
import { fetched } from './fetched.js'
import { pager } from './pager.js'
import { deed, section, time } from './parts.js'
import { isDone, kind, readAs, result } from './webhook-words.js'

/** @typedef {import('#api').components['schemas']['Attempt']} Attempt */

/**
 * @param {Store} store
 * @param {string} channel
 * @param {import('../../base/signal.js').Signal<import('#api').components['schemas']['Webhook']>} hook
 */
export function history(store, channel, hook) {
  const { id } = hook.peek()
  let page = 1
  const get = async () => {
    const { data, next } = await store.api.listWebhookHistory(channel, id, { page, limit: 10 })
    return { attempts: data.webhooks_history, page, hasLater: next !== null }
  }
  return section(t('settings.history'), h('p', { class: 'quiet' }, t('settings.historyText')),
    fetched(get, (shown, again) => {
      const open = async (/** @type {number} */ number) => {
        page = number
        await again()
      }
      return [
        h('p', { class: 'row-line' },
          when(() => deliveryAddress(hook.value) !== '', () => deed(t('settings.webhookTest'), async () => {
            const { data } = await store.api.testWebhook(channel, id)
            await open(1)
            say(isDone(data) ? t('settings.webhookTestDone') : t('settings.webhookTestFailed'))
          })),
          deed(t('settings.historyRenew'), () => open(page))),
        h('p', { class: 'quiet', hidden: () => shown.value.attempts.length > 0 }, t('settings.historyNone')),
        list(h('ul', { class: 'items' }), () => shown.value.attempts, each => each.id, item =>
          row(store, channel, id, item, () => open(1))),
        pager(() => shown.value, open),
      ]
    }))
}

/**
 * @param {Store} store
 * @param {string} channel
 * @param {string} id
 * @param {import('../../base/signal.js').Signal<Attempt>} item
 * @param {() => Promise<void>} again
 */
function row(store, channel, id, item, again) {
  const attempt = item.peek()
  const describedBy = `attempt-${attempt.id}`
  return h('li', { class: 'item' },
    h('div', { class: 'item-text', id: describedBy },
      h('p', { class: 'row-line' }, h('span', null, kind(attempt)), result(attempt),
        h('span', { class: 'quiet small' }, time(attempt.attempted))),
      attempt.direction === 'in'
        ? attempt.read_as !== '' && h('p', { class: 'quiet small' }, readAs(attempt))
        : h('p', { class: 'quiet small' },
          t('settings.attemptTook', { time: number(attempt.latency_ms, { style: 'unit', unit: 'millisecond' }) }), ' · ',
          t('settings.attemptNumber', { number: Number(attempt.retries) + 1 }),
          () => item.value.next_attempt && [' · ', t('settings.attemptNext'), ' ', time(item.value.next_attempt)]),
      (attempt.error || attempt.response || attempt.received) && h('details', { class: 'more small' },
        h('summary', null, t('settings.attemptDetails')),
        attempt.error && h('p', null, attempt.error),
        attempt.received && h('pre', { tabindex: 0, dir: 'ltr', 'aria-label': t('settings.attemptReceived') }, attempt.received),
        attempt.response && h('pre', { tabindex: 0, dir: 'ltr', 'aria-label': t('settings.attemptAnswer') }, attempt.response))),
    attempt.direction === 'out' && attempt.action_type !== 'test' && deed(t('settings.replay'), async () => {
      await store.api.replayWebhookDelivery(channel, id, attempt.id)
      say(t('settings.replayed'))
      await again()
    }, { describedBy }))
}
