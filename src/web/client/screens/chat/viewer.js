// One picture over the whole window, with those of its channel before and after it. It is a part of the address: "back" closes it.

import { computed, effect, signal } from '../../base/signal.js'
import { dayAndTimeOf, fullTime } from '../../text/dates.js'
import { t } from '../../text/words.js'
import { openDialog } from '../../view/dialog.js'
import { h, when } from '../../view/element.js'
import { icon } from '../../view/icons.js'
import { go } from '../../view/router.js'
import { say } from '../../view/toast.js'
import { address, addressWithView, place } from '../addresses.js'
import { nameOf } from '../face.js'
import { copyPlace, pressed, source } from './media.js'
import { zooming } from './zooming.js'

/** @typedef {import('./media.js').Media} Media */

/** Pictures that one request brings, and how many pages are looked through for the one that an address names. */
const PAGE = 100
const PAGES = 10

/** Whether the viewer is open: one shows all pictures. */
let isOpen = false

/** Shows the picture that the address names, until the address names none. @param {Store} store */
export async function view(store) {
  const { view: id, channel: open } = place()
  const channel = pressed(id)?.channel_id ?? open
  if (isOpen || !channel || channel === 'threads') return
  isOpen = true
  const shown = pictures(store, String(channel))
  const title = () => h('bdi', null, () => shown.picture.value?.file_name ?? t('panes.viewer'))
  try {
    await openDialog({ title: title(), className: 'viewer', body: close => stage(store, shown, () => close()) })
  } finally {
    isOpen = false
    leave()
  }
}

/** Takes the picture out of the address, as "back" does where it came by a press. */
function leave() {
  if (!place().view) return
  if (history.state?.isViewer) history.back()
  else go(addressWithView(null), { replace: true })
}

/** The pictures of a channel, the newest first, as far as they are known, and the one that is shown. @param {Store} store @param {string} channel */
function pictures(store, channel) {
  const all = signal(/** @type {Media[]} */ ([]))
  const isDone = signal(false)
  let [page, isFinding] = [0, false]
  const id = computed(() => place().view)
  const at = computed(() => all.value.findIndex(each => each.id === id.value))
  const picture = computed(() => all.value[at.value] ?? pressed(id.value) ?? null)
  async function more() {
    page += 1
    const { data, next } = await store.api.listChannelFiles(channel, { type: 'image', limit: PAGE, page })
    const known = new Set(all.peek().map(each => each.id))
    all.value = [...all.peek(), .../** @type {Media[]} */ (data).filter(each => each.color && !known.has(each.id))]
    isDone.value = !next || page >= PAGES
  }
  /** Looks until the picture is among those that are known, with one before it. */
  async function find() {
    if (isFinding) return
    isFinding = true
    try {
      while (!isDone.peek() && (at.peek() < 0 || at.peek() >= all.peek().length - 1)) await more()
    } catch {
      isDone.value = true // it is shown all the same, without those around it
    }
    isFinding = false
  }
  /** @param {number} step */
  function show(step) {
    const other = all.peek()[at.peek() + step]
    if (at.peek() < 0 || !other) return
    go(addressWithView(other.id), { replace: true, state: history.state })
    void find()
  }
  void find()
  return {
    picture, isDone,
    isGone: computed(() => isDone.value && !picture.value),
    hasOlder: computed(() => at.value >= 0 && at.value < all.value.length - 1),
    hasNewer: computed(() => at.value > 0),
    older: () => show(1),
    newer: () => show(-1),
  }
}

/** @param {Store} store @param {ReturnType<typeof pictures>} shown @param {() => void} close */
function stage(store, shown, close) {
  effect(() => {
    if (shown.isGone.value) say(t('panes.viewerGone'))
    if (!place().view || shown.isGone.value) queueMicrotask(close)
  })
  const picture = () => /** @type {Media & { user_id: string, channel_id: string, message_id: string, created_at: string }} */ (shown.picture.value)
  const who = () => nameOf(store.person(picture().user_id))
  const message = () => address(store, { channel: picture().channel_id, message: picture().message_id })
  return when(() => shown.picture.value, () => [
    h('div', { class: 'viewer-stage' },
      zooming(() => fileOf(picture()), { older: shown.older, newer: shown.newer }),
      step('viewer-older', t('panes.viewerPrevious'), () => shown.hasOlder.value, shown.older),
      step('viewer-newer', t('panes.viewerNext'), () => shown.hasNewer.value, shown.newer)),
    h('footer', { class: 'viewer-foot' },
      h('div', { class: 'viewer-facts' },
        h('p', { class: 'viewer-description', hidden: () => !picture().description }, h('bdi', null, () => picture().description)),
        h('p', { class: 'quiet small' }, h('bdi', null, who), ' · ', h('time', { datetime: () => picture().created_at, title: () => fullTime(picture().created_at) }, () => dayAndTimeOf(picture().created_at)))),
      h('a', { class: 'button', href: () => source(picture()), download: () => picture().file_name }, t('panes.viewerDownload')),
      h('a', { class: 'button', href: message }, t('panes.viewerMessage'))),
  ])
}

/** What is shown of a picture: its copy, and itself where that is not sharp enough, or moves. @param {Media} media */
const fileOf = media => ({
  copy: media.animated ? source(media) : copyPlace(media, media.preview_link),
  whole: source(media),
  width: Number(media.width), height: Number(media.height), label: media.description || media.file_name,
})

/** @param {string} style @param {string} label @param {() => boolean} isThere @param {() => void} run */
const step = (style, label, isThere, run) =>
  h('button', { type: 'button', class: `icon-button ${style}`, 'aria-label': label, title: label, hidden: () => !isThere(), onclick: run }, icon('back'))
