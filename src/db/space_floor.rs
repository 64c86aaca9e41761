//! Who may write while the disk is nearly full. What frees space must go on, or a full disk could not be emptied by those who filled
//! it: deletions, log-outs and superadmins pass, and so do the background jobs.

use std::cell::Cell;

tokio::task_local! {
    /// Whether the running request may write below the floor; unset in background jobs, which may.
    static MAY_WRITE: Cell<bool>;
}

/// Runs a request, which may not write below the floor unless [`lift_floor`] is called meanwhile.
pub async fn held_to_floor<T>(request: impl Future<Output = T>) -> T {
    MAY_WRITE.scope(Cell::new(false), request).await
}

/// Lets the running request write below the floor.
pub fn lift_floor() {
    _ = MAY_WRITE.try_with(|may_write| may_write.set(true));
}

/// Work that outlives the request that it is for, in a task of its own, and is held to the floor as the request is now.
pub fn inheriting_floor<T>(work: impl Future<Output = T>) -> impl Future<Output = T> {
    MAY_WRITE.scope(Cell::new(may_write_below()), work)
}

pub(super) fn may_write_below() -> bool {
    MAY_WRITE.try_with(Cell::get).unwrap_or(true)
}
