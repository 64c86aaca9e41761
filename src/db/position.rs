//! The place in the event log of the state that an answer shows. A client that subscribes from there misses no later event.

use std::sync::{
    Arc,
    atomic::{AtomicI64, Ordering::Relaxed},
};

use rusqlite::Connection;

use super::log_reader;
use crate::error::Result;

tokio::task_local! {
    /// The position of the answer that the task makes; unset where nobody asks for it.
    static SHOWN: Shown;
}

/// The seq of the first noted read of an answer; -1 before it. Of several reads the first counts: from there on nothing that a
/// later one lacks is missed.
#[derive(Clone)]
pub(super) struct Shown(Arc<AtomicI64>);

impl Shown {
    /// The position that the running task notes, if it does.
    pub fn of_task() -> Option<Shown> {
        SHOWN.try_with(Clone::clone).ok()
    }

    /// Runs `read` as part of the answer, on another thread than its task's.
    pub fn run_on_other_thread<T>(self, read: impl FnOnce() -> T) -> T {
        SHOWN.sync_scope(self, read)
    }

    fn seq(&self) -> Option<i64> {
        Some(self.0.load(Relaxed)).filter(|seq| *seq >= 0)
    }
}

/// Makes an answer. Returns it with the log's newest seq in the first transaction that it was read in.
pub async fn with_position<T>(answer: impl Future<Output = T>) -> (T, Option<i64>) {
    let shown = Shown(Arc::new((-1).into()));
    let answered = SHOWN.scope(shown.clone(), answer).await;
    (answered, shown.seq())
}

/// Notes that the task's answer shows what this transaction reads.
pub(super) fn note(conn: &Connection) -> Result<()> {
    if let Some(shown) = Shown::of_task().filter(|shown| shown.seq().is_none()) {
        shown.0.store(log_reader::last_seq(conn)?, Relaxed);
    }
    Ok(())
}
