//! Reading the event log in seq order, for those who publish it; `domain/log/events.rs` writes it.

use rusqlite::{Connection, Row};

use crate::event::Event;

/// The log's newest seq; 0 when nothing ever happened.
pub fn last_seq(conn: &Connection) -> rusqlite::Result<i64> {
    // sqlite_sequence outlives pruning.
    let last = conn
        .prepare_cached("select coalesce(max(seq), 0) from sqlite_sequence where name = 'events'")?
        .query_row([], |row| row.get(0))?;
    Ok(last)
}

/// The epoch of the log: offsets of different epochs cannot be compared.
pub fn epoch(conn: &Connection) -> rusqlite::Result<String> {
    conn.prepare_cached("select value from meta where key = 'epoch'")?.query_row([], |row| row.get(0))
}

/// A row's body without the message's text and mentions: of the message itself, or inside an envelope.
macro_rules! erased {
    () => {
        "json_replace(body, '$.content', '', '$.message', '', '$.mentions', json('[]'),
           '$.data.content', '', '$.data.message', '', '$.data.mentions', json('[]'))"
    };
}

/// SQL of the body of a row of `events` without the text of the message that it carries.
pub const ERASED: &str = erased!();

/// What [`from_row`] reads; of a deleted message without its text, which may still stand in the rows for a while.
pub const COLUMNS: &str = concat!(
    "seq, stream, audience, type, channel_id, actor_id,
     iif(exists (select 1 from messages m where m.n = events.message_n and m.deleted_at is not null), ",
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

pub fn from_row(row: &Row) -> rusqlite::Result<Event> {
    Ok(Event {
        seq: row.get("seq")?,
        stream: row.get("stream")?,
        audience: row.get("audience")?,
        kind: row.get("type")?,
        channel: row.get("channel_id")?,
        actor: row.get("actor_id")?,
        body: row.get("body")?,
    })
}
