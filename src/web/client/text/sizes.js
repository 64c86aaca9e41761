// Numbers of bytes, as people read them.

import { number } from './words.js'

const KIB = 1 << 10
const MIB = 1 << 20

/** @param {number} bytes */
export const size = bytes => bytes < MIB
  ? number(Math.max(1, Math.floor(bytes / KIB)), { style: 'unit', unit: 'kilobyte' })
  : number(Math.floor(bytes / MIB), { style: 'unit', unit: 'megabyte' })
