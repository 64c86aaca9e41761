// מילים שכמה מסכים צריכים.

/** @type {import('../../text/words.js').Area} */
export default {
  tidings: 'Tidings',
  save: 'שמירה',
  saved: 'נשמר.',
  cancel: 'ביטול',
  close: 'סגירה',
  delete: 'מחיקה',
  edit: 'עריכה',
  remove: 'הסרה',
  retry: 'ניסיון נוסף',
  copy: 'העתקה',
  copied: 'הועתק.',
  copyFailed: 'הדפדפן לא מאפשר לנו להעתיק. סמנו את הטקסט והעתיקו אותו בעצמכם.',
  loading: 'טוען …',
  waiting: 'רק רגע …',
  search: 'חיפוש',
  you: 'אתם',
  unknownPerson: 'מישהו',
  today: 'היום',
  yesterday: 'אתמול',
  todayAt: 'היום {time}',
  yesterdayAt: 'אתמול {time}',
  unreachable: 'אין קשר עם השרת. בדקו את החיבור ונסו שוב.',
  unexpected: 'משהו השתבש בדף הזה. טענו אותו מחדש; אם זה לא עוזר, פנו למנהל השרת.',
  cantLoad: 'אי אפשר להציג את השיחה',
}
