//! The event log: a row for every change that a client can see, written with the change ([`events`]), and for rights that
//! have ended ([`revocations`]). Its consumers keep their place in [`cursors`].
//!
//! All areas write to it; it uses none of them. What becomes of a row is the matter of `streams`, above all areas.

pub mod cursors;
pub mod events;
pub mod revocations;
