// The store: all that the client knows, as signals, and what people do with it. It needs no document, so that node can run it.
//
// State is fetched once and then pushed: what is fetched says its position in the server's log, the connection goes on from there, and
// events.js alone applies what it brings.

import { batch, computed, effect, signal } from '../base/signal.js'
import { clock as realClock, pause } from '../base/clock.js'
import { createPush } from '../net/push.js'
import { createRequests } from '../net/request.js'
import { createChannels } from './channels.js'
import { createCommands } from './commands.js'
import { tabsOf } from './drafts.js'
import { databaseStorage } from './database.js'
import { apply } from './events.js'
import { createKept, keptStart } from './kept.js'
import { createLoading } from './loading.js'
import { createMessages } from './messages.js'
import { createMyThreads } from './my-threads.js'
import { createOpening } from './opening.js'
import { createNotified } from './notified.js'
import { createOrganisations } from './organisations.js'
import { createPeople } from './people.js'
import { createRecorder } from './positions.js'
import { createReading } from './reading.js'
import { createReminders } from './reminders.js'
import { createRetrying } from './retrying.js'
import { endOf, socketUrl } from './session.js'
import { createStreams } from './streams.js'
import { createWriting } from './writing.js'

/** Until then what the first screen shows has been asked for. Milliseconds. */
const SOON_MS = 500

/** @typedef {import('./session.js').Ended} Ended */
/** @typedef {import('./session.js').Parts} Parts */

/**
 * @param {object} [options]
 * @param {string} [options.base]
 * @param {typeof fetch} [options.fetch]
 * @param {typeof WebSocket} [options.WebSocket]
 * @param {typeof XMLHttpRequest} [options.XMLHttpRequest]
 * @param {import('../base/clock.js').Clock} [options.clock]
 * @param {import('./storage.js').Storage} [options.storage]
 * @param {LockManager} [options.locks]
 * @param {typeof tabsOf} [options.tabs]
 * @param {typeof createRequests} [options.requests]
 * @param {Record<string, string>} [options.headers]
 */
