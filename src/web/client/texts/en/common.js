// Words that several screens use.

/** @type {import('../../text/words.js').Area} */
export default {
  tidings: 'Tidings',
  save: 'Save',
  saved: 'Saved.',
  cancel: 'Cancel',
  close: 'Close',
  delete: 'Delete',
  edit: 'Edit',
  remove: 'Remove',
  retry: 'Try again',
  copy: 'Copy',
  copied: 'Copied.',
  copyFailed: 'The browser doesn’t let us copy. Select the text and copy it yourself.',
  loading: 'Loading …',
  waiting: 'One moment …',
  search: 'Search',
  you: 'you',
  unknownPerson: 'Somebody',
  today: 'Today',
  yesterday: 'Yesterday',
  todayAt: 'today {time}',
  yesterdayAt: 'yesterday {time}',
  unreachable: 'The server can’t be reached. Check the connection and try again.',
  unexpected: 'Something went wrong in this page. Load it again; if that doesn’t help, tell your administrator.',
  cantLoad: 'The talk can’t be shown',
}
