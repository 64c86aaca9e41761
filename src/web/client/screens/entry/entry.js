// Every way into the talk. Each page is a file; the address chooses it.

import { Owner, signal, untracked } from '../../base/signal.js'
import { Refusal } from '../../net/request.js'
import { language } from '../../text/words.js'
import { h } from '../../view/element.js'
import { notKept } from './frame.js'
import { forgotten, reset } from './password.js'
import { forgetAddress, ownPath } from './memory.js'
import { byMail, magicLink } from './mail.js'
import { invitation } from './invitation.js'
import { join } from './join.js'
import { newOrganisation } from './organisation.js'
import { isRefused } from './session.js'
import { setup } from './setup.js'
import { signIn } from './sign-in.js'
import { signUp } from './sign-up.js'
import { verify } from './verify.js'

/**
 * @typedef {ReturnType<typeof import('../../net/request.js').createRequests>} Requests
 * @typedef {import('#api').components['schemas']['Features']} Features
 * @typedef {import('../../view/router.js').Route} Route
 * @typedef {import('../../view/element.js').Child} Child
 *
 * @typedef {object} Way What every page gets.
 * @property {Requests} requests
 * @property {Features} features
 * @property {Route} route The address of this page.
 * @property {(address: string, options?: { replace?: boolean }) => void} go
 * @property {(next?: string | null) => Promise<void>} arrive Ends the way, once a session stands: opens the address that the person
 *   wanted.
 */

/** @type {Record<string, (way: Way) => Child>} */
const PAGES = {
  '/accept_org_invitation': invitation,
  '/auth/login/magic-link': magicLink,
  '/auth/reset-password': reset,
  '/auth/verify-email': verify,
  '/forgotten-password': forgotten,
  '/join': join,
  '/new-organisation': newOrganisation,
  '/setup': setup,
  '/sign-in': signIn,
  '/sign-in/mail': byMail,
  '/sign-up': signUp,
}

/**
 * @param {object} outside
 * @param {Requests} outside.requests Without a user: whose session it is, is what these pages find out.
 * @param {{ readonly value: Route }} outside.route
 * @param {(address: string, options?: { replace?: boolean }) => void} outside.go
 * @param {Features} outside.features
 * @param {(next: string) => unknown} outside.signedIn Called when a session stands, with the address to open.
 * @returns {Node}
 */
export function entry({ requests, route, go, features, signedIn }) {
  const isKept = signal(true)
  const lost = () => { isKept.value = false }
  const whole = new Owner()

  /** One request proves that the browser kept the cookie. */
  const arrive = async (/** @type {string | null | undefined} */ next) => {
    try {
      const { data: profile } = await requests.getProfile()
      const address = ownPath(next)
      forgetAddress()
      // What comes now is another screen: this one follows the address no more.
      whole.end()
      await signedIn(address === '/' && !profile.current_org ? '/new-organisation' : address)
    } catch (error) {
      if (!(error instanceof Refusal && error.status === 401)) throw error
      lost()
    }
  }

  return whole.run(() => h('main', { class: 'entry' }, () => {
    const [here, kept] = [route.value, isKept.value]
    void language.value
    return untracked(() => {
      if (!kept) return notKept(features)
      return PAGES[here.path]?.({ requests: noting(requests, lost), features, route: here, go, arrive })
    })
  }))
}

/**
 * Requests that note when the server takes this page for another site's: its address is not the one that the server is reached at.
 *
 * @param {Requests} requests
 * @param {() => void} note
 * @returns {Requests}
 */
const noting = (requests, note) => new Proxy(requests, {
  get: (all, name) => async (/** @type {any[]} */ ...input) => {
    try {
      return await Reflect.get(all, name)(...input)
    } catch (error) {
      if (isRefused(error, 'foreign_page')) note()
      throw error
    }
  },
})
