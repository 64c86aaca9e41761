// By whom, where and when: what narrows a search.

import { effect, signal } from '../../base/signal.js'
import { t } from '../../text/words.js'
import { h, when } from '../../view/element.js'
import { field } from '../../view/form.js'
import { icon } from '../../view/icons.js'
import { route } from '../../view/router.js'
import { face, name, nameOf } from '../face.js'
import { chooser } from './chooser.js'
import { finding } from './person-picker.js'

/** As the address calls them. */
export const NAMES = ['from', 'in', 'after', 'before', 'has']

const MOST_PEOPLE = 6

/** @param {string} name */
const valueOf = name => route.value.query.get(name) ?? ''

/**
 * @param {Store} store
 * @param {(values: Record<string, string>) => void} change
 */
export function filters(store, change) {
  const count = () => NAMES.filter(valueOf).length
  return h('details', { class: 'filters', open: NAMES.some(each => route.peek().query.get(each)) },
    h('summary', null, () => count() > 0 ? t('panes.filtersSet', { count: count() }) : t('panes.filters')),
    h('div', { class: 'filters-body' },
      writer(store, change),
      where(store, change),
      h('div', { class: 'days' }, day(t('panes.since'), 'after', change), day(t('panes.until'), 'before', change)),
      withFiles(change),
      when(() => count() > 0, () => h('button', {
        type: 'button', class: 'link-button small', onclick: () => change(Object.fromEntries(NAMES.map(each => [each, '']))),
      }, t('panes.clearFilters')))))
}

/**
 * @param {Store} store
 * @param {(values: Record<string, string>) => void} change
 */
function writer(store, change) {
  const person = () => store.person(valueOf('from'))
  const clear = () => {
    change({ from: '' })
    requestAnimationFrame(() => document.getElementById(id)?.focus())
  }
  let id = ''
  return h('div', { class: 'field' }, when(() => valueOf('from'),
    () => [
      h('span', { class: 'label' }, t('panes.writtenBy')),
      h('div', { class: 'chip' }, () => face(person(), { tiny: true }), h('span', null, () => name(person())),
        h('button', {
          type: 'button', 'aria-label': () => t('panes.takeOutFilter', { name: nameOf(person()) }), onclick: clear,
        }, icon('close'))),
    ],
    () => {
      const people = finding(store, MOST_PEOPLE)
      const typed = signal('')
      const { input, rows } = chooser({
        label: t('panes.writtenBy'),
        first: -1,
        options: () => typed.value ? people.rows.value.map(each => ({
          key: each.user_id, title: nameOf(each), beside: each.username, sign: face(each, { tiny: true }),
        })) : [],
        typed: text => {
          typed.value = text
          if (text) people.look(text)
        },
        take: ({ key }) => change({ from: key }),
      })
      id = input.id
      return [h('label', { for: id }, t('panes.writtenBy')), input, rows,
        h('p', { class: 'quiet small', role: 'status' }, () => people.problem.value)]
    }))
}

/**
 * @param {Store} store
 * @param {(values: Record<string, string>) => void} change
 */
function where(store, change) {
  const select = h('select', { onchange: () => change({ in: select.value }) },
    h('option', { value: '' }, t('panes.everywhere')),
    h('optgroup', { label: t('talk.channels') }, () => store.channels.value.map(option)),
    h('optgroup', { label: t('talk.people') }, () => store.directMessages.value.map(option)))
  effect(() => {
    void [store.channels.value, store.directMessages.value]
    select.value = valueOf('in')
  })
  return field(t('panes.where'), select)
}

/** @param {import('../../store/index.js').Channel} channel */
const option = ({ id, title }) => h('option', { value: id }, title)

/**
 * @param {string} label
 * @param {string} key
 * @param {(values: Record<string, string>) => void} change
 */
function day(label, key, change) {
  const input = h('input', { type: 'date', onchange: () => change({ [key]: input.value }) })
  effect(() => { input.value = valueOf(key) })
  return field(label, input)
}

/** @param {(values: Record<string, string>) => void} change */
function withFiles(change) {
  const box = h('input', { type: 'checkbox', onchange: () => change({ has: box.checked ? 'file' : '' }) })
  effect(() => { box.checked = valueOf('has') === 'file' })
  return h('label', { class: 'settings-choice' }, box, h('span', null, t('panes.withFiles')))
}
