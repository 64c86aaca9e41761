// Choices of which one holds, as radio buttons that act at once.

import { h } from '../../view/element.js'

/**
 * @template {string} T
 * @param {string} name Of the group; it keeps the focus when the page is made anew in another language.
 * @param {string} legend
 * @param {{ value: T, label: string }[]} options
 * @param {() => T} chosen
 * @param {(value: T) => void} choose
 * @param {import('../../view/element.js').Child} [hint]
 */
export const choices = (name, legend, options, chosen, choose, hint) =>
  h('fieldset', { class: 'part-section settings-choices' },
    h('legend', null, legend),
    options.map(({ value, label }) => h('label', { class: 'settings-choice' },
      h('input', { type: 'radio', name, value, checked: () => chosen() === value, onchange: () => choose(value) }),
      h('span', null, label))),
    hint && h('p', { class: 'quiet small' }, hint))
