// Requests to the API: one function for each operation of operations.js, and two kinds of failure.

import { OPERATIONS } from './operations.js'

/** Longer than every wait of the server's own: past this, nobody answers. */
const TIMEOUT_MS = 30_000

/** @typedef {{ epoch: string, offset: number }} Position In the server's log of events. */

/** @typedef {import('#api').operations} All */

/** @typedef {keyof typeof OPERATIONS & keyof All} Name */

/**
 * The strings that fill the braces of a path.
 *
 * @template {string} P
 * @typedef {P extends `${string}{${string}}${infer Rest}` ? [string, ...Parts<Rest>] : []} Parts
 */

/**
 * The body that an operation takes, or else its query.
 *
 * @template {Name} N
 * @typedef {All[N] extends { requestBody: { content: { 'application/json; charset=utf-8': infer B } } } ? [input: B]
 *   : All[N] extends { requestBody?: { content: { 'application/json; charset=utf-8': infer B } } } ? [input?: B]
 *   : All[N] extends { requestBody: { content: { 'application/octet-stream': any } } } ? [input: Blob]
 *   : All[N] extends { parameters: { query?: infer Q } } ? [input?: Q] : []} Input
 */

/**
 * @template R
 * @typedef {R extends { content: { 'application/json; charset=utf-8': infer E } } ? Unwrapped<E> : never} Held
 */

/**
 * What an envelope holds. Five older lists name it otherwise.
 *
 * @template E
 * @typedef {E extends { data: infer D } ? D : E extends { messages: infer D } ? D : E extends { users: infer D } ? D
 *   : E extends { channels: infer D } ? D : E extends { user_count: infer D } ? D : undefined} Unwrapped
 */

/**
 * @template {Name} N
 * @typedef {All[N]['responses'] extends infer R ? Held<R[Extract<keyof R, 200 | 201>]> : never} Data
 */

/**
 * @template D
 * @typedef {object} Answer
 * @property {D} data What the envelope holds.
 * @property {Position | null} position The position in the log as of which this is the server's state.
 * @property {number} [total] How many rows there are in all, where the list counts them.
 * @property {Record<string, string> | null} next The query of the next page of a list.
 * @property {Record<string, string> | null} previous The query of the page before.
 * @property {number} status 201 where something was made.
 */

/**
 * @typedef {{ [N in Name]: (...input: [...Parts<(typeof OPERATIONS)[N][1]>, ...Input<N>]) => Promise<Answer<Data<N>>> } & {
 *   setUpAdministrator: (first: { token: string, email: string, first_name: string, last_name: string, password: string,
 *     organisation: string }) => Promise<Answer<{}>>,
 *   emoji: () => Promise<Answer<any>>,
 * }} Api
 */

/** The server answered, and refused. `code` is one of docs/errors.md. */
export class Refusal extends Error {
  /**
   * @param {number} status
   * @param {{ code?: string, message?: string, fields?: { field: string, code: string, limit?: number }[], limit?: number,
   *   retry_after?: number }} body
   */
  constructor(status, body) {
    super(body.message ?? `the server answered ${status}`)
    this.name = 'Refusal'
    this.status = status
    this.code = body.code ?? (status >= 500 ? 'internal_error' : 'bad_request')
    this.fields = body.fields ?? []
    this.limit = body.limit
    this.retryAfter = body.retry_after
  }
}

/** The server did not answer: no network, no server, or not in time. */
export class Unreachable extends Error {
  /** @param {unknown} cause */
  constructor(cause) {
    super('the server can not be reached', { cause })
    this.name = 'Unreachable'
  }
}

/** Whether the same request may succeed later. @param {unknown} error */
export const isTransient = error => !(error instanceof Refusal) || error.status === 429 || error.status >= 500

/**
 * @param {object} options
 * @param {string} [options.base] Where the server is; the page's own origin if empty.
 * @param {typeof fetch} [options.fetch]
 * @param {() => string | null | undefined} [options.getUser] The user whom requests are meant for, once known: a session of
 *   somebody else is then refused with `other_user`.
 * @param {Record<string, string>} [options.headers] More headers of each request.
 * @param {(refusal: Refusal) => void} [options.refused] Hears of each refusal of what was meant for a user, before the caller does.
 * @returns {Api}
 */
