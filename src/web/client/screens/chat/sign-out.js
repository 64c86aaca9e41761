// Signing out. Whoever has unsent posts or drafts learns first what they would lose sight of.

import { t } from '../../text/words.js'
import { confirm } from '../../view/dialog.js'
import { say } from '../../view/toast.js'
import { wording } from '../../view/wording.js'

/** @param {import('../../store/index.js').Store} store */
export async function signOut(store) {
  const unsent = await store.unsent()
  if (unsent > 0 && !await confirm({
    title: t('talk.signOutTitle'), text: t('talk.signOutUnsent', { count: unsent }), action: t('talk.signOut'), danger: true,
  })) return
  try {
    await store.signOut()
  } catch (error) {
    say(wording.explain(error))
  }
}
