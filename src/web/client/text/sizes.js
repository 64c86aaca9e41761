// Numbers of bytes, as people read them.

import { number } from './words.js'

const KB = 1000
const MB = 1000 * KB

/** @param {number} bytes */
export const size = bytes => bytes < MB
  ? number(bytes && Math.max(1, Math.floor(bytes / KB)), { style: 'unit', unit: 'kilobyte' })
  : number(Math.floor(bytes / MB), { style: 'unit', unit: 'megabyte' })
