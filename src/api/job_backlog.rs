//! The backlog: the queues of the background jobs, and how far the consumers of the event log lag behind.

use crate::{
    db::log_reader,
    domain::{deferred_work, log::cursors, mail_queue, messages::indexing},
    error::Result,
    state::App,
};

/// Rows of the log, or effects, that a follower may lag behind: those of some ten seconds at full load.
const ROWS: i64 = 50_000;
/// The quotas allow some thousands of mails a day, so as many that are due at once mean that none is sent.
const MAILS: i64 = 10_000;
/// Webhooks that wait for a slot, at most. A slot is free after ten seconds at the latest, and serves others before that.
const WEBHOOKS: i64 = 10_000;

pub struct Backlog {
    /// The newest row of the event log.
    pub last_seq: i64,
    /// Effects of commits that are not pushed yet.
    pub publisher: i64,
    /// Rows of the log that an external Centrifugo has not taken; `None` without one.
    pub forwarder: Option<i64>,
    /// Rows of the log that webhooks have not followed yet.
    pub webhooks: i64,
    /// Webhooks with something to deliver that wait for a slot.
    pub due_webhooks: i64,
    /// Messages that are not in the search index yet.
    pub search: i64,
    /// Mails that are due.
    pub mails: i64,
    /// Changes that are not worked off yet.
    pub deferred_work: i64,
}

impl Backlog {
    pub fn read(app: &App) -> Result<Backlog> {
        app.db.read(|conn| {
            let last_seq = log_reader::last_seq(conn)?;
            Ok(Backlog {
                last_seq,
                publisher: app.metrics.publisher_lag.get(),
                forwarder: cursors::find(conn, cursors::FORWARDER)?.map(|forwarded| (last_seq - forwarded).max(0)),
                webhooks: (last_seq - app.delivery.followed_seq()).max(0),
                due_webhooks: app.delivery.count_waiting_webhooks() as i64,
                search: indexing::behind(conn)?,
                mails: mail_queue::count_due(conn)?,
                deferred_work: deferred_work::count(conn)?,
            })
        })
    }

    /// Says which queue is too long, if one is. Search and deferred work are not asked: they are behind after an import or the deletion
    /// of a large channel, and catch up while the server serves.
    pub fn overlong_queue(&self) -> Option<&'static str> {
        let queues = [
            (self.publisher, ROWS, "live push lags behind the event log"),
            (self.forwarder.unwrap_or(0), ROWS, "the external Centrifugo lags behind the event log"),
            (self.webhooks, ROWS, "webhooks lag behind the event log"),
            (self.due_webhooks, WEBHOOKS, "too many webhooks wait to deliver"),
            (self.mails, MAILS, "too many mails wait to be sent"),
        ];
        queues.into_iter().find_map(|(length, most, says)| (length > most).then_some(says))
    }
}
