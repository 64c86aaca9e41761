// Bots of the organisation: members that are programs. Each has a page of its own.

import { h } from '../../view/element.js'
import { form } from '../../view/form.js'
import { list } from '../../view/list.js'
import { go } from '../../view/router.js'
import { t } from '../../text/words.js'
import { face } from '../face.js'
import { bot } from './bot.js'
import { botFields, botOf } from './bot-fields.js'
import { fetched } from './fetched.js'
import { part, section, time } from './parts.js'
import { showSecret } from './signing-secret.js'

/**
 * @param {Store} store
 * @param {string} id The organisation.
 * @param {string} base The address of this part.
 * @param {string[]} rest What the address has after it: a bot.
 */
export function bots(store, id, base, [shown]) {
  if (shown) return bot(store, id, base, shown)
  return part(t('programs.bots'), t('programs.botsIntro'),
    fetched(async () => (await store.api.listBots(id, {})).data, all => [
      list(h('ul', { class: 'items' }), () => all.value, each => each.id, each => row(base, each.peek())),
      h('p', { class: 'quiet', hidden: () => all.value.length > 0 }, t('programs.botsNone')),
      section(t('programs.botNew'), form({
        button: t('programs.botMake'),
        submit: async values => {
          const { data } = await store.api.createBot(id, botOf(values))
          await showSecret(data.secret)
          go(`${base}/${data.id}`)
        },
        children: botFields(null),
      })),
    ]))
}

/** @param {string} base @param {Bot} each */
const row = (base, each) => h('li', { class: 'item' },
  face({ user_id: each.id, username: each.username, full_name: each.name, avatar_url: each.avatar_url }),
  h('div', { class: 'item-text' },
    h('p', { class: 'row-line' }, h('a', { href: `${base}/${each.id}` }, h('bdi', null, each.name)),
      h('span', { class: 'quiet small' }, h('bdi', null, `@${each.username}`))),
    each.description && h('p', { class: 'small', dir: 'auto' }, each.description),
    h('p', { class: 'quiet small' }, each.last_used_at ? [t('programs.used'), ' ', time(each.last_used_at)] : t('programs.unused'))))
