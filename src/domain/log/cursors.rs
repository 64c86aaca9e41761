//! Cursors of the log's consumers. Each is a row of `meta` that exists while its consumer follows the log.

use rusqlite::{Connection, OptionalExtension};

use crate::{
    db::{Tx, log_reader},
    error::Result,
};

/// The largest backlog, in rows, that the log keeps for a consumer. Older rows are pruned by age, taken or not.
const WAITING_MOST: i64 = 1_000_000;

/// Rows that may be skipped before a cursor is saved.
const UNWRITTEN_ROWS: i64 = 500;

/// A consumer of the log, identified by its key in `meta`, which ends in `_seq`. The value is the last `seq` that it has
/// taken.
#[derive(Clone, Copy)]
pub struct Consumer(pub(in crate::domain) &'static str);

/// The forwarder to an external Centrifugo.
pub const FORWARDER: Consumer = Consumer("forwarded_seq");

/// Creates the consumer's cursor at the end of the log, and returns the last `seq`. From now on the log keeps later rows for
/// it.
pub fn create(tx: &mut Tx, consumer: Consumer) -> Result<i64> {
    let last = log_reader::last_seq(tx)?;
    tx.prepare_cached("insert into meta (key, value) values (?1, ?2)")?.execute((consumer.0, last.to_string()))?;
    Ok(last)
}

/// The consumer's cursor, which is created if it is not there: in a database that is new, or older than the consumer.
pub(in crate::domain) fn find_or_create(tx: &mut Tx, consumer: Consumer) -> Result<i64> {
    match find(tx, consumer)? {
        Some(taken) => Ok(taken),
        None => create(tx, consumer),
    }
}

/// Deletes the consumer's cursor: the log keeps no rows for it any more.
pub fn remove(tx: &mut Tx, consumer: Consumer) -> Result<()> {
    tx.prepare_cached("delete from meta where key = ?1")?.execute([consumer.0])?;
    Ok(())
}

/// The last `seq` that the consumer has taken, or `None` while it does not follow the log.
pub fn find(conn: &Connection, consumer: Consumer) -> Result<Option<i64>> {
    let mut select = conn.prepare_cached("select cast(value as integer) from meta where key = ?1")?;
    Ok(select.query_row([consumer.0], |row| row.get(0)).optional()?)
}

/// Moves the consumer's cursor: it has taken all rows up to `seq`.
pub fn advance(tx: &mut Tx, consumer: Consumer, seq: i64) -> Result<()> {
    tx.prepare_cached("update meta set value = ?2 where key = ?1")?.execute((consumer.0, seq.to_string()))?;
    Ok(())
}

/// Result of looking ahead in the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lookahead {
    /// The last row up to which nothing concerns the consumer.
    pub seq: i64,
    pub next: Next,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    Nothing,
    /// Rows that were not looked at yet.
    More,
    /// A row that concerns the consumer.
    Work,
}

impl Lookahead {
    /// Looks at these rows behind `after`, each with its seq and whether it concerns the consumer, up to the first that does. A slice of
    /// the log has `most` rows.
    pub(in crate::domain) fn at(
        rows: impl ExactSizeIterator<Item = Result<(i64, bool)>>,
        after: i64,
        most: u32,
    ) -> Result<Lookahead> {
        let next = if rows.len() < most as usize { Next::Nothing } else { Next::More };
        let mut seq = after;
        for row in rows {
            let (of_row, concerns) = row?;
            if concerns {
                return Ok(Lookahead { seq, next: Next::Work });
            }
            seq = of_row;
        }
        Ok(Lookahead { seq, next })
    }
}

/// Whether enough rows were skipped that the cursor should be saved.
pub fn should_save(taken: i64, written: i64) -> bool {
    taken - written >= UNWRITTEN_ROWS
}

/// The last `seq` that may be pruned.
pub(super) fn prunable(conn: &Connection) -> Result<i64> {
    let slowest: Option<i64> = conn
        .prepare_cached("select min(cast(value as integer)) from meta where key glob '*_seq'")?
        .query_row([], |row| row.get(0))?;
    Ok(match slowest {
        Some(taken) => taken.max(log_reader::last_seq(conn)? - WAITING_MOST),
        None => i64::MAX,
    })
}

/// The highest `seq` that was pruned.
pub fn last_pruned(conn: &Connection) -> Result<i64> {
    let floor: String =
        conn.prepare_cached("select value from meta where key = 'events_floor'")?.query_row([], |row| row.get(0))?;
    Ok(floor.parse().unwrap_or(i64::MAX))
}
