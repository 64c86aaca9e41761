// Words of my threads, and of what opens beside the talk: search, pins, people of a channel.

/** @type {import('../../text/words.js').Area} */
export default {
  noThreads: 'You take part in no thread yet. Threads that you write in, or are mentioned in, come together here.',
  threadsFailed: 'Your threads could not be loaded.',
  moreThreads: 'Show more threads',
  unreadReplies: { one: '{count} new', other: '{count} new' },
  earlierReplies: { one: '{count} earlier reply', other: '{count} earlier replies' },
  openThread: 'Open the thread',
  markRead: 'Mark as read',
}
