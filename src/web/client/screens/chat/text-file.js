// The text of a file, in the talk.

import { t } from '../../text/words.js'
import { size } from '../../text/sizes.js'
import { h } from '../../view/element.js'

/** Bytes that are shown. Whoever wants to read more opens the file. */
const MOST = 64_000

/**
 * Reads the beginning of a text.
 *
 * @param {string} name
 * @param {string | Blob} from The address of the file, or its bytes.
 * @returns {Promise<() => import('../../view/element.js').Child>}
 */
export async function read(name, from) {
  const { bytes, isWhole } = typeof from === 'string' ? await fetched(from) : { bytes: await from.slice(0, MOST).arrayBuffer(), isWhole: from.size <= MOST }
  // The last character may be cut.
  const text = new TextDecoder().decode(bytes, { stream: !isWhole })
  return () => [
    h('pre', { class: 'file-text', dir: 'auto', tabindex: 0, role: 'region', 'aria-label': name }, text),
    !isWhole && h('p', { class: 'quiet small' }, t('chat.textCut', { size: size(MOST) })),
  ]
}

/** @param {string} address */
async function fetched(address) {
  const answer = await fetch(address, { headers: { Range: `bytes=0-${MOST - 1}` } })
  // An empty file has no first byte.
  if (answer.status === 416) return { bytes: new ArrayBuffer(0), isWhole: true }
  if (!answer.ok) throw new Error(`the server answered ${answer.status}`)
  const bytes = await answer.arrayBuffer()
  return { bytes, isWhole: answer.headers.get('Content-Range')?.endsWith(`/${bytes.byteLength}`) ?? true }
}
