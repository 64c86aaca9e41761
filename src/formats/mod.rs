//! Bodies and files of other programs, as text: pure functions, which know nothing of this server.

pub mod lists;
pub mod slack;
