//! Answers that write nothing. A browser sends its cookie with a link that somebody follows, and pages show links of others: so
//! a GET that a cookie has admitted reads only.

use std::cell::Cell;

use crate::error::{Error, Result};

tokio::task_local! {
    /// Whether the answer that the task makes may no longer write; unset where nobody asks for that.
    static BANNED: Cell<bool>;
}

/// Makes an answer to a request that reads, to which [`ban_writes`] may apply.
pub async fn with_write_ban<T>(answer: impl Future<Output = T>) -> T {
    BANNED.scope(Cell::new(false), answer).await
}

/// Bans writes from here on, if the task answers a request that reads.
pub fn ban_writes() {
    _ = BANNED.try_with(|banned| banned.set(true));
}

/// Fails if the task's answer may not write: its operation has to look at the `Authorization` header alone.
pub(super) fn check() -> Result<()> {
    match BANNED.try_with(Cell::get) {
        Ok(true) => Err(Error::internal("a GET that a cookie has admitted may not write")),
        _ => Ok(()),
    }
}
