//! Code that all operations share: callers, bodies, answers and errors.

pub mod auth;
pub mod body;
pub mod browser;
pub mod cookies;
pub mod described;
pub mod envelope;
pub mod enveloped;
pub mod failure;
pub mod guard;
pub mod json;
pub mod listing;
pub mod number;
pub mod rows;
pub mod types;
