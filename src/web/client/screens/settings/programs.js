// Programs that act as the person, each by a token in place of the password.

import { signal } from '../../base/signal.js'
import { h } from '../../view/element.js'
import { field, form } from '../../view/form.js'
import { list } from '../../view/list.js'
import { say } from '../../view/toast.js'
import { t } from '../../text/words.js'
import { copyable } from './copyable.js'
import { fetched } from './fetched.js'
import { asking, part, section } from './parts.js'
import { time } from './times.js'

/** @typedef {import('../../store/index.js').Store} Store */
/** @typedef {import('#api').components['schemas']['ApiToken']} Token */
/** @typedef {import('#api').components['schemas']['NewApiToken']['scopes'][number]} Scope */
/** @typedef {import('../../base/signal.js').Signal<Token[]>} Tokens */

const DAY_MS = 86_400_000
/** After how many days a token may end; 0 for never. */
const DAYS = [30, 90, 365, 0]

/**
 * What a token may be used for, in the order in which it is offered. The server's blog has programs of its own, which need no page.
 *
 * @type {{ scope: Scope, title: () => string, text: () => string }[]}
 */
const SCOPES = [
  { scope: 'read', title: () => t('settings.scopeRead'), text: () => t('settings.scopeReadText') },
  { scope: 'post', title: () => t('settings.scopePost'), text: () => t('settings.scopePostText') },
  { scope: 'channels', title: () => t('settings.scopeChannels'), text: () => t('settings.scopeChannelsText') },
  { scope: 'members', title: () => t('settings.scopeMembers'), text: () => t('settings.scopeMembersText') },
  { scope: 'webhooks', title: () => t('settings.scopeWebhooks'), text: () => t('settings.scopeWebhooksText') },
]

/** @param {string} scope */
const scopeTitle = scope => SCOPES.find(each => each.scope === scope)?.title() ?? scope

/** @param {Store} store */
export const programs = store => part(t('settings.programs'), t('settings.programsIntro'),
  fetched(async () => (await store.api.listTokens(myId(store), {})).data, all => [
    making(store, all),
    h('p', { class: 'quiet', hidden: () => all.value.length > 0 }, t('settings.programNone')),
    list(h('ul', { class: 'items' }), () => all.value, token => token.id, token => row(store, all, token.peek())),
  ]))

/** @param {Store} store */
const myId = store => store.me.peek()?.id ?? ''

/** @param {Store} store @param {Tokens} all */
function making(store, all) {
  const made = signal('')
  return section(t('settings.programNew'),
    form({
      button: t('settings.programMake'),
      submit: async (values, element) => {
        const days = Number(values.get('expires_at'))
        const channels = values.getAll('channels').map(String)
        const { data: { token, ...shown } } = await store.api.createToken(myId(store), {
          name: String(values.get('name')).trim(),
          scopes: /** @type {Scope[]} */ (values.getAll('scopes')),
          expires_at: days > 0 ? new Date(Date.now() + days * DAY_MS).toISOString() : undefined,
          channels: channels.length > 0 ? channels : undefined,
        })
        element.reset()
        made.value = token
        all.value = [shown, ...all.peek()]
      },
      children: [
        h('div', { class: 'field-pair' },
          field(t('settings.programName'),
            h('input', { name: 'name', required: true, maxlength: 80, dir: 'auto', autocomplete: 'off', placeholder: t('settings.programExample') })),
          field(t('settings.programEnds'),
            h('select', { name: 'expires_at' }, DAYS.map(days =>
              h('option', { value: String(days) }, days > 0 ? t('settings.programDays', { count: days }) : t('settings.programNever')))))),
        h('fieldset', { class: 'settings-choices' },
          h('legend', null, t('settings.programScopes')),
          SCOPES.map(({ scope, title, text }) => choice('scopes', scope, title(), text(), ['read', 'post'].includes(scope)))),
        () => store.channels.value.length > 0 && h('details', { class: 'settings-more' },
          h('summary', null, t('settings.programChannels')),
          h('p', { class: 'quiet small' }, t('settings.programChannelsText')),
          h('div', { class: 'settings-choices settings-scroll' },
            store.channels.value.map(channel => choice('channels', channel.id, channel.title)))),
      ],
    }),
    h('div', { role: 'status' }, () =>
      made.value && copyable(t('settings.programToken'), () => made.value, t('settings.programOnce'))))
}

/**
 * @param {string} name
 * @param {string} value
 * @param {string} title
 * @param {string} [text]
 * @param {boolean} [checked]
 */
const choice = (name, value, title, text = '', checked = false) => h('label', { class: 'settings-choice' },
  h('input', { type: 'checkbox', name, value, checked }),
  h('span', null, h('bdi', null, title), text && h('span', { class: 'quiet small block' }, text)))

/** @param {Store} store @param {Tokens} all @param {Token} token */
function row(store, all, token) {
  const id = `token-${token.id}`
  const { expires_at: end, last_used_at: used, channels } = token
  return h('li', { class: 'item' },
    h('div', { class: 'item-text', id },
      h('p', { class: 'row-line' }, h('strong', null, h('bdi', null, token.name))),
      h('p', { class: 'quiet small' }, token.scopes.map(scopeTitle).join(' · '),
        channels && [' · ', t('settings.programLimited', { count: channels.length })]),
      h('p', { class: 'quiet small' }, used ? [t('settings.programUsed'), ' ', time(used)] : t('settings.programUnused'), ' · ',
        end ? [t('settings.programUntil'), ' ', time(end)] : t('settings.programForever'))),
    asking(t('settings.sessionEnd'), () => ({
      title: t('settings.programEndTitle', { name: token.name }), text: t('settings.programEndText'), action: t('settings.sessionEnd'), danger: true,
    }), async () => {
      await store.api.revokeToken(myId(store), token.id)
      all.value = all.peek().filter(each => each.id !== token.id)
      say(t('settings.programEnded'))
    }, { describedBy: id }))
}
