//! The rules, with their SQL. They are synchronous, and know neither HTTP nor the runtime.
//!
//! A function takes a connection (to read) or a [`crate::db::Tx`] (to write), the caller, and plain values. It checks the
//! caller's right inside the transaction that acts on it, with the verbs of [`access`].

pub mod access;
pub mod account_erasure;
pub mod accounts;
pub mod base_url;
pub mod channel_purging;
pub mod channel_summaries;
pub mod channels;
pub mod commands;
pub mod consistency;
pub mod deferred_work;
pub mod event_schemas;
pub mod faces;
pub mod files;
pub mod first_screen;
pub mod log;
pub mod mail_queue;
pub mod messages;
pub mod notifications;
pub mod organisations;
pub mod page;
mod program_urls;
pub mod public;
#[cfg(test)]
mod reading_costs;
pub mod reminders;
pub mod rights;
pub mod scopes;
mod slice_byte_budget;
pub mod streams;
pub mod text;
pub mod transfer;
pub mod unfinished_accounts;
pub mod webhooks;
