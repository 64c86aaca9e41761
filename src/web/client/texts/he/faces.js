// The words of choosing the picture of a person, a bot or an organisation.

/** @type {import('../../text/words.js').Area} */
export default {
  person: 'תמונה',
  logo: 'לוגו',
  choose: 'בחירת תמונה',
  change: 'בחירת תמונה אחרת',
  remove: 'הסרת התמונה',
  unreadable: 'אי אפשר לקרוא את הקובץ הזה כתמונה. כדאי לבחור קובץ JPEG,‎ PNG,‎ GIF או WebP.',
  cropTitle: 'בחירת החלק שיוצג',
  cropLabel: 'החלק שאחרים יראו',
  cropHint: 'אפשר לגרור את התמונה, או להזיז אותה במקשי החצים.',
  cropZoom: 'גודל',
  cropSave: 'שימוש בחלק הזה',
}
