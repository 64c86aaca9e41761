// Words of writing, of what is done with messages, and of the talk's dialogs.

/** @type {import('../../text/words.js').Area} */
export default {
  send: 'Send',
  left: { one: '{count} character left', other: '{count} characters left' },
  completions: 'Suggestions',
  notSent: 'Not sent: {why}',
  sendAgain: 'Send again',
  discard: 'Discard',
  sending: 'Is being sent.',
  editLabel: 'Edit the message',
  react: 'React',
  reactionOf: '{emoji}: {names}',
  replyInThread: 'Reply in thread',
  more: 'More',
  pin: 'Pin',
  unpin: 'Unpin',
  markUnread: 'Mark as unread from here',
  copyLink: 'Copy link',
  copyText: 'Copy text',
  deleteTitle: 'Delete this message?',
  deleteText: 'It disappears for everybody.',
}
