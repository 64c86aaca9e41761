// What a bot is called and what it is for, as fields of a form.

import { h } from '../../view/element.js'
import { field } from '../../view/form.js'
import { t } from '../../text/words.js'

/** @param {FormData} values */
export const botOf = values => ({
  name: String(values.get('name')).trim(), username: String(values.get('username')).trim(),
  description: String(values.get('description')).trim(), url: String(values.get('url')).trim(),
})

/** @param {Bot | null} now */
export const botFields = now => [
  h('div', { class: 'field-pair' },
    field(t('programs.botName'), h('input', {
      name: 'name', required: true, maxlength: 100, dir: 'auto', autocomplete: 'off', value: now?.name ?? '',
      placeholder: t('programs.example'),
    })),
    field(t('programs.botUsername'), h('input', {
      name: 'username', maxlength: 64, dir: 'ltr', autocomplete: 'off', autocapitalize: 'off', value: now?.username ?? '',
      placeholder: now ? '' : t('programs.botUsernameMade'),
    }))),
  field(t('programs.botDescription'), h('textarea', {
    name: 'description', maxlength: 500, rows: 2, dir: 'auto', value: now?.description ?? '',
  })),
  field(t('programs.botUrl'), h('input', {
    name: 'url', type: 'url', maxlength: 2000, dir: 'ltr', autocomplete: 'off', value: now?.url ?? '',
  }), t('programs.botUrlHint')),
]
