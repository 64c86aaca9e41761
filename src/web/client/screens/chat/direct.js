// Writing to one or several people.

import { t } from '../../text/words.js'
import { openDialog } from '../../view/dialog.js'
import { form } from '../../view/form.js'
import { directMessage, show } from './opening.js'
import { personPicker } from './person-picker.js'

/** The others in a direct message: the server's own bound. */
const MOST = 8

/** @param {import('../../store/index.js').Store} store */
export async function openDirect(store) {
  /** @type {string | undefined} */
  const goal = await openDialog({
    title: t('talk.writeTo'),
    body: close => {
      const picker = personPicker(store, { label: t('chat.toWhom'), most: MOST })
      return form({
        button: t('chat.openDirect'),
        children: [picker.node],
        isReady: () => picker.chosen.value.length > 0,
        submit: async () => close(await directMessage(store, picker.chosen.peek().map(each => each.user_id))),
      })
    },
  })
  if (goal) await show(store, goal)
}
