// Tokens of programs: making them, and the list of those that there are. For a person's own and for a bot's.

import { signal } from '../../base/signal.js'
import { h } from '../../view/element.js'
import { field, form } from '../../view/form.js'
import { list } from '../../view/list.js'
import { say } from '../../view/toast.js'
import { t } from '../../text/words.js'
import { copyable } from './copyable.js'
import { asking, section, time } from './parts.js'

/** @typedef {import('#api').components['schemas']['ApiToken']} Token */
/** @typedef {import('#api').components['schemas']['NewApiToken']['scopes'][number]} Scope */
/** @typedef {import('../../base/signal.js').Signal<Token[]>} Tokens */

const DAY_MS = 86_400_000
/** After how many days a token may end; 0 for never. */
const DAYS = [30, 90, 365, 0]

/**
 * What a token may be used for, in the order in which it is offered. The scope of the server's blog is for its administrators, who
 * make such tokens by the API.
 *
 * @type {{ scope: Scope, title: () => string, text: () => string }[]}
 */
const SCOPES = [
  { scope: 'read', title: () => t('programs.scopeRead'), text: () => t('programs.scopeReadText') },
  { scope: 'post', title: () => t('programs.scopePost'), text: () => t('programs.scopePostText') },
  { scope: 'channels', title: () => t('programs.scopeChannels'), text: () => t('programs.scopeChannelsText') },
  { scope: 'members', title: () => t('programs.scopeMembers'), text: () => t('programs.scopeMembersText') },
  { scope: 'webhooks', title: () => t('programs.scopeWebhooks'), text: () => t('programs.scopeWebhooksText') },
]

/** @param {string} scope */
const scopeTitle = scope => SCOPES.find(each => each.scope === scope)?.title() ?? scope

/**
 * The list of a user's tokens.
 *
 * @param {Store} store
 * @param {string} user
 * @param {Tokens} all
 */
export const tokenList = (store, user, all) => list(h('ul', { class: 'items' }), () => all.value, token => token.id,
  token => row(store, user, all, token.peek()))

/**
 * The form that makes a token.
 *
 * @param {Store} store
 * @param {string} user
 * @param {Tokens} all
 * @param {() => import('../../store/index.js').Channel[]} channels Those that the token may be limited to.
 */
export function making(store, user, all, channels) {
  const made = signal('')
  return section(t('programs.new'),
    form({
      button: t('programs.make'),
      submit: async (values, element) => {
        const days = Number(values.get('expires_at'))
        const chosen = values.getAll('channels').map(String)
        const { data: { token, ...shown } } = await store.api.createToken(user, {
          name: String(values.get('name')).trim(),
          scopes: /** @type {Scope[]} */ (values.getAll('scopes')),
          expires_at: days > 0 ? new Date(Date.now() + days * DAY_MS).toISOString() : undefined,
          channels: chosen.length > 0 ? chosen : undefined,
        })
        element.reset()
        made.value = token
        all.value = [shown, ...all.peek()]
      },
      children: [
        h('div', { class: 'field-pair' },
          field(t('programs.name'),
            h('input', { name: 'name', required: true, maxlength: 80, dir: 'auto', autocomplete: 'off', placeholder: t('programs.example') })),
          field(t('programs.ends'),
            h('select', { name: 'expires_at' }, DAYS.map(days =>
              h('option', { value: String(days) }, days > 0 ? t('programs.days', { count: days }) : t('programs.never')))))),
        h('fieldset', { class: 'settings-choices' },
          h('legend', null, t('programs.scopes')),
          SCOPES.map(({ scope, title, text }) => choice('scopes', scope, title(), text(), ['read', 'post'].includes(scope)))),
        () => channels().length > 0 && h('details', { class: 'settings-more' },
          h('summary', null, t('programs.channels')),
          h('p', { class: 'quiet small' }, t('programs.channelsText')),
          h('div', { class: 'settings-choices settings-scroll' },
            channels().map(channel => choice('channels', channel.id, channel.title)))),
      ],
    }),
    h('div', { role: 'status' }, () =>
      made.value && copyable(t('programs.token'), () => made.value, t('programs.once'))))
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

/** @param {Store} store @param {string} user @param {Tokens} all @param {Token} token */
function row(store, user, all, token) {
  const id = `token-${token.id}`
  const { expires_at: end, last_used_at: used, channels } = token
  return h('li', { class: 'item' },
    h('div', { class: 'item-text', id },
      h('p', { class: 'row-line' }, h('strong', null, h('bdi', null, token.name))),
      h('p', { class: 'quiet small' }, token.scopes.map(scopeTitle).join(' · '),
        channels && [' · ', t('programs.limited', { count: channels.length })]),
      h('p', { class: 'quiet small' }, used ? [t('programs.used'), ' ', time(used)] : t('programs.unused'), ' · ',
        end ? [t('programs.until'), ' ', time(end)] : t('programs.forever'))),
    asking(t('settings.sessionEnd'), () => ({
      title: t('programs.endTitle', { name: token.name }), text: t('programs.endText'), action: t('settings.sessionEnd'), danger: true,
    }), async () => {
      await store.api.revokeToken(user, token.id)
      all.value = all.peek().filter(each => each.id !== token.id)
      say(t('programs.ended'))
    }, { describedBy: id }))
}
