//! Reading the event log in seq order, for the writer and the publisher; `domain/events.rs` writes it.

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

/// The rows after `seq`, oldest first.
pub fn since(conn: &Connection, seq: i64) -> rusqlite::Result<Vec<Event>> {
    conn.prepare_cached("select seq, stream, audience, type, channel_id, actor_id, body from events where seq > ?1 order by seq")?
        .query_map([seq], from_row)?
        .collect()
}

fn from_row(row: &Row) -> rusqlite::Result<Event> {
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
