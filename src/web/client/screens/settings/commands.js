// Commands of the organisation: programs that members call by a slash and a name. Each has a page of its own.

import { h } from '../../view/element.js'
import { field, form } from '../../view/form.js'
import { list } from '../../view/list.js'
import { go } from '../../view/router.js'
import { say } from '../../view/toast.js'
import { t } from '../../text/words.js'
import { fetched } from './fetched.js'
import { asking, part, section, up } from './parts.js'
import { secretSection, showSecret } from './signing-secret.js'

/** @typedef {import('#api').components['schemas']['Command']} Command */

/**
 * @param {Store} store
 * @param {string} id The organisation.
 * @param {string} base The address of this part.
 * @param {string[]} rest What the address has after it: a command.
 */
export function commands(store, id, base, [shown]) {
  const get = async () => (await store.api.listCommands(id, {})).data
  if (shown) return h('div', null, up(base, t('programs.commands')),
    fetched(async () => (await get()).find(each => each.id === shown) ?? null, found => {
      const command = found.peek()
      return command ? page(store, id, base, command) : part(t('programs.commands'), t('programs.commandGone'))
    }))
  return part(t('programs.commands'), t('programs.commandsIntro'), fetched(get, all => [
    list(h('ul', { class: 'items' }), () => all.value, each => each.id, each => row(base, each.peek())),
    h('p', { class: 'quiet', hidden: () => all.value.length > 0 }, t('programs.commandsNone')),
    section(t('programs.commandNew'), form({
      button: t('programs.commandMake'),
      submit: async values => {
        const { data } = await store.api.createCommand(id, { ...commandOf(values), form: formOf(values) })
        all.value = [...all.peek(), data].toSorted((a, b) => a.name.localeCompare(b.name))
        await showSecret(data.secret)
        go(`${base}/${data.id}`)
      },
      children: fields(null),
    })),
  ]))
}

/** @param {string} base @param {Command} command */
const row = (base, { id, name, hint, description }) => h('li', { class: 'item' }, h('div', { class: 'item-text' },
  h('p', { class: 'row-line' }, h('a', { href: `${base}/${id}` }, h('bdi', null, `/${name}`)), h('span', { class: 'quiet small' }, h('bdi', null, hint))),
  description && h('p', { class: 'quiet small', dir: 'auto' }, description)))

/** @param {Store} store @param {string} id @param {string} base @param {Command} command */
const page = (store, id, base, command) => part(h('bdi', null, `/${command.name}`), null,
  form({
    class: 'part-section',
    button: t('common.save'),
    submit: async values => {
      await store.api.updateCommand(id, command.id, { ...commandOf(values), form: formOf(values) })
      say(t('common.saved'))
    },
    children: fields(command),
  }),
  secretSection({ about: t('programs.commandSecretText'), renewing: t('programs.commandRotateText') }, async () =>
    (await store.api.updateCommand(id, command.id, { new_secret: true })).data),
  section(t('programs.commandDelete'),
    h('p', { class: 'quiet' }, t('programs.commandDeleteText')),
    h('p', null, asking(t('common.delete'), () => ({
      title: t('programs.commandDeleteTitle', { name: `/${command.name}` }), text: t('programs.commandDeleteText'),
      action: t('common.delete'), danger: true,
    }), async () => {
      await store.api.deleteCommand(id, command.id)
      go(base, { replace: true })
    }, { danger: true }))))

/** @param {FormData} values @param {string} name */
const text = (values, name) => String(values.get(name)).trim()

/** @param {FormData} values */
const commandOf = values => ({
  name: text(values, 'name').replace(/^\//, ''), hint: text(values, 'hint'), description: text(values, 'description'), url: text(values, 'url'),
})

/** @param {FormData} values @returns {'json' | 'slack'} */
const formOf = values => values.get('form') === 'slack' ? 'slack' : 'json'

/** @param {Command | null} now */
const fields = now => [
  h('div', { class: 'field-pair' },
    field(t('programs.commandName'), h('input', {
      name: 'name', required: true, maxlength: 33, dir: 'ltr', autocomplete: 'off', autocapitalize: 'off', value: now?.name ?? '',
    })),
    field(t('programs.commandHint'), h('input', {
      name: 'hint', maxlength: 80, dir: 'auto', autocomplete: 'off', value: now?.hint ?? '', placeholder: t('programs.commandHintExample'),
    }))),
  field(t('programs.commandAbout'), h('input', { name: 'description', maxlength: 200, dir: 'auto', autocomplete: 'off', value: now?.description ?? '' })),
  field(t('programs.commandUrl'), h('input', {
    name: 'url', type: 'url', required: true, maxlength: 2000, dir: 'ltr', autocomplete: 'off', value: now?.url ?? '',
  }), t('programs.commandUrlHint')),
  field(t('programs.commandForm'), h('select', { name: 'form' },
    h('option', { value: 'json', selected: now?.form !== 'slack' }, t('programs.commandFormOwn')),
    h('option', { value: 'slack', selected: now?.form === 'slack' }, t('programs.commandFormSlack')))),
]
