import { h } from '../../view/element.js'
import { icon } from '../../view/icons.js'

/**
 * A link to the step before.
 *
 * @param {string | (() => string)} address
 * @param {string} label
 * @param {string} [className]
 */
export const up = (address, label, className = '') => h('a', { class: `up ${className}`, href: address }, icon('back'), label)
