// The pages that links in mails, and the one that the server prints at its start, lead to. Opening one uses nothing up: its
// button does.

const parameters = new URLSearchParams(location.search)
const status = document.querySelector('[role=status]')

const post = (path, body, bearer) => send(`/api/v1${path}`, body, bearer)

async function send(path, body, bearer) {
  const headers = { 'Content-Type': 'application/json' }
  if (bearer) headers.Authorization = `Bearer ${bearer}`
  const response = await fetch(path, { method: 'POST', headers, body: JSON.stringify(body) })
  const answer = await response.json()
  if (!response.ok) throw Object.assign(new Error(answer.message), { status: response.status })
  return answer.data
}

/** Shows texts as paragraphs; a pair is a label with something to copy. */
function tell(...lines) {
  status.replaceChildren(...lines.map(line => {
    if (typeof line === 'string') return Object.assign(document.createElement('p'), { textContent: line })
    const label = document.createElement('label')
    const field = Object.assign(document.createElement('input'), { value: line[1], readOnly: true })
    label.append(line[0], ' ', field)
    return label
  }))
}

const welcome = ({ user, access_token: token }) =>
  [`You are logged in as ${user.username}.`, ['Access token, for programs', token]]

function joined(data) {
  for (const form of document.forms) form.hidden = true
  tell('You have joined the organisation.', ...(data.user.password
    ? [['Your e-mail address', data.user.email], ['Your password, shown only now', data.user.password]]
    : welcome(data)))
}

/** Fails unless the two fields for a new password agree. */
function newPassword(form) {
  const password = form.get('password')
  if (password !== form.get('again')) throw new Error('The two passwords differ.')
  return password
}

const actions = {
  'first-administrator': async (token, form) => {
    const { again, ...fields } = Object.fromEntries(form)
    await send('/setup/administrator', { ...fields, token, password: newPassword(form) })
    tell(`The account ${fields.email} administers this server and owns ${fields.organisation}. Log in with it wherever you use this server.`)
  },

  'magic-link': async token => tell(...welcome(await post('/auth/magic-link/verify', { token }))),

  'verify-email': async (token, form) => {
    await post('/auth/email-request/verify', { token, password: form.get('password') })
    tell('Your e-mail address is verified.')
  },

  'reset-password': async (token, form) => {
    await post('/auth/password-reset/verify', { token, new_password: newPassword(form) })
    tell('Your new password is set. Log in with it wherever you use this server.')
  },

  'accept-invitation': async token => {
    try {
      joined(await post('/invite/verify', { token }))
    } catch (failure) {
      if (failure.status !== 401) throw failure
      document.querySelector('[data-action=accept-as-user]').hidden = false
      status.replaceChildren()
    }
  },

  'accept-as-user': async (token, form) => {
    const { access_token: bearer } = await post('/auth/login', { email: form.get('email'), password: form.get('password') })
    joined(await post('/invite/verify', { token }, bearer))
  },

  'join-as-user': async (token, form) => {
    const { access_token: bearer } = await post('/auth/login', { email: form.get('email'), password: form.get('password') })
    joined(await post('/join', { token }, bearer))
  },

  'join-as-new': async (token, form) => {
    const { again, ...fields } = Object.fromEntries(form)
    joined(await post('/join', { ...fields, token, password: newPassword(form) }))
  },
}

for (const form of document.forms) {
  form.addEventListener('submit', async event => {
    event.preventDefault()
    const button = form.querySelector('button')
    button.disabled = true
    try {
      const token = parameters.get('token') ?? parameters.get('invitation_token') ?? ''
      await actions[form.dataset.action](token, new FormData(form))
      form.hidden = true
    } catch (failure) {
      tell(failure.message)
      button.disabled = false
    }
  })
}
