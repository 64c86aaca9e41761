//! Reads the event log in seq order, for its consumers; `domain/log/events.rs` writes it.

use rusqlite::{Connection, Row};

use super::row_columns::Columns;
use crate::event::Event;

/// The log's newest seq; 0 if no event was ever written.
pub fn last_seq(conn: &Connection) -> rusqlite::Result<i64> {
    // From sqlite_sequence, because the newest rows may be pruned.
    let last = conn
        .prepare_cached("select coalesce(max(seq), 0) from sqlite_sequence where name = 'events'")?
        .query_row([], |row| row.get(0))?;
    Ok(last)
}

/// The epoch of the log. Offsets of different epochs can't be compared.
pub fn epoch(conn: &Connection) -> rusqlite::Result<String> {
    conn.prepare_cached("select value from meta where key = 'epoch'")?.query_row([], |row| row.get(0))
}

/// SQL of a row's body without the text, mentions and actions of its message, which is the body itself or is in an envelope.
macro_rules! erased {
    () => {
        "json_replace(body, '$.content', '', '$.message', '', '$.mentions', json('[]'), '$.actions', json('[]'),
           '$.data.content', '', '$.data.message', '', '$.data.mentions', json('[]'), '$.data.actions', json('[]'))"
    };
}

/// SQL of the body of a row of `events` without its message's text, mentions and actions.
pub const ERASED: &str = erased!();

/// The columns that [`from_row`] reads. They leave out the text of a deleted message, which its rows may still contain until
/// a job erases it.
pub const COLUMNS: &str = concat!(
    "seq, stream, audience, type, channel_id, message_n, actor_id,
     iif(body <> '' and exists (select 1 from messages m where m.n = events.message_n and m.deleted_at is not null), ",
    erased!(),
    ", body) as body"
);

/// The rows after `seq`, oldest first.
pub fn since(conn: &Connection, seq: i64) -> rusqlite::Result<Vec<Event>> {
    after(conn, seq, u32::MAX)
}

/// Up to `limit` of the rows after `seq`, oldest first.
pub fn after(conn: &Connection, seq: i64, limit: u32) -> rusqlite::Result<Vec<Event>> {
    conn.prepare_cached(&format!("select {COLUMNS} from events where seq > ?1 order by seq limit ?2"))?
        .query_map((seq, limit), from_row)?
        .collect()
}

/// Reads a row of [`COLUMNS`].
pub fn from_row(row: &Row) -> rusqlite::Result<Event> {
    let mut columns = Columns::of_row(row);
    Ok(Event {
        seq: columns.take()?,
        stream: columns.take()?,
        audience: columns.take()?,
        kind: columns.take()?,
        channel: columns.take()?,
        message: columns.take()?,
        actor: columns.take()?,
        body: columns.take()?,
    })
}
