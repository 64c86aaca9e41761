//! The counters of channels and threads, and how a new message changes them.

use rusqlite::{Connection, Row};

use crate::{
    db::Tx,
    domain::{
        log::events::Seqs,
        messages::{mentions, record::Message},
    },
    error::Result,
    id::MessageId,
    time::Time,
};

/// Counters of a thread, as events report them after a message was posted or deleted.
pub(in crate::domain) struct Counts {
    /// Number of replies in the thread.
    pub replies: i64,
    pub last_reply_at: Option<Time>,
}

/// Reads the current counters of a thread.
pub(super) fn find(conn: &Connection, thread: MessageId) -> Result<Counts> {
    let sql = "select reply_count, last_reply_at from messages where id = ?1";
    Ok(conn.prepare_cached(sql)?.query_row([thread], from_row)?)
}

/// Counts a new reply in its thread's row.
pub(super) fn add_reply(tx: &Tx, reply: &Message, seqs: Seqs) -> Result<Counts> {
    let sql = format!(
        "update messages set {}, active_n = ?3, reply_count = reply_count + 1, last_reply_at = ?4 where id = ?1
         returning reply_count, last_reply_at",
        seqs.assignments
    );
    let values = (reply.thread, seqs.seq, reply.n, reply.created_at);
    Ok(tx.prepare_cached(&sql)?.query_row(values, from_row)?)
}

fn from_row(row: &Row) -> rusqlite::Result<Counts> {
    Ok(Counts { replies: row.get(0)?, last_reply_at: row.get(1)? })
}

/// Counts a new message in its channel's row.
pub(super) fn add_message(tx: &Tx, message: &Message, seqs: Seqs) -> Result<()> {
    let sql = format!(
        "update channels set {}, message_count = message_count + 1, thread_count = thread_count + ?3,
           mention_count = mention_count + ?4, last_n = ?5, last_thread = iif(?3, ?5, last_thread),
           last_message_at = ?6
         where id = ?1",
        seqs.assignments
    );
    let everybody = mentions::name_everybody(&message.mentions);
    let values = (message.channel, seqs.seq, !message.is_reply, everybody, message.n, message.created_at);
    tx.prepare_cached(&sql)?.execute(values)?;
    Ok(())
}
