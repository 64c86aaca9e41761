//! Follows the event log, and notifies members of messages.

use std::time::{Duration, Instant};

use tokio::task::JoinSet;

use super::queue_loops::{MINUTE, rest};
use crate::{
    domain::{
        log::cursors::{self, Next},
        notifications::following,
    },
    error::Result,
    event::Queue,
    state::App,
};

/// Time between two looks at the log, so that posts that follow each other share one.
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// Starts retaining the event log for notifications, before the server serves anything. Returns the last row that was followed.
pub async fn start_retaining_log(app: &App) -> Result<i64> {
    app.db.write(following::start).await
}

pub(super) struct Follower<'a> {
    app: &'a App,
    /// The last row that was followed, in memory and as written to the database. The log is kept from the latter on.
    followed: i64,
    written: i64,
    written_at: Instant,
}

impl<'a> Follower<'a> {
    pub fn new(app: &'a App, followed: i64) -> Follower<'a> {
        Follower { app, followed, written: followed, written_at: Instant::now() }
    }

    pub async fn run(&mut self) {
        loop {
            let idle = self.follow().await.map(|()| MINUTE);
            rest(idle, self.app, Queue::Notifications, &mut JoinSet::new()).await;
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }

    async fn follow(&mut self) -> Result<()> {
        let db = &self.app.db;
        while db.is_writable() {
            let after = self.followed;
            let ahead = db.read(|conn| following::skip_irrelevant_rows(conn, after))?;
            self.followed = ahead.seq;
            match ahead.next {
                Next::Nothing => break,
                Next::More => {}
                Next::Work => {
                    self.followed = db.write(move |tx| following::notify_from_log(tx, ahead.seq)).await?;
                    (self.written, self.written_at) = (self.followed, Instant::now());
                }
            }
        }
        if cursors::should_save(self.followed, self.written) || self.written_at.elapsed() >= MINUTE {
            self.save_cursor().await;
        }
        Ok(())
    }

    /// Writes the cursor to the database.
    pub async fn save_cursor(&mut self) {
        self.written_at = Instant::now();
        let seq = self.followed;
        if seq == self.written {
            return;
        }
        match self.app.write_with_retry(move |tx| following::save_cursor(tx, seq)).await {
            Ok(()) => self.written = seq,
            Err(err) => {
                tracing::warn!(
                    err = err.log_text(),
                    "the cursor of notifications could not be written, next try within a minute"
                );
            }
        }
    }
}
