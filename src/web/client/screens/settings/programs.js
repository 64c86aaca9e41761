// Programs that act as the person, each by a token in place of the password.

import { h } from '../../view/element.js'
import { t } from '../../text/words.js'
import { fetched } from './fetched.js'
import { part } from './parts.js'
import { making, tokenList } from './tokens.js'

/** @param {import('../../store/index.js').Store} store */
export function programs(store) {
  const me = store.me.peek()?.id ?? ''
  return part(t('settings.programs'), t('programs.intro'),
    fetched(async () => (await store.api.listTokens(me, {})).data, all => [
      making(store, me, all, () => store.channels.value),
      h('p', { class: 'quiet', hidden: () => all.value.length > 0 }, t('programs.none')),
      tokenList(store, me, all),
    ]))
}
