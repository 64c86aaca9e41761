// The secret that signs what a program is sent: shown once, and made anew on demand.

import { openDialog } from '../../view/dialog.js'
import { h } from '../../view/element.js'
import { t } from '../../text/words.js'
import { copyable } from './copyable.js'
import { asking, section } from './parts.js'

/** @param {string | null} secret It is shown this once; null if there is no new one. */
export const showSecret = async secret => {
  if (secret) await openDialog({
    title: t('settings.webhookSecretNew'),
    body: close => [
      copyable(t('settings.webhookSecret'), () => secret, t('settings.webhookSecretOnce')),
      h('div', { class: 'dialog-buttons' },
        h('button', { type: 'button', class: 'button primary', onclick: () => close() }, t('settings.webhookKept'))),
    ],
  })
}

/**
 * @param {string} about What it signs.
 * @param {() => Promise<string | null>} make
 */
export const secretSection = (about, make) => section(t('settings.webhookSecret'),
  h('p', { class: 'quiet' }, about),
  h('p', null, asking(t('settings.webhookRotateSecret'), () => ({
    title: t('settings.webhookRotateSecret'), text: t('programs.commandRotateText'), action: t('settings.webhookRotateSecret'),
  }), async () => showSecret(await make()))))
