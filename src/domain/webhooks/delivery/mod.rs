//! The delivery of what happens in channels to the addresses of their webhooks. [`following`] turns rows of the event log into
//! deliveries ([`queue`]); [`schedule`] picks those whose turn it is, as far as there are free [`slots`]; [`attempt_results`]
//! records the [`outcome`] of each attempt; [`replay`] sends again on demand. The [`cursor`] says how far the log was followed,
//! and [`kind`] what is delivered.

pub mod attempt_results;
pub(in crate::domain) mod cursor;
pub mod following;
pub mod kind;
pub mod outcome;
pub mod queue;
pub mod replay;
pub mod schedule;
pub mod slots;
