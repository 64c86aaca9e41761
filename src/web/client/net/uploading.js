// Uploads in pieces, which go on after a cut: tus 1.0 (https://tus.io/protocols/resumable-upload).
//
// They go by XMLHttpRequest: `fetch` doesn't tell how much of a body is on its way.

import { Refusal, Unreachable } from './request.js'

const UPLOADS = '/api/v1/files/uploads'
/** The server ends a request after this long without a byte, too. Milliseconds. */
const SILENCE_MS = 30_000

/**
 * @typedef {object} Options
 * @property {Record<string, string>} [headers]
 * @property {Blob} [body]
 * @property {AbortSignal} [signal]
 * @property {(sent: number) => void} [progress]
 */

/**
 * @param {object} options
 * @param {string} options.base
 * @param {typeof XMLHttpRequest} options.XMLHttpRequest
 * @param {() => string | null | undefined} options.getUser
 * @param {Record<string, string>} [options.headers] More headers of each request.
 */
export function createUploading({ base, XMLHttpRequest, getUser, headers: common = {} }) {
  /** @param {string} method @param {string} path @param {Options} [options] @returns {Promise<XMLHttpRequest>} */
  const ask = (method, path, { headers = {}, body, signal, progress } = {}) => new Promise((resolve, reject) => {
    const request = new XMLHttpRequest()
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    let silence
    const heard = () => {
      clearTimeout(silence)
      silence = setTimeout(() => request.abort(), SILENCE_MS)
    }
    request.open(method, `${base}${path}`)
    const user = getUser()
    const all = { 'Tus-Resumable': '1.0.0', 'Tidings-Client': 'web', ...(user ? { 'Tidings-User': user } : {}), ...common, ...headers }
    for (const [name, value] of Object.entries(all)) request.setRequestHeader(name, value)
    request.upload.onprogress = ({ loaded }) => {
      heard()
      progress?.(loaded)
    }
    request.onload = () => (request.status < 300 ? resolve(request) : reject(new Refusal(request.status, parsed(request.responseText))))
    request.onerror = request.onabort = () => reject(new Unreachable(signal?.reason))
    request.onloadend = () => clearTimeout(silence)
    signal?.addEventListener('abort', () => request.abort(), { once: true })
    heard()
    request.send(body)
  })

  return {
    /** @param {{ name: string, size: number, organisation: string }} file @returns {Promise<string>} The path of the upload. */
    async begin({ name, size, organisation }) {
      const headers = { 'Upload-Length': String(size), 'Upload-Metadata': `filename ${base64(name)}` }
      const request = await ask('POST', `${UPLOADS}?organisation_id=${encodeURIComponent(organisation)}`, { headers })
      const path = request.getResponseHeader('Location')
      // A captive portal answers 200 with a page of its own.
      if (!path?.startsWith(`${UPLOADS}/`)) throw new Unreachable(new SyntaxError('no upload'))
      return path
    },

    /** @param {string} path @returns {Promise<number>} The bytes that have arrived. */
    offset: async path => Number((await ask('HEAD', path)).getResponseHeader('Upload-Offset')),

    /**
     * @param {string} path
     * @param {number} offset
     * @param {Blob} piece
     * @param {{ signal: AbortSignal, progress: (sent: number) => void }} options
     * @returns {Promise<number>} The bytes that have arrived then.
     */
    async append(path, offset, piece, { signal, progress }) {
      const headers = { 'Upload-Offset': String(offset), 'Content-Type': 'application/offset+octet-stream' }
      const arrived = Number((await ask('PATCH', path, { headers, body: piece, signal, progress })).getResponseHeader('Upload-Offset'))
      // What stands between may answer by itself.
      if (arrived !== offset + piece.size) throw new Unreachable(new SyntaxError('no offset'))
      return arrived
    },

    /** @param {string} path */
    end: async path => void (await ask('DELETE', path)),
  }
}

/** @param {string} text */
const base64 = text => btoa(String.fromCharCode(...new TextEncoder().encode(text)))

/** @param {string} text */
function parsed(text) {
  try {
    return JSON.parse(text) ?? {}
  } catch {
    return {}
  }
}
