//! What all operations share: who calls, what a body may hold, in which words and shapes is answered.

pub mod auth;
pub mod body;
pub mod envelope;
pub mod guard;
pub mod listing;
mod types;
