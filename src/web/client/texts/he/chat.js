// מילים של הכתיבה, של מה שעושים בהודעות, ושל תיבות הדו־שיח של השיחה.

/** @type {import('../../text/words.js').Area} */
export default {
  send: 'שליחה',
  left: { one: 'נותר תו {count}', other: 'נותרו {count} תווים' },
  completions: 'הצעות',
  notSent: 'לא נשלח: {why}',
  sendAgain: 'שליחה חוזרת',
  discard: 'ביטול ההודעה',
  sending: 'נשלח עכשיו.',
  editLabel: 'עריכת ההודעה',
  react: 'הוספת סימן תגובה',
  reactionOf: '{emoji}: {names}',
  replyInThread: 'תגובה בשרשור',
  more: 'עוד',
  pin: 'נעיצה',
  unpin: 'ביטול הנעיצה',
  markUnread: 'סימון כלא נקרא מכאן',
  copyLink: 'העתקת הקישור',
  copyText: 'העתקת הטקסט',
  deleteTitle: 'למחוק את ההודעה הזאת?',
  deleteText: 'היא תיעלם לכולם.',
}
