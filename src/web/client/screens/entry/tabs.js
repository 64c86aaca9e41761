// The link in a mail opens another tab. The one that waits for it knows where the person wanted to go, and maybe the password that
// they chose. It answers from its memory: an invitation's address has a token, which no storage may have.

import { onEnd } from '../../base/signal.js'
import { newId } from '../../store/ids.js'
import { isSameAddress, ownPath, rememberedNext } from './memory.js'
import { logIn, whoIsHere } from './session.js'

/**
 * @typedef {import('./entry.js').Way} Way
 *
 * @typedef {object} Question
 * @property {'next' | 'unverified' | 'verify'} ask Where somebody wanted to go; who waits until their address is verified; and that
 *   the tab of such a person verifies it.
 * @property {string} [address] Whose next address.
 * @property {string} [tab] Which tab is to verify.
 * @property {string} [token]
 *
 * @typedef {object} Answer
 * @property {string} [next]
 * @property {string} [address]
 * @property {string} [tab]
 */

const LINE = 'tidings-entry'
const ANSWERS_WITHIN_MS = 300
const VERIFIES_WITHIN_MS = 10_000

/**
 * Asks the other tabs of this browser. Tabs that the browser has put to sleep don't answer.
 *
 * @param {Question} question
 * @param {number} [within] Milliseconds.
 * @returns {Promise<Answer | null>}
 */
function ask(question, within = ANSWERS_WITHIN_MS) {
  const line = new BroadcastChannel(LINE)
  const id = newId()
  return new Promise(resolve => {
    line.addEventListener('message', ({ data }) => { if (data.id === id && data.answer) resolve(data.answer) })
    line.postMessage({ id, question })
    setTimeout(() => resolve(null), within)
  }).finally(() => line.close())
}

/**
 * Answers other tabs for as long as this page is shown.
 *
 * @param {(question: Question) => Answer | null | Promise<Answer | null>} reply
 */
function answer(reply) {
  const line = new BroadcastChannel(LINE)
  onEnd(() => line.close())
  line.addEventListener('message', async ({ data }) => {
    const answer = data.question && await reply(data.question)
    if (!answer) return
    // The answer may have taken this page to its end.
    const back = new BroadcastChannel(LINE)
    back.postMessage({ id: data.id, answer })
    back.close()
  })
}

/**
 * Where somebody wanted to go who signs in by a mail's link.
 *
 * @param {string} address Theirs.
 */
export const wanted = async address => rememberedNext(address) ?? (await ask({ ask: 'next', address }))?.next

/**
 * Waits for the person to come back from their mail. The tab of its link takes over the address that they wanted.
 *
 * @param {Way} way
 * @param {string} address Where the mail goes.
 * @param {string | null} next
 */
export function waitForMail({ requests, arrive }, address, next) {
  let goal = ownPath(next)
  answer(question => {
    if (question.ask !== 'next' || !isSameAddress(question.address, address)) return null
    const answer = { next: goal }
    goal = '/'
    return answer
  })
  const look = () => {
    if (document.visibilityState === 'visible') whoIsHere(requests).then(user => user && arrive(goal)).catch(() => {})
  }
  document.addEventListener('visibilitychange', look)
  onEnd(() => document.removeEventListener('visibilitychange', look))
}

/**
 * Waits until the address of a new account is verified, and does it for the tab of the link, which has no password.
 *
 * @param {Way} way
 * @param {() => { email: string, password: string }} account
 * @param {object} then
 * @param {() => Promise<unknown>} then.goOn Ends the way in this tab.
 * @param {string | null} [then.next] What the other tab opens.
 */
export function waitForVerification({ requests }, account, { goOn, next = null }) {
  const tab = newId()
  answer(async question => {
    const { email, password } = account()
    if (question.ask === 'unverified') return { tab, address: email }
    if (question.ask !== 'verify' || question.tab !== tab) return null
    try {
      await requests.verifyEmail({ token: question.token ?? '', password })
      await logIn(requests, email, password)
      await goOn()
      return { next: ownPath(next) }
    } catch {
      return {}
    }
  })
}

/** The tab that waits for an address to be verified, if there is one. */
export const whoWaits = () => ask({ ask: 'unverified' })

/**
 * Lets the tab that waits verify its address.
 *
 * @param {string | undefined} tab
 * @param {string} token
 * @returns {Promise<string | undefined>} Where the person wanted to go; nothing if it didn't succeed.
 */
export const verifyThere = async (tab, token) => (await ask({ ask: 'verify', tab, token }, VERIFIES_WITHIN_MS))?.next
