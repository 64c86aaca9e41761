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
}
