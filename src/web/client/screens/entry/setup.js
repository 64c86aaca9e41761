// The first administrator, by the link that the server prints at its start.

import { t } from '../../text/words.js'
import { form } from '../../view/form.js'
import { email, names, newPassword, organisationName, value } from './fields.js'
import { card } from './frame.js'
import { checked } from './link.js'
import { logIn } from './session.js'
import { accountOf } from './sign-up.js'

/** @param {import('./entry.js').Way} way */
export const setup = way => checked(way, 'setup', token => card({ title: t('entry.setup_title'), lead: t('entry.setup_lead') },
  form({
    children: [names(way.features), email(), newPassword(way.features), organisationName(t('entry.organisation_hint'))],
    button: t('entry.setup_button'),
    submit: async values => {
      const account = accountOf(values)
      await way.requests.setUpAdministrator({ token, ...account, organisation: value(values, 'organisation') })
      const user = await logIn(way.requests, account.email, account.password)
      await way.arrive(`/o/${user.current_organisation_slug}`)
    },
  })))
