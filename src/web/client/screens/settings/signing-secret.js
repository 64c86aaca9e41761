// The secret that signs what a program is sent: shown once, and made anew on demand.

import { openDialog } from '../../view/dialog.js'
import { h } from '../../view/element.js'
import { t } from '../../text/words.js'
import { copyable } from './copyable.js'
import { asking, section, time } from './parts.js'

/**
 * @param {string | null} secret It is shown this once; null if there is no new one.
 * @param {string} [until] When the former secret stops being valid, in RFC 3339.
 */
export const showSecret = async (secret, until) => {
  if (secret) await openDialog({
    title: t('settings.webhookSecretNew'),
    body: close => [
      copyable(t('settings.webhookSecret'), () => secret, t('settings.webhookSecretOnce')),
      until && h('p', { class: 'quiet small' }, t('settings.webhookSecretUntil'), ' ', time(until)),
      h('div', { class: 'dialog-buttons' },
        h('button', { type: 'button', class: 'button primary', onclick: () => close() }, t('settings.webhookKept'))),
    ],
  })
}

/**
 * @param {object} texts
 * @param {string} texts.about What it signs.
 * @param {string} texts.renewing What happens to the former secret.
 * @param {() => Promise<{ secret: string | null, until?: string }>} renew
 */
export const secretSection = ({ about, renewing }, renew) => section(t('settings.webhookSecret'),
  h('p', { class: 'quiet' }, about),
  h('p', null, asking(t('settings.webhookRotateSecret'), () => ({
    title: t('settings.webhookRotateSecret'), text: renewing, action: t('settings.webhookRotateSecret'),
  }), async () => {
    const { secret, until } = await renew()
    await showSecret(secret, until)
  })))
