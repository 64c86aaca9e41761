//! The event log: a row for every change that a client can see, written in the transaction of the change ([`events`]), and for
//! every revocation of rights ([`revocations`]). Most events have a [`publication_envelope`]. Its consumers keep their cursors
//! in [`cursors`].
//!
//! `streams` turns rows into publications, and `webhooks` follows the log to queue deliveries.

pub mod cursors;
pub mod events;
pub mod publication_envelope;
pub mod revocations;
