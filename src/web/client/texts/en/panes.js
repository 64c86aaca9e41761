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
  // Search
  searchLabel: 'Search messages',
  searchHint: 'Write at least three characters.',
  searching: 'Searching …',
  nothingFound: 'Nothing found.',
  found: { one: '{count} message found', other: '{count} messages found' },
  foundMore: { one: 'The newest message found', other: 'The newest {count} messages found' },
  results: 'What was found',
  moreResults: 'Show more',
  filters: 'Filters',
  filtersSet: { one: 'Filters: {count} set', other: 'Filters: {count} set' },
  clearFilters: 'Clear the filters',
  writtenBy: 'Written by',
  takeOutFilter: 'Not only by {name}',
  where: 'Where',
  everywhere: 'Everywhere',
  since: 'Since',
  until: 'Until',
  // Pins
  noPins: 'Nothing is pinned here yet. A message’s menu pins it.',
  pinnedByAt: 'Pinned by {name}, {when}',
  goThere: 'Go there',
}