export function createRequests({ base = '', fetch = globalThis.fetch, getUser = () => null, headers = {},
  refused = () => {} } = {}) {
  /**
   * @param {string} method
   * @param {string} path
   * @param {unknown} [body]
   * @param {boolean} [isAgain]
   * @returns {Promise<Answer<any>>}
   */
  const send = async (method, path, body, isAgain = false) => {
    const user = getUser()
    let response, text
    try {
      response = await fetch(`${base}${path}`, {
        method,
        credentials: 'same-origin',
        headers: {
          'Tidings-Client': 'web',
          ...(user ? { 'Tidings-User': user } : {}),
          ...(body === undefined || body instanceof Blob ? {} : { 'Content-Type': 'application/json' }),
          ...headers,
        },
        body: body === undefined || body instanceof Blob ? body : JSON.stringify(body),
        signal: AbortSignal.timeout(TIMEOUT_MS),
      })
      text = await response.text()
    } catch (error) {
      throw new Unreachable(error)
    }
    const content = parsed(text)
    // A captive portal answers 200 with a page of its own.
    if (response.ok && content === undefined) throw new Unreachable(new SyntaxError(`${path}: no JSON`))
    if (!response.ok) {
      const refusal = new Refusal(response.status, content ?? {})
      // The cookie may have changed while this was on its way, as another tab logged in. Nothing was done, so it is asked again.
      if (user && !isAgain && refusal.status === 401 && refusal.code.startsWith('token_')) return send(method, path, body, true)
      if (user) refused(refusal)
      throw refusal
    }
    return answer(response, content)
  }

  /** @type {Record<string, (...input: any[]) => Promise<Answer<any>>>} */
  const api = {
    setUpAdministrator: first => send('POST', '/setup/administrator', first),
    emoji: () => send('GET', '/api/v1/emoji.json'),
  }
  for (const [name, [method, template]] of Object.entries(OPERATIONS)) {
    const parameters = template.match(/\{\w+\}/g)?.length ?? 0
    api[name] = async (...input) => {
      let part = 0
      const path = template.replace(/\{\w+\}/g, () => segment(String(input[part++])))
      const last = input[parameters]
      return method === 'GET' ? send(method, `/api/v1${path}${query(last)}`) : send(method, `/api/v1${path}`, last)
    }
  }
  return /** @type {Api} */ (/** @type {unknown} */ (api))
}

/** A part of a path. Browsers take `.` and `..` for steps, which would lead to another operation. @param {string} text */
function segment(text) {
  if (text === '.' || text === '..') throw new Refusal(400, { code: 'invalid_characters', message: `${text} is no part of a path` })
  return encodeURIComponent(text)
}

/** @param {string} text */
function parsed(text) {
  try {
    return text === '' ? null : JSON.parse(text)
  } catch {
    // A proxy answers pages of its own.
    return undefined
  }
}

/** @param {Record<string, unknown>} [values] */
function query(values = {}) {
  const given = Object.entries(values).filter(([, value]) => value !== undefined && value !== null && value !== '')
  const search = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString()
  return search && `?${search}`
}

/** @param {Response} response @param {any} content @returns {Answer<any>} */
function answer(response, content) {
  const { data: held, messages, users, channels, user_count: count, status_code: isEnvelope } = content ?? {}
  const data = held ?? messages ?? users ?? channels ?? count ?? (isEnvelope ? undefined : content)
  return {
    data,
    status: response.status,
    position: position(response.headers.get('Tidings-Position')),
    total: content?.pagination?.total_items,
    next: linked(response, 'next'),
    previous: linked(response, 'prev'),
  }
}

/** @param {string | null} header @returns {Position | null} */
function position(header) {
  const at = header?.lastIndexOf(':') ?? -1
  return header && at > 0 ? { epoch: header.slice(0, at), offset: Number(header.slice(at + 1)) } : null
}

/** The query of a page that the header `Link` leads to. @param {Response} response @param {string} relation */
function linked(response, relation) {
  const links = response.headers.get('Link')?.matchAll(/<([^>]*)>[^,]*?rel="?(\w+)"?/g) ?? []
  const found = [...links].find(([, , kind]) => kind === relation)
  return found ? Object.fromEntries(new URL(found[1], 'http://server').searchParams) : null
}
