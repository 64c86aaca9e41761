// The people of a channel, beside the talk: looking somebody up, writing to them, adding and removing.

import { batch, signal } from '../../base/signal.js'
import { t } from '../../text/words.js'
import { delayed } from '../../view/delayed.js'
import { h, when } from '../../view/element.js'
import { confirm, openDialog } from '../../view/dialog.js'
import { field, form } from '../../view/form.js'
import { icon } from '../../view/icons.js'
import { list } from '../../view/list.js'
import { paged } from '../../view/paged.js'
import { say } from '../../view/toast.js'
import { face, mark, name, nameOf } from '../face.js'
import { addPeople } from './add-people.js'
import { attempt } from './deeds.js'
import { editChannel } from './edit-channel.js'
import { channelBar, failure, moreButton } from './pane-parts.js'
import { openPersonMenu } from './person-menu.js'
import { statusLine } from './status-sign.js'

/** @typedef {ReturnType<typeof finding>} People */

const PAGE = 50

/**
 * @param {Store} store
 * @param {string} channel
 */
export function membersPane(store, channel) {
  const people = finding(store, channel)
  const details = signal(/** @type {import('#api').components['schemas']['Channel'] | null} */ (null))
  // Without the owner's name the pane offers what the role allows.
  const learn = () => store.api.getChannel(channel, { users: 0 }).then(({ data }) => { details.value = data }, () => {})
  void learn()
  const isOwner = () => details.value != null && details.value.owner_id === store.me.value?.id
  const rights = () => store.organisation.value?.permissions ?? {}
  const mayAdd = () => rights().can_post_messages && store.channel(channel)
  const mayRemove = () => rights().can_manage_channels || (isOwner() && rights().can_post_messages)
  const mayEdit = () => details.value && !details.value.is_dm && (rights().can_manage_channels || (isOwner() && rights().can_post_messages))
  const edit = async () => {
    const known = details.peek()
    if (!known) return
    await editChannel(store, channel, known)
    await learn()
  }
  const add = async () => { if (await addPeople(store, channel)) await people.ask() }
  return h('section', { class: 'column', 'aria-label': t('talk.showMembers') },
    channelBar(store, t('chat.showPeople'), channel),
    h('div', { class: 'pane-body', tabindex: -1 },
      when(() => details.value && !details.value.is_dm, () => about({
        topic: () => store.channel(channel)?.topic ?? details.value?.topic, description: () => details.value?.description, mayEdit, edit,
      })),
      h('div', { class: 'pane-head' },
        h('input', {
          type: 'search', 'aria-label': t('panes.memberSearch'), placeholder: t('panes.memberSearch'),
          autocomplete: 'off', dir: 'auto', maxlength: 256,
          oninput: (/** @type {Event} */ event) => people.look(/** @type {HTMLInputElement} */ (event.currentTarget).value),
        }),
        h('div', { class: 'pane-buttons' },
          when(mayAdd, () => h('button', { type: 'button', class: 'button', onclick: add }, icon('plus'), t('panes.addPeople'))),
          when(() => store.channel(channel), () =>
            h('button', { type: 'button', class: 'button', onclick: () => nameHere(store, channel) }, t('panes.nameHere'))))),
      h('p', { class: 'pane-state quiet small', role: 'status' }, people.state),
      failure(() => people.problem.value, people.ask),
      list(h('ul', { class: 'people', 'aria-label': t('talk.showMembers') }), () => people.rows.value, each => each.id, item =>
        memberRow(store, channel, () => item.value, () => Boolean(mayRemove()), people)),
      when(() => people.next.value, () => moreButton(t('panes.morePeople'), () => people.isBusy.value, people.more))))
}

/**
 * What a channel is for. On a phone its bar has no room for the topic.
 *
 * @param {object} about
 * @param {() => string | undefined} about.topic
 * @param {() => string | undefined} about.description
 * @param {() => unknown} about.mayEdit
 * @param {() => unknown} about.edit
 */
const about = ({ topic, description, mayEdit, edit }) => h('dl', { class: 'about' },
  h('dt', { class: 'quiet small' }, t('panes.topic')),
  h('dd', { dir: 'auto' }, when(topic, () => h('span', null, topic), () => when(mayEdit,
    () => h('button', { type: 'button', class: 'link-button', onclick: edit }, t('panes.addTopic')),
    () => h('span', { class: 'quiet' }, t('panes.noTopic'))))),
  when(description, () => [h('dt', { class: 'quiet small' }, t('panes.description')), h('dd', { dir: 'auto' }, description)]))

