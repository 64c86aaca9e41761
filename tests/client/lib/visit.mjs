// People with a session by cookie, as in a browser, and stores of theirs.
import { WebSocket as Socket } from 'ws'
import { createRequests } from '../../../src/web/client/net/request.js'
import { openStore } from '../../../src/web/client/store/index.js'
import { memoryStorage } from '../../../src/web/client/store/storage.js'

const PASSWORD = 'quiet harbour at dawn'

/** `fetch` with the cookies of one browser. */
export function browserFetch() {
  const jar = new Map()
  return async (address, { headers, ...options }) => {
    const cookie = [...jar].map(([name, value]) => `${name}=${value}`).join('; ')
    const response = await fetch(address, { ...options, headers: { ...headers, Cookie: cookie } })
    for (const line of response.headers.getSetCookie()) {
      const [, name, value] = /^([^=]+)=([^;]*)/.exec(line)
      if (value === '') jar.delete(name)
      else jar.set(name, value)
    }
    return response
  }
}

/** Sockets that a test can cut, and keep from opening. */
export function network() {
  const open = new Set()
  const state = { isDown: false }
  class Cuttable extends Socket {
    constructor(address) {
      super(state.isDown ? 'ws://127.0.0.1:9/' : address)
      open.add(this)
      this.on('close', () => open.delete(this))
      this.on('error', () => {})
    }
  }
  return {
    WebSocket: Cuttable,
    cut: () => {
      for (const socket of open) socket.terminate()
    },
    /** @param {boolean} isDown */
    set isDown(isDown) {
      state.isDown = isDown
      if (isDown) this.cut()
    },
  }
}

/** Registers somebody and logs them in by cookie, in a browser of their own. */
export async function visit(server, name, fetch = browserFetch()) {
  const api = createRequests({ base: server.url, fetch })
  const email = `${name}@example.org`
  await api.register({ email, password: PASSWORD, username: name })
  const { data } = await api.logIn({ email, password: PASSWORD, cookie: true })
  // Joining ends a session and begins another: people follow links in mails on a device of their own.
  const mail = await createRequests({ base: server.url }).logIn({ email, password: PASSWORD })
  let bearer = mail.data.access_token
  const join = async token => {
    const elsewhere = createRequests({ base: server.url, headers: { Authorization: `Bearer ${bearer}` } })
    const { data } = await elsewhere.acceptInvitation({ token })
    bearer = data.access_token
  }
  return { ...person(server, name, fetch, data.user.id), join }
}

function person(server, name, fetch, id) {
  const api = createRequests({ base: server.url, fetch, getUser: () => id })
  return {
    name, id, api, fetch,
    /** A store as a tab has it. Tabs that get the same `storage` share it. */
    store({ storage = memoryStorage(), line = network(), ...options } = {}) {
      const store = openStore({ base: server.url, fetch, WebSocket: line.WebSocket, storage, locks: undefined, ...options })
      return Object.assign(store, { line, storage })
    },
  }
}

/** An organisation of the first with all of them in it, and its default channel. */
export async function team(people, name = 'Engines') {
  const [owner, ...others] = people
  const { data: organisation } = await owner.api.createOrganisation({ name, email: 'engines@example.org' })
  for (const other of others) {
    const { data } = await owner.api.createInvitations({ org_id: organisation.id, emails: [`${other.name}@example.org`] })
    await other.join(data.invitations[0].invite_token)
  }
  const { data: channels } = await owner.api.listOwnChannels(organisation.id)
  return { id: organisation.id, slug: organisation.organisation_slug, channel: channels[0].id }
}
