// A real SMTP server that keeps what it is sent.
import PostalMime from 'postal-mime'
import { SMTPServer } from 'smtp-server'
import { until } from './server.mjs'

const LOGIN = { user: 'tidings', password: 'p@ss/word' }

/**
 * `tls`: 'none', 'starttls' or 'implicit'; with `key` and `cert` of the server.
 * `url`: as `--mail-url` wants it. `mails(to, count)` waits for so many mails to an address, oldest first.
 */
export async function mailServer(t, { tls = 'none', key, cert, port = 0, login = false } = {}) {
  const received = []
  const sessions = []
  const server = new SMTPServer({
    secure: tls === 'implicit',
    key,
    cert,
    disabledCommands: tls === 'none' ? ['STARTTLS'] : [],
    authOptional: !login,
    allowInsecureAuth: true,
    logger: false,
    onConnect: (session, done) => { sessions.push(session); done() },
    onAuth({ username, password }, session, done) {
      const right = username === LOGIN.user && password === LOGIN.password
      done(right ? null : new Error('wrong login'), { user: username })
    },
    onData(stream, session, done) {
      const chunks = []
      stream.on('data', chunk => chunks.push(chunk))
      stream.on('end', async () => {
        const mail = await PostalMime.parse(Buffer.concat(chunks))
        received.push({ ...mail, raw: Buffer.concat(chunks).toString(), secure: session.secure, user: session.user })
        done()
      })
    },
  })
  server.on('error', () => {}) // a client that refuses our certificate is none of the test's failures
  await new Promise((resolve, reject) => server.once('error', reject).listen(port, '127.0.0.1', resolve))
  const stop = () => new Promise(resolve => server.close(resolve))
  t.after(stop)
  const to = address => received.filter(mail => mail.to.some(receiver => receiver.address === address))
  const user = login ? `${LOGIN.user}:${encodeURIComponent(LOGIN.password)}@` : ''
  const at = server.server.address().port
  return {
    port: at,
    url: tls === 'implicit' ? `smtps://${user}127.0.0.1:${at}` : `smtp://${user}127.0.0.1:${at}${tls === 'none' ? '?tls=none' : ''}`,
    stop,
    connections: () => sessions.length,
    received: () => received,
    mails: (address, count) => until(
      () => `${count} mails to ${address}, there are ${to(address).length}`,
      () => to(address).length >= count && to(address),
      30_000,
    ),
  }
}

/** The one link of a mail; the text and the HTML must agree on it. */
export function link(mail) {
  const inText = mail.text.match(/https?:\/\/\S+/g) ?? []
  const inHtml = [...mail.html.matchAll(/href="([^"]*)"/g)].map(match => match[1].replaceAll('&amp;', '&'))
  if (inText.length !== 1 || inHtml.length !== 1 || inText[0] !== inHtml[0]) {
    throw new Error(`not the same one link: ${inText} and ${inHtml}`)
  }
  return new URL(inText[0])
}
