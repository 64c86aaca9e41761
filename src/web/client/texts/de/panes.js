// Wörter für die eigenen Threads und für das, was sich neben dem Gespräch öffnet: Suche, Angeheftetes, Leute im Kanal.

/** @type {import('../../text/words.js').Area} */
export default {
  noThreads: 'Du bist noch in keinem Thread dabei. Hier sammeln sich Threads, in denen du schreibst oder erwähnt wirst.',
  threadsFailed: 'Deine Threads konnten nicht geladen werden.',
  moreThreads: 'Weitere Threads zeigen',
  unreadReplies: { one: '{count} neu', other: '{count} neu' },
  earlierReplies: { one: '{count} frühere Antwort', other: '{count} frühere Antworten' },
  openThread: 'Thread öffnen',
  markRead: 'Als gelesen markieren',
  // Suche
  searchLabel: 'Nachrichten suchen',
  searchHint: 'Schreib mindestens drei Zeichen.',
  searching: 'Suche läuft …',
  nothingFound: 'Nichts gefunden.',
  found: { one: '{count} Nachricht gefunden', other: '{count} Nachrichten gefunden' },
  foundMore: { one: 'Die neueste gefundene Nachricht', other: 'Die neuesten {count} gefundenen Nachrichten' },
  results: 'Gefundene Nachrichten',
  moreResults: 'Mehr zeigen',
  filters: 'Filter',
  filtersSet: { one: 'Filter: {count} gesetzt', other: 'Filter: {count} gesetzt' },
  clearFilters: 'Filter entfernen',
  writtenBy: 'Geschrieben von',
  takeOutFilter: 'Nicht nur von {name}',
  where: 'Wo',
  everywhere: 'Überall',
  since: 'Ab',
  until: 'Bis',
  // Angeheftetes
  noPins: 'Hier ist noch nichts angeheftet. Das Menü einer Nachricht heftet sie an.',
  pinnedByAt: 'Angeheftet von {name}, {when}',
  goThere: 'Dorthin',
}
