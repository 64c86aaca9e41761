// The words of choosing the picture of a person, a bot or an organisation.

/** @type {import('../../text/words.js').Area} */
export default {
  person: 'Bild',
  logo: 'Logo',
  choose: 'Bild wählen',
  change: 'Anderes Bild wählen',
  remove: 'Bild entfernen',
  unreadable: 'Diese Datei lässt sich nicht als Bild lesen. Wähle eine Datei in JPEG, PNG, GIF oder WebP.',
  cropTitle: 'Ausschnitt wählen',
  cropLabel: 'Der Ausschnitt, den andere sehen',
  cropHint: 'Ziehe das Bild, oder bewege es mit den Pfeiltasten.',
  cropZoom: 'Größe',
  cropSave: 'Diesen Ausschnitt nehmen',
}
