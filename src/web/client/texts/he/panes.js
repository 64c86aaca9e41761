// מילים של השרשורים שלי, ושל מה שנפתח לצד השיחה: חיפוש, נעיצות, האנשים בערוץ.

/** @type {import('../../text/words.js').Area} */
export default {
  noThreads: 'אינכם משתתפים עדיין באף שרשור. כאן נאספים שרשורים שכתבתם בהם או שהוזכרתם בהם.',
  threadsFailed: 'אי אפשר היה לטעון את השרשורים שלכם.',
  moreThreads: 'הצגת שרשורים נוספים',
  unreadReplies: { one: '{count} חדשה', other: '{count} חדשות' },
  earlierReplies: { one: 'תגובה {count} קודמת', other: '{count} תגובות קודמות' },
  openThread: 'פתיחת השרשור',
  markRead: 'סימון כנקרא',
}
