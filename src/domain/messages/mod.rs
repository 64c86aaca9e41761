//! Messages: top-level posts, each of which starts a thread, and replies.
//!
//! Here are their record, posting, editing and deleting, lists and threads, mentions, reactions, pins, the search with its
//! index, and the purging of deleted channels. Uses access, accounts, bounded, channels, chores, log, page and text.

mod counters;
pub mod deleting;
pub mod editing;
pub mod events;
pub mod indexing;
pub mod lists;
pub mod mentions;
mod objects;
pub mod payloads;
pub mod pins;
pub mod posting;
pub mod purging;
pub mod reactions;
pub mod record;
pub mod search;
pub mod single;
pub mod threads;
pub(in crate::domain) mod writing;
