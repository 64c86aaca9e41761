//! The counters of channels and threads, and how a new message changes them.

use rusqlite::{Connection, Row};

use crate::{
    db::Tx,
    domain::{
        log::events::Seqs,
        messages::{
            mentions, participants,
            record::{Message, Participant},
        },
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
    /// Number of members who have replied, and the first of them.
    pub participant_count: i64,
    pub participants: Vec<Participant>,
}

/// Reads the current counters of a thread.
pub(super) fn find(conn: &Connection, thread: MessageId) -> Result<Counts> {
    let sql = "select n, reply_count, last_reply_at, participant_count from messages where id = ?1";
    with_participants(conn, conn.prepare_cached(sql)?.query_row([thread], from_row)?)
}

/// Counts a new reply in its thread's row, and its author if they are a new participant.
pub(super) fn add_reply(tx: &Tx, reply: &Message, is_new_participant: bool, seqs: Seqs) -> Result<Counts> {
    let sql = format!(
        "update messages set {}, active_n = ?3, reply_count = reply_count + 1, last_reply_at = ?4,
           participant_count = participant_count + ?5
         where id = ?1 returning n, reply_count, last_reply_at, participant_count",
        seqs.assignments
    );
    let values = (reply.thread, seqs.seq, reply.n, reply.created_at, is_new_participant);
    with_participants(tx, tx.prepare_cached(&sql)?.query_row(values, from_row)?)
}

/// The `n` of a thread, and its counters.
fn from_row(row: &Row) -> rusqlite::Result<(i64, Counts)> {
    let participants = Vec::new();
    Ok((row.get(0)?, Counts { replies: row.get(1)?, last_reply_at: row.get(2)?, participant_count: row.get(3)?, participants }))
}

fn with_participants(conn: &Connection, (root, mut counts): (i64, Counts)) -> Result<Counts> {
    if counts.participant_count > 0 {
        counts.participants = participants::of(conn, &[root])?.remove(&root).unwrap_or_default();
    }
    Ok(counts)
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
    let everybody = mentions::has_channel_mention(&message.mentions);
    let values = (message.channel, seqs.seq, !message.is_reply, everybody, message.n, message.created_at);
    tx.prepare_cached(&sql)?.execute(values)?;
    Ok(())
}
