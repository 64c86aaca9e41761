// The words that each page needs, which the server joins into one file.

import { default as chat } from './chat.js'
import { default as common } from './common.js'
import { default as refusals } from './refusals.js'
import { default as talk } from './talk.js'

export const areas = { chat, common, refusals, talk }
