// Words and marks for the states of webhooks and of their attempts.

import { h } from '../../view/element.js'
import { t } from '../../text/words.js'
import { badge } from './parts.js'

/** @typedef {import('#api').components['schemas']['Attempt']} Attempt */

/** @param {string} status */
export const webhookState = status => {
  if (status === 'active') return badge(t('settings.webhookActive'), 'good')
  return status === 'paused' ? badge(t('settings.webhookPaused')) : badge(t('settings.webhookInactive'), 'bad')
}

/** @param {Attempt} attempt */
export const kind = ({ direction, action_type: type }) => {
  if (type === 'test') return t('settings.attemptTest')
  if (direction === 'in') return type === 'paused' ? t('settings.attemptFeedPaused') : t('settings.attemptFeed')
  return t('settings.attemptDelivery')
}

/** The program whose form a feed had. @param {Attempt} attempt */
export const readAs = ({ read_as: program }) =>
  program === 'not understood' ? t('settings.attemptNotUnderstood') : h('bdi', null, program)

/** Whether the other side took it. @param {Attempt} attempt */
export const isDone = ({ status_code: status, error }) => error === '' && /^2\d\d$/.test(status)

/** @param {Attempt} attempt */
export const result = attempt => {
  const { status_code: status } = attempt
  if (isDone(attempt)) return badge(t('settings.attemptDone', { status }), 'good')
  return badge(status === '0' ? t('settings.attemptNoAnswer') : t('settings.attemptFailed', { status }), 'bad')
}
