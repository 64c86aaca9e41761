// Words of writing, of what is done with messages, and of the talk's dialogs.

/** @type {import('../../text/words.js').Area} */
export default {
  send: 'Senden',
  left: { one: 'noch {count} Zeichen', other: 'noch {count} Zeichen' },
  completions: 'Vorschläge',
  notSent: 'Nicht gesendet: {why}',
  sendAgain: 'Noch einmal senden',
  discard: 'Verwerfen',
  sending: 'Wird gesendet.',
  editLabel: 'Nachricht bearbeiten',
  react: 'Reagieren',
  reactionOf: '{emoji}: {names}',
  replyInThread: 'Im Thread antworten',
  more: 'Mehr',
  pin: 'Anheften',
  unpin: 'Lösen',
  markUnread: 'Ab hier als ungelesen markieren',
  copyLink: 'Link kopieren',
  copyText: 'Text kopieren',
  deleteTitle: 'Diese Nachricht löschen?',
  deleteText: 'Sie verschwindet für alle.',
}