export function openStore({ base = '', fetch, WebSocket = globalThis.WebSocket, XMLHttpRequest = globalThis.XMLHttpRequest, clock = realClock,
  storage = databaseStorage(), locks = globalThis.navigator?.locks, tabs = tabsOf, requests = createRequests, headers } = {}) {
  const me = signal(/** @type {any} */ (null))
  const ended = signal(/** @type {Ended} */ (null))
  /** The server's build of the client. */
  const build = signal(/** @type {string | null} */ (null))
  const mayFound = signal(false)
  let pushUrl = '/connection/websocket'
  const isOver = () => ended.peek() !== null
  const retrying = createRetrying({ clock, isOver })
  const myId = () => me.peek()?.id ?? ''

  const api = requests({ base, fetch, headers, getUser: () => me.peek()?.id, refused: refusal => {
    const how = endOf(refusal)
    if (how) end(how)
  } })

  /** @type {(user: string) => void} */
  let userKnown = () => {}
  /** @type {Promise<string>} */
  const user = new Promise(resolve => void (userKnown = resolve))

  const kept = createKept({ storage, clock })
  const recorder = createRecorder(heard => apply(parts, heard.data, heard.position, heard.channel))
  const channels = createChannels({ me: myId, came: (channel, isNew) => came(channel, isNew) })
  const organisations = createOrganisations({ channels })
  const opened = () => organisations.opened.peek() ?? undefined
  const people = createPeople({ api, organisation: opened, recorder, clock })
  /** @param {any} message */
  const seen = message => {
    people.hint(message)
    message.participants?.forEach(people.hint)
  }
  const streams = createStreams({ api, push: () => push })
  const messages = createMessages({ api, streams, recorder, clock, seen, kept, organisation: opened })
  const threads = createMyThreads({ api, organisation: () => opened() ?? null, recorder, clock, retrying, seen })
  const reading = createReading({ api })
  const commands = createCommands({ api, organisation: opened, clock })
  const reminders = createReminders({ api, recorder })
  const notified = createNotified()
  const writing = createWriting({ base, headers, XMLHttpRequest, api, myId, user, storage, clock, locks, tabs,
    confirmed: (message, { channel, thread }) => messages.peek(channel, thread)?.posted(message, null) })
  const { drafts, uploads, outgoing } = writing

  let isKnown = false
  /** @param {any} start */
  const started = start => {
    if (!isKnown) {
      kept.begin(start.user.id)
      void pause(clock, SOON_MS).then(loadReminders)
    }
    isKnown = true
    userKnown(start.user.id)
    me.value = start.user
    build.value = start.client_build ?? null
    mayFound.value = Boolean(start.can_create_organisations)
    pushUrl = start.push_url ?? pushUrl
    people.rename(start.user)
    streams.keepTokens(start.tokens)
  }
  /** The user is in a channel, perhaps again. @param {string} channel @param {boolean} isNew */
  const came = (channel, isNew) => {
    if (!isNew && !streams.peek(channel)?.isGone.peek()) return
    streams.peek(channel)?.revive()
    messages.revive(channel)
    // Threads of a channel that one comes back to are one's own again.
    const isHere = channels.peek(channel)?.organisation_id === opened()
    if (isNew && isHere && threads.state.peek() === 'current') retrying('threads', threads.load)
  }
  const loading = createLoading({ api, retrying, recorder, channels, organisations, started, listed: () => void prune() })
  const prune = () => kept.prune((channel, organisation) =>
    organisations.has(organisation) && (!organisations.isLoaded(organisation) || channels.peek(channel) !== null))

  const loadReminders = () => retrying('reminders', reminders.load)
  /** @type {Parts} */
  const parts = {
    me, channels, organisations, people, messages, threads, commands, reminders, notified,
    leave(id, isOut) {
      channels.remove(id)
      if (!isOut) return
      kept.drop(id)
      streams.of(id).lose()
      push.unsubscribe(id)
      threads.dropChannel(id)
    },
    leaveOrganisation(id) {
      organisations.remove(id)
      void prune()
    },
    came: channel => came(channel, false),
    fetchChannel: loading.channel,
    fetchCounts: loading.organisation,
    fetchStart: loading.organisation,
    refresh: loading.refresh,
  }

  /** @param {string} stream @returns {string | null} The organisation, if it is one of the user's own streams. */
  const ownStream = stream => {
    const [name, user] = stream.split('/')
    return user || name === myId() || organisations.has(name) || ownNames.has(name) ? name : null
  }
  /** @type {Set<string>} */
  const ownNames = new Set()

  const push = createPush({
    url: () => socketUrl(base, pushUrl),
    WebSocket,
    clock,
    getToken: async () => (await api.createConnectionToken({ streams: 'own' })).data.token,
    getTokens: streams.getTokens,
    heard: {
      published(channel, data, position) {
        const heard = { channel, data, position }
        recorder.note(heard)
        apply(parts, data, position, channel)
        const message = data?.notification_type === 'reply_count_change' ? data.data : data
        if (message?.user_id === myId()) outgoing.arrived(message)
      },
      caughtUp(channel, recovered) {
        const own = ownStream(channel)
        if (own === null) {
          streams.of(channel).isCurrent.value = true
          if (!recovered) messages.lose(channel)
        } else if (!recovered) {
          if (organisations.has(own) || own === myId()) lose()
          else loading.refresh()
        }
      },
      gone(channel) {
        const own = ownStream(channel)
        if (own === null) streams.of(channel).lose()
        else if (own !== myId()) organisations.remove(own)
      },
    },
  })

  /** What happened on the user's own streams is not known. */
  const lose = () => {
    organisations.unload(opened() ?? null)
    people.forget()
    loading.refresh()
    loadReminders()
    if (threads.state.peek() !== 'loading') threads.load()
  }

  /** @param {Ended} how */
  const end = how => {
    if (isOver()) return
    batch(() => {
      ended.value = how
      push.stop()
      writing.end()
    })
    kept.end()
  }

  effect(() => {
    const { state } = push.connection.value
    if (state === 'live') writing.wake()
    else streams.pause()
  })

  /** @param {string} id An organisation. */
  const show = id => {
    if (opened() === id) return
    batch(() => {
      organisations.opened.value = id
      people.forget()
      threads.forget()
    })
    threads.loadSoon()
    // The next visit begins here; that it could not be noted harms nobody.
    if (me.peek().current_org !== id) api.switchOrganisation({ current_org: id }).catch(() => {})
  }

  let isConnected = false
  /** @param {string | null} token @param {[string, Position | null][]} positions */
  const connect = (token, positions) => {
    for (const [name] of positions) ownNames.add(name.split('/')[0])
    if (isConnected) return
    isConnected = true
    push.start(token, positions)
    writing.resume()
    kept.keepStart(() => keptStart(me.value, organisations.organisations.value, organisations.organisation.value, channels, push))
  }

  return {
    api, me, ended, build, mayFound, drafts, uploads, threads, outgoing, messages, commands, reminders, notified,
    connection: push.connection,
    organisations: organisations.organisations,
    organisation: organisations.organisation,
    ...channels.lists(() => organisations.opened.value),
    /** Replies in threads, but of muted channels mentions alone. */
    threadsUnread: computed(() => threads.rows.value.reduce((sum, { channel_id: id, unread_count: unread, mention_count: mentions }) =>
      sum + (channels.channel(id)?.is_muted ? mentions : unread), 0)),
    /** Whether drafts and unsent posts outlive the tab. */
    keeps: () => storage.lasts,

    ...createOpening({ parts, loading, kept, isOver, isKnown: () => isKnown, started, show, connect }),

    /** @param {string} id @returns {import('./channels.js').Channel | null} Reactive. */
    channel: id => channels.channel(id),
    /** @param {string} id @returns {import('./people.js').Person} Reactive. */
    person: id => people.person(id),
    findPeople: people.find,
    knownPeople: people.known,
    /** @param {string} channel */
    talk: channel => messages.talk(channel),
    /** @param {string} channel @param {string} thread */
    thread: (channel, thread) => messages.thread(channel, thread),

    ...reading,

    /** Something says that the world has changed: the network is back, or the tab is looked at. */
    wake() {
      push.wake()
      writing.wake()
    },

    /** How much unsent writing signing out would leave behind. */
    unsent: writing.unsent,

    /** @param {{ forget?: boolean }} [how] Whether drafts and unsent posts are erased, too. */
    async signOut({ forget = false } = {}) {
      await api.logOut()
      if (forget) await writing.forget()
      end('signed-out')
      await kept.end()
    },

    /** Stops without a word to the server, as a closed tab does. */
    close: () => {
      push.stop()
      writing.close()
      kept.stop()
    },
  }
}

/** @typedef {ReturnType<typeof openStore>} Store */
/** @typedef {import('./talk.js').Talk} Talk */
/** @typedef {import('./rows.js').Message} Message */
/** @typedef {import('./channels.js').Channel} Channel */
/** @typedef {import('./people.js').Person} Person */
/** @typedef {import('./outgoing.js').Pending} Pending */
/** @typedef {import('./uploads.js').Upload} Upload */
/** @typedef {import('./organisations.js').Summary} Organisation */
/** @typedef {import('../net/push.js').Connection} Connection */
