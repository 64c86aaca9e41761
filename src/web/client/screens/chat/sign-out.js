// Signing out. Whoever has unsent posts or drafts decides first whether this device keeps them.

import { t } from '../../text/words.js'
import { openDialog } from '../../view/dialog.js'
import { h } from '../../view/element.js'
import { say } from '../../view/toast.js'
import { wording } from '../../view/wording.js'

/** @param {import('../../store/index.js').Store} store */
export async function signOut(store) {
  const unsent = await store.unsent()
  const what = unsent > 0 ? await ask(unsent) : 'keep'
  if (!what) return
  try {
    await store.signOut({ forget: what === 'erase' })
  } catch (error) {
    say(wording.explain(error))
  }
}

/**
 * @param {number} count
 * @returns {Promise<'keep' | 'erase' | undefined>}
 */
const ask = count => openDialog({
  title: t('talk.signOutTitle'),
  body: close => [
    h('p', null, t('talk.signOutUnsent', { count })),
    h('div', { class: 'dialog-buttons' },
      h('button', { type: 'button', class: 'button danger', onclick: () => close('erase') }, t('talk.signOutErase')),
      h('button', { type: 'button', class: 'button primary', autofocus: true, onclick: () => close('keep') }, t('talk.signOutKeep'))),
  ],
})
