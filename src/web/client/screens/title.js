// What calls the person, over all their organisations: in the title of the page, and on the badge of the installed app.

import { effect } from '../base/signal.js'
import { t } from '../text/words.js'
import { delayed } from '../view/delayed.js'
import { pageTitle, titleMark } from '../view/title.js'
import { place } from './addresses.js'

/** Longer than it takes to read what arrives in the open channel: nothing is to blink. Milliseconds. */
const SETTLES_AFTER = 500

/** @param {Store} store */
export function followTitle(store) {
  effect(() => {
    const { slug, channel } = place()
    const here = channel && channel !== 'threads' ? store.channel(channel)?.title : null
    const name = [here, store.organisation.value?.name].filter(Boolean).join(' · ')
    // The settings and the ways in have titles of their own.
    if (store.ended.value) pageTitle.value = t('common.tidings')
    else if (slug) pageTitle.value = name || t('common.tidings')
  })

  let latest = { count: -1, isUnread: false }
  const settle = delayed(() => {
    const { count, isUnread } = latest
    titleMark.value = count > 0 ? `(${count})` : isUnread ? '•' : ''
    if (!('setAppBadge' in navigator)) return
    const shown = count > 0 ? navigator.setAppBadge(count) : isUnread ? navigator.setAppBadge() : navigator.clearAppBadge()
    void shown.catch(() => {})
  }, SETTLES_AFTER)
  effect(() => {
    const now = unread(store)
    if (now.count === latest.count && now.isUnread === latest.isUnread) return
    latest = now
    settle()
  })
}

/** Mentions, posts in direct messages and reminders that are due; and whether anything is unread. @param {Store} store */
function unread(store) {
  if (store.ended.value) return { count: 0, isUnread: false }
  const all = store.organisations.value
  return {
    count: all.reduce((sum, each) => sum + each.mention_count + (each.direct_count ?? 0), store.reminders.due.value),
    isUnread: store.threadsUnread.value > 0 || all.some(each => each.unread_count > 0),
  }
}
