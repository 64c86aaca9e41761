// The talk: sidebar, conversation, and what is open beside it.

import { computed, currentOwner, effect, onEnd, signal, untracked } from '../../base/signal.js'
import { Refusal } from '../../net/request.js'
import { loadWords, t } from '../../text/words.js'
import { h, when } from '../../view/element.js'
import { go } from '../../view/router.js'
import { say } from '../../view/toast.js'
import { wording } from '../../view/wording.js'
import { address, isTalk, place } from '../addresses.js'
import { conversation } from './conversation.js'
import { keys } from './keys.js'
import { lastChannel, rememberChannel } from './last-channel.js'
import { lazy } from './lazy.js'
import { sidebar } from './sidebar.js'
import { thread } from './thread.js'

/** Below this, one column is shown at a time. */
const narrow = matchMedia('(max-width: 700px)')
/** Below this, what is beside the talk is shown in its place. */
const medium = matchMedia('(max-width: 1100px)')

/** @param {Store} store */
export function chat(store) {
  const [isNarrow, isMedium] = [matching(narrow), matching(medium)]
  onEnd(keys(store))
  takeDropped()

  effect(() => {
    const { slug, channel, list } = place()
    const open = store.organisation.value
    // Another screen comes up, maybe after its modules.
    if (!isTalk()) return
    untracked(() => {
      if (slug && open && slug !== open.organisation_slug) void switchTo(store, slug, channel)
      else if (!slug || (!channel && !(list && isNarrow.value))) goHome(store)
      else if (channel && channel !== 'threads') rememberChannel(store.me.peek()?.id ?? '', open?.id ?? '', channel)
    })
  })

  const channel = computed(() => place().channel ?? null)
  effect(() => {
    if (place().view && channel.value) untracked(() => void withWords(import('./viewer.js')).then(it => it.view(store), () => {}))
  })

  const beside = computed(() => {
    const { thread: id, pane, search } = place()
    return id ? `thread ${id}` : search != null ? 'search' : pane ?? null
  })
  const pane = () => beside.value ? 'beside' : channel.value ? 'main' : 'side'

  return h('div', { class: 'app', 'data-pane': pane },
    sidebar(store, () => isNarrow.value && pane() === 'side' ? 'main' : 'navigation'),
    h('main', { class: 'main', id: 'main' }, () => {
      const id = channel.value
      return untracked(() => id === 'threads' ? lazy(() => withWords(import('./my-threads.js')).then(it => () => it.myThreads(store))) : id && conversation(store, id))
    }),
    when(() => beside.value, () => h('section', { class: 'beside', role: () => isMedium.value ? 'main' : 'complementary', 'aria-label': t('talk.beside') }, () => {
      const [what = '', id] = beside.value?.split(' ') ?? []
      // The search stays as it is while its results are opened.
      const at = what === 'search' ? null : channel.value
      return untracked(() => besidePane(store, what, id, at))
    })))
}

/** Follows files over the page, once there is a pointer. */
function takeDropped() {
  const owner = currentOwner()
  const signs = /** @type {const} */ (['pointermove', 'dragenter'])
  const forget = () => signs.forEach(sign => document.removeEventListener(sign, load))
  const load = () => {
    forget()
    void import('./dropping.js').then(it => owner?.run(() => it.dropping()), () => {})
  }
  signs.forEach(sign => document.addEventListener(sign, load))
  onEnd(forget)
}

/**
 * Whether the window is as a query says.
 *
 * @param {MediaQueryList} query
 */
function matching(query) {
  const now = signal(query.matches)
  const follow = () => { now.value = query.matches }
  query.addEventListener('change', follow)
  onEnd(() => query.removeEventListener('change', follow))
  return now
}

/**
 * @param {Store} store
 * @param {string} what
 * @param {string | undefined} id
 * @param {string | null} channel
 */
function besidePane(store, what, id, channel) {
  if (what === 'search') return lazy(() => withWords(import('./search.js')).then(it => () => it.searchPane(store)))
  if (!channel) return null
  if (what === 'thread' && id) return thread(store, channel, id)
  if (what === 'pins') return lazy(() => withWords(import('./pins.js')).then(it => () => it.pinsPane(store, channel)))
  if (what === 'files') return lazy(() => withWords(import('./files.js')).then(it => () => it.filesPane(store, channel)))
  if (what === 'members') return lazy(() => withWords(import('./members.js')).then(it => () => it.membersPane(store, channel)))
  return null
}

/**
 * A module of the panes, once their words are there as well.
 *
 * @template T
 * @param {Promise<T>} module
 */
const withWords = async module => {
  const [it] = await Promise.all([module, loadWords('panes')])
  return it
}

/**
 * Opens another organisation. Where that fails, the open one stays, and the person is told why.
 *
 * @param {Store} store
 * @param {string} slug
 * @param {string} [channel]
 */
async function switchTo(store, slug, channel) {
  try {
    await store.open({ slug, channel: channel === 'threads' ? undefined : channel })
  } catch (error) {
    if (!(error instanceof Refusal) || error.status !== 404) say(wording.explain(error))
    go('/', { replace: true })
  }
}

/**
 * Opens the channel that was open last, or the first one.
 *
 * @param {Store} store
 */
function goHome(store) {
  const open = store.organisation.peek()
  if (!open) return
  const known = lastChannel(store.me.peek()?.id ?? '', open.id)
  const channels = store.channels.peek()
  const channel = (known && store.channel(known) ? known : null) ?? channels.find(({ name }) => name === 'general')?.id ?? channels[0]?.id ?? store.directMessages.peek()[0]?.id
  go(channel ? address(store, { channel }) : address(store, { channel: 'threads' }), { replace: true })
}
