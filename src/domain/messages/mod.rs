//! Messages: top-level posts, each a thread, and replies.
//!
//! Here: their record, posting, editing and deleting, lists and threads, mentions, reactions, pins, and the search with its
//! index. Uses channels and all below them.

mod counters;
pub mod deleting;
pub mod editing;
pub mod events;
pub mod indexing;
pub mod lists;
pub mod mentions;
pub mod pins;
pub mod posting;
pub mod purging;
pub mod reactions;
pub mod record;
pub mod search;
pub mod threads;
pub(in crate::domain) mod writing;