/** @param {Member} member */
const personOf = ({ id, username, full_name, user_type }) => ({ user_id: id, username, full_name, user_type })

/**
 * @param {Store} store
 * @param {string} channel
 * @param {() => Member} member
 * @param {() => boolean} mayRemove
 * @param {People} people
 */
function memberRow(store, channel, member, mayRemove, people) {
  const isMe = () => member().id === store.me.value?.id
  const label = () => nameOf(personOf(member()))
  const menu = (/** @type {Event} */ event) => {
    const anchor = /** @type {HTMLElement} */ (event.currentTarget)
    openPersonMenu(store, personOf(member()), anchor, [
      mayRemove() && {
        label: t('panes.removeMember'), icon: 'close', danger: true, run: () => remove(store, channel, member(), people, anchor),
      },
    ])
  }
  return h('li', { class: 'person' },
    () => face(personOf(member())),
    h('div', { class: 'person-name' },
      h('p', null, h('span', { class: 'who' }, () => name(personOf(member()))), () => mark(personOf(member())),
        when(isMe, () => h('span', { class: 'quiet small' }, ` (${t('common.you')})`))),
      h('p', { class: 'quiet small' }, h('bdi', null, () => `@${member().username}`),
        when(() => member().status === 'deactivated', () => ` · ${t('panes.deactivated')}`)),
      () => store.person(member().id).custom_status && h('p', { class: 'small' }, statusLine(store, store.person(member().id)))),
    when(() => !isMe(), () => h('button', {
      type: 'button', class: 'icon-button', 'aria-haspopup': 'menu', 'aria-label': () => t('panes.memberMenu', { name: label() }),
      onclick: menu,
    }, icon('more'))))
}

/**
 * @param {Store} store
 * @param {string} channel
 * @param {Member} member
 * @param {People} people
 * @param {HTMLElement} anchor
 */
async function remove(store, channel, member, people, anchor) {
  const who = nameOf(personOf(member))
  const isSure = await confirm({
    title: t('panes.removeTitle', { name: who }),
    text: t('panes.removeText', { name: store.channel(channel)?.name ?? '' }),
    action: t('panes.removeMember'),
    danger: true,
  })
  if (!isSure) return
  const pane = anchor.closest('.pane-body')
  if (!await attempt(() => store.api.removeChannelMember(channel, member.id))) return
  people.drop(member.id)
  if (pane instanceof HTMLElement) pane.focus()
}

/**
 * The name by which the person is called in this channel alone.
 *
 * @param {Store} store
 * @param {string} channel
 */
async function nameHere(store, channel) {
  const me = store.me.peek()
  const last = store.talk(channel).rows.peek().findLast(each => each.user_id === me?.id && each.user_type === 'user')
  const done = await openDialog({
    title: t('panes.nameHere'),
    body: close => form({
      button: t('common.save'),
      children: [field(t('panes.nameHereLabel'), h('input', {
        name: 'username', required: true, maxlength: 64, autocomplete: 'off', spellcheck: 'false', dir: 'auto',
        value: last?.username || me?.username || '',
      }), t('panes.nameHereHint'))],
      submit: async values => {
        await store.api.updateChannelUsername(channel, { username: String(values.get('username') ?? '').trim() })
        close(true)
      },
    }),
  })
  if (done) say(t('common.saved'))
}

/**
 * @param {Store} store
 * @param {string} channel
 */
function finding(store, channel) {
  const found = paged((/** @type {Record<string, string | number>} */ query) => store.api.listOrganisationMembers(store.organisation.peek()?.id ?? '', query))
  const { rows, total, problem } = found
  let words = ''
  const ask = () => found.ask({ channel_id: channel, page_size: PAGE, ...(words ? { q: words } : {}) })
  const later = delayed(ask)
  void ask()
  return {
    ...found,
    ask,
    look: (/** @type {string} */ text) => {
      words = text.trim()
      later()
    },
    drop: (/** @type {string} */ id) => batch(() => {
      rows.value = rows.peek().filter(each => each.id !== id)
      total.value = Math.max(0, (total.peek() ?? 1) - 1)
    }),
    state: () => {
      if (total.value === null) return problem.value ? '' : t('common.loading')
      return total.value === 0 ? t('panes.nobodyFound') : t('panes.memberCount', { count: total.value })
    },
  }
}
