//! How far the consumers of the log have come, each by a row of `meta` that is there while it consumes.

use rusqlite::{Connection, OptionalExtension};

use crate::{
    db::{Tx, log},
    error::Result,
};

/// Rows that may wait for a consumer; older ones are pruned in their time though it has not taken them.
const WAITING_MOST: i64 = 1_000_000;

/// A consumer, by its key in `meta`, which ends in `_seq`; the value is the last `seq` that it has taken.
#[derive(Clone, Copy)]
pub struct Consumer(pub(in crate::domain) &'static str);

/// The external Centrifugo.
pub const FORWARDER: Consumer = Consumer("forwarded_seq");

/// From here on the log is kept for the consumer: after the row that is returned.
pub fn start(tx: &mut Tx, consumer: Consumer) -> Result<i64> {
    let last = log::last_seq(tx)?;
    tx.prepare_cached("insert into meta (key, value) values (?1, ?2)")?.execute((consumer.0, last.to_string()))?;
    Ok(last)
}

/// Nothing is kept for it any more.
pub fn stop(tx: &mut Tx, consumer: Consumer) -> Result<()> {
    tx.prepare_cached("delete from meta where key = ?1")?.execute([consumer.0])?;
    Ok(())
}

/// The last row that it has taken; none while it does not consume.
pub fn find(conn: &Connection, consumer: Consumer) -> Result<Option<i64>> {
    let mut select = conn.prepare_cached("select cast(value as integer) from meta where key = ?1")?;
    Ok(select.query_row([consumer.0], |row| row.get(0)).optional()?)
}

/// Notes that all rows up to this one were taken.
pub fn advance(tx: &mut Tx, consumer: Consumer, seq: i64) -> Result<()> {
    tx.prepare_cached("update meta set value = ?2 where key = ?1")?.execute((consumer.0, seq.to_string()))?;
    Ok(())
}

/// The last row that may be pruned.
pub(super) fn prunable(conn: &Connection) -> Result<i64> {
    let slowest: Option<i64> = conn
        .prepare_cached("select min(cast(value as integer)) from meta where key glob '*_seq'")?
        .query_row([], |row| row.get(0))?;
    Ok(match slowest {
        Some(taken) => taken.max(log::last_seq(conn)? - WAITING_MOST),
        None => i64::MAX,
    })
}

/// The highest `seq` that was pruned.
pub fn floor(conn: &Connection) -> Result<i64> {
    let floor: String =
        conn.prepare_cached("select value from meta where key = 'events_floor'")?.query_row([], |row| row.get(0))?;
    Ok(floor.parse().unwrap_or(i64::MAX))
}
