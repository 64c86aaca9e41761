//! Messages: top-level posts, each of which starts a thread, and replies.
//!
//! Here are their record, posting, files, editing and deleting, lists and threads with their members, mentions, reactions, pins, the
//! search with its index.

pub mod action_buttons;
mod channel_counters;
pub mod deleting;
pub mod editing;
pub mod events;
pub mod indexing;
pub(in crate::domain) mod inserting;
pub mod linked_message;
pub mod lists;
pub mod media;
pub(in crate::domain) mod mention_count_changes;
pub mod mentions;
mod objects;
pub mod participants;
pub mod payloads;
pub mod pins;
pub mod posting;
pub mod reactions;
pub mod reactions_and_participants;
pub mod record;
pub mod search;
pub(in crate::domain) mod thread_members;
pub mod thread_unreads;
pub mod threads;
