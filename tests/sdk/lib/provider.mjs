// A certified OpenID provider on this machine, over HTTPS, with its own pages for people.
import { createServer } from 'node:https'
import Provider from 'oidc-provider'

export const CLIENT = 'tidings'
export const SECRET = 's3cret & more: 100%'

/**
 * Listens at once, and is told of the server's address later by `serve(redirectUri, client, configuration)`: each needs the
 * other's. Whoever logs in as `ada` is Ada.
 */
export async function startProvider(t, { key, cert }) {
  let handler = (_, response) => response.writeHead(503).end()
  const listening = createServer({ key, cert }, (request, response) => handler(request, response))
  await new Promise((resolve, reject) => listening.once('error', reject).listen(0, '127.0.0.1', resolve))
  t.after(() => {
    listening.closeAllConnections()
    listening.close()
  })
  const url = `https://127.0.0.1:${listening.address().port}`
  return {
    url,
    serve(redirectUri, client = { client_secret: SECRET }, configuration = {}) {
      const provider = new Provider(url, {
        clients: [{ client_id: CLIENT, redirect_uris: [redirectUri], ...client }],
        pkce: { required: () => true },
        claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['given_name', 'family_name'] },
        cookies: { keys: ['the tests alone'] },
        findAccount: (_, id) => ({
          accountId: id,
          claims: () => ({ sub: id, email: `${id}@example.org`, email_verified: true, given_name: 'Ada', family_name: 'Lovelace' }),
        }),
        ...configuration,
      })
      handler = provider.callback()
    },
  }
}

/** In a browser: logs in at the provider, and agrees that the server learns who it is; `agrees` is false for who did so before. */
export async function signIn(page, name, agrees = true) {
  await page.fill('[name=login]', name)
  await page.fill('[name=password]', 'any')
  await page.click('button[type=submit]')
  if (agrees) await page.click('button:has-text("Continue")')
}
