// One bot: what it is called, its tokens, and its end.

import { h, when } from '../../view/element.js'
import { form } from '../../view/form.js'
import { go } from '../../view/router.js'
import { say } from '../../view/toast.js'
import { t } from '../../text/words.js'
import { face, nameOf } from '../face.js'
import { botFields, botOf } from './bot-fields.js'
import { faceSetting } from './face-setting.js'
import { fetched } from './fetched.js'
import { asking, badge, part, section, up } from './parts.js'
import { secretSection, showSecret } from './signing-secret.js'
import { making, tokenList } from './tokens.js'

/** @typedef {import('../../base/signal.js').Signal<Bot>} Kept */

/**
 * @param {Store} store
 * @param {string} organisation
 * @param {string} base The address of the bots.
 * @param {string} id
 */
export const bot = (store, organisation, base, id) => h('div', null, up(base, t('programs.bots')),
  fetched(async () => (await store.api.listBots(organisation, {})).data.find(each => each.id === id) ?? null, found => {
    if (!found.peek()) return part(t('programs.bots'), t('programs.botGone'))
    const kept = /** @type {Kept} */ (found)
    return part([h('bdi', null, () => kept.value.name), ' ', badge(t('common.bot'))], t('programs.botIntro'),
      form({
        class: 'part-section',
        button: t('common.save'),
        submit: async values => {
          const { data: { secret, ...saved } } = await store.api.updateBot(organisation, id, botOf(values))
          kept.value = saved
          say(t('common.saved'))
          await showSecret(secret)
        },
        children: botFields(kept.peek()),
      }),
      faceSetting({
        title: t('faces.person'),
        shown: () => face({ user_id: id, username: kept.value.username, full_name: kept.value.name, avatar_url: kept.value.avatar_url }, { large: true }),
        address: () => kept.value.avatar_url,
        set: async chosen => { kept.value = (await store.api.setBotAvatar(organisation, id, chosen)).data },
        remove: async () => { kept.value = (await store.api.removeBotAvatar(organisation, id)).data },
      }),
      tokens(store, kept.peek()),
      when(() => kept.value.url, () => secretSection({ about: t('programs.botSecretText'), renewing: t('programs.commandRotateText') },
        async () => (await store.api.updateBot(organisation, id, { new_secret: true })).data)),
      section(t('programs.botRemove'),
        h('p', { class: 'quiet' }, t('programs.botRemoveText')),
        h('p', null, asking(t('programs.botRemove'), () => ({
          title: t('programs.botRemoveTitle', { name: kept.peek().name }), text: t('programs.botRemoveText'),
          action: t('programs.botRemove'), danger: true,
        }), async () => {
          await store.api.deleteBot(organisation, id)
          go(base, { replace: true })
        }, { danger: true }))))
  }))

/** @param {Store} store @param {Bot} shown */
const tokens = (store, shown) => fetched(async () => (await store.api.listTokens(shown.id, {})).data, all => [
  shown.owner_id === store.me.peek()?.id
    ? making(store, shown.id, all, () => [])
    : section(t('programs.tokens'), h('p', { class: 'quiet' }, () =>
      t('programs.botOwner', { name: nameOf(store.person(shown.owner_id)) }))),
  tokenList(store, shown.id, all),
])
