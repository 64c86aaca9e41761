// Where the person is logged in.

import { h } from '../../view/element.js'
import { list } from '../../view/list.js'
import { say } from '../../view/toast.js'
import { t } from '../../text/words.js'
import { device } from './device.js'
import { fetched } from './fetched.js'
import { asking, badge, part, time } from './parts.js'

/** @typedef {import('#api').components['schemas']['Session']} Session */
/** @typedef {import('../../base/signal.js').Signal<Session[]>} Sessions */

/** @param {Store} store */
export const sessions = store => part(t('settings.sessions'), t('settings.sessionsIntro'),
  fetched(async () => currentFirst((await store.api.listSessions(myId(store), {})).data), all => [
    list(h('ul', { class: 'items' }), () => all.value, each => each.id, session => row(store, all, session.peek())),
    h('p', { hidden: () => others(all).length < 2 },
      asking(t('settings.sessionsEndOthers'), () => ({
        title: t('settings.sessionsEndTitle'), text: t('settings.sessionsEndText'), action: t('settings.sessionsEndOthers'), danger: true,
      }), async () => {
        const count = others(all).length
        for (const each of others(all)) await end(store, all, each)
        say(t('settings.sessionsEnded', { count }))
      }, { danger: true })),
  ]))

/** @param {Store} store */
const myId = store => store.me.peek()?.id ?? ''

/** @param {Session[]} all */
const currentFirst = all => all.toSorted((a, b) => Number(b.is_current) - Number(a.is_current))

/** @param {Sessions} all */
const others = all => all.value.filter(each => !each.is_current)

/** @param {Store} store @param {Sessions} all @param {Session} session */
async function end(store, all, session) {
  await store.api.revokeSession({ session_id: session.id })
  all.value = all.peek().filter(each => each !== session)
}

/** @param {Store} store @param {Sessions} all @param {Session} session */
function row(store, all, session) {
  const name = device(session.user_agent) || t('settings.deviceUnknown')
  const id = `session-${session.id}`
  return h('li', { class: 'item' },
    h('div', { class: 'item-text', id },
      h('p', { class: 'row-line' }, h('strong', null, h('bdi', { title: session.user_agent }, name)),
        session.is_current && badge(t('settings.sessionThis'), 'good')),
      h('p', { class: 'quiet small' }, h('bdi', null, session.address), ' · ', t('settings.sessionSeen'), ' ',
        time(session.last_seen_at)),
      h('p', { class: 'quiet small' }, t('settings.sessionSince'), ' ', time(session.created_at))),
    !session.is_current && asking(t('settings.sessionEnd'), () => ({
      title: t('settings.sessionEndTitle'), text: [name, ' · ', t('settings.sessionSeen'), ' ', time(session.last_seen_at)],
      action: t('settings.sessionEnd'), danger: true,
    }), async () => {
      await end(store, all, session)
      say(t('settings.sessionsEnded', { count: 1 }))
    }, { describedBy: id }))
}
