//! Messages: top-level posts, each of which starts a thread, and replies.
//!
//! Here are their record, posting, editing and deleting, lists and threads with their members, mentions, reactions, pins, the search with its
//! index. Uses access, accounts, byte_budget, channels, deferred_work, log, page and text.

pub mod actions;
mod counters;
pub mod deleting;
pub mod details;
pub mod editing;
pub mod events;
pub mod indexing;
pub mod lists;
pub mod mentions;
mod objects;
pub mod participants;
pub mod payloads;
pub mod pins;
pub mod posting;
pub mod reactions;
pub mod record;
pub(in crate::domain) mod recounting;
pub mod search;
pub mod single;
pub mod thread_marks;
pub(in crate::domain) mod thread_members;
pub mod threads;
pub(in crate::domain) mod writing;
