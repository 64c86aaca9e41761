// The server of the other tests, and people who talk on it.
import { start as startServer } from '../../sdk/lib/server.mjs'

export { HOST, binary, freePort, root, scratch, until } from '../../sdk/lib/server.mjs'

export const PASSWORD = 'quiet harbour at dawn'

/** A server for one test, gone at its end. It can be ended and launched again, on the same folder and port. */
export const start = (t, ...flags) => startServer(t, ...flags)

/** An account with a bearer for the test's own requests, and `call(method, path, body)` in its name, which answers the data. */
export async function account(server, name, more = {}) {
  const email = `${name}@example.org`
  await server.call('POST', '/auth/register', { body: { email, password: PASSWORD, username: name, ...more } })
  return logIn(server, email)
}

export async function logIn(server, email, password = PASSWORD) {
  const { user, access_token: bearer } = (await server.call('POST', '/auth/login', { body: { email, password } })).data
  const call = async (method, path, body) => (await server.call(method, path, { bearer, body }))?.data
  return { id: user.id, email, password, username: user.username, bearer, call }
}

/** An organisation of the owner, with members who were invited and accepted. Its data has `slug` and `general`, the first channel. */
export async function organisation(owner, members = [], name = 'Harbour') {
  const made = await owner.call('POST', '/organisations', { name })
  for (const member of members) {
    const { token } = await owner.call('POST', `/organisations/${made.id}/join-links`, { uses: 1 })
    await member.call('POST', '/join', { token })
  }
  const [general] = await owner.call('GET', `/organisations/${made.id}/channels`)
  return { ...made, slug: made.organisation_slug, general }
}
