import { h } from '../../view/element.js'
import { language } from '../../text/words.js'

/** A moment, with its day. @param {string} moment In RFC 3339. */
export const time = moment => h('time', { datetime: moment }, () =>
  new Intl.DateTimeFormat(language.value, { dateStyle: 'medium', timeStyle: 'short' }).format(new Date(moment)))
