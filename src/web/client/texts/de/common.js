// Wörter, die mehrere Ansichten brauchen.

/** @type {import('../../text/words.js').Area} */
export default {
  tidings: 'Tidings',
  save: 'Speichern',
  saved: 'Gespeichert.',
  cancel: 'Abbrechen',
  close: 'Schließen',
  delete: 'Löschen',
  edit: 'Bearbeiten',
  remove: 'Entfernen',
  retry: 'Noch einmal versuchen',
  copy: 'Kopieren',
  copied: 'Kopiert.',
  copyFailed: 'Der Browser lässt uns nicht kopieren. Markiere den Text und kopiere ihn selbst.',
  loading: 'Wird geladen …',
  waiting: 'Einen Moment …',
  search: 'Suchen',
  you: 'du',
  unknownPerson: 'Jemand',
  today: 'Heute',
  yesterday: 'Gestern',
  todayAt: 'heute {time}',
  yesterdayAt: 'gestern {time}',
  unreachable: 'Der Server ist nicht erreichbar. Prüfe die Verbindung und versuche es noch einmal.',
  unexpected: 'In dieser Seite ist etwas schiefgegangen. Lade sie neu; hilft das nicht, sag es der Administration.',
  cantLoad: 'Das Gespräch lässt sich nicht anzeigen',
}
