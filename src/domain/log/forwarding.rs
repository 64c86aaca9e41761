//! The way of the event log to an external Centrifugo: how far it got, and what is next.
//!
//! The log itself is the queue. How far it was taken is a row of `meta`, which is there while such a server is fed.

use std::collections::HashMap;

use rusqlite::{Connection, OptionalExtension};

use crate::{
    db::{Tx, log},
    domain::log::{fan_out::FanOut, recovery},
    error::{Error, Result},
    event::{Audience, Event},
    id::UserId,
};

/// Rows that may wait; older ones are pruned in their time though they have not been taken.
const WAITING_MOST: i64 = 1_000_000;
/// Rows in a slice, and about how many bytes: an event for a large channel is many publications.
const SLICE_ROWS: u32 = 200;
const SLICE_BYTES: usize = 1 << 20;

/// What rows of the log become, in their order.
pub struct Slice {
    pub epoch: String,
    pub steps: Vec<Step>,
    /// The last row in it.
    pub seq: i64,
    /// Rows before it that were pruned before they were taken.
    pub lost: i64,
}

pub enum Step {
    /// The same body on each of these streams.
    Publication { streams: Vec<String>, seq: i64, body: String },
    /// This user must prove their rights again.
    Revocation { user: UserId },
}

/// From here on the log is kept for the server outside: after the row that is returned.
pub fn start(tx: &mut Tx) -> Result<i64> {
    let last = log::last_seq(tx)?;
    tx.prepare_cached("insert into meta (key, value) values ('forwarded_seq', ?1)")?.execute([last.to_string()])?;
    Ok(last)
}

/// Nothing is kept for it any more: the embedded endpoint has published what waits, or will.
pub fn stop(tx: &mut Tx) -> Result<()> {
    tx.prepare_cached("delete from meta where key = 'forwarded_seq'")?.execute([])?;
    Ok(())
}

/// The last row that was taken, while a server outside is fed.
pub fn cursor(conn: &Connection) -> Result<Option<i64>> {
    let mut select = conn.prepare_cached("select cast(value as integer) from meta where key = 'forwarded_seq'")?;
    Ok(select.query_row([], |row| row.get(0)).optional()?)
}

/// Notes that all rows up to this one were taken.
pub fn advance(tx: &mut Tx, seq: i64) -> Result<()> {
    tx.prepare_cached("update meta set value = ?1 where key = 'forwarded_seq'")?.execute([seq.to_string()])?;
    Ok(())
}

/// The last row that may be pruned.
pub(in crate::domain) fn prunable(conn: &Connection) -> Result<i64> {
    Ok(match cursor(conn)? {
        Some(taken) => taken.max(log::last_seq(conn)? - WAITING_MOST),
        None => i64::MAX,
    })
}

/// What comes after `taken`; none when nothing does.
pub fn next(conn: &Connection, taken: i64) -> Result<Option<Slice>> {
    let (epoch, floor) = (log::epoch(conn)?, recovery::floor(conn)?);
    let mut fan_out = FanOut::new(conn, &epoch);
    let mut slice = Slice { steps: Vec::new(), seq: taken.max(floor), lost: (floor - taken).max(0), epoch: epoch.clone() };
    let mut bytes = 0;
    for event in log::after(conn, slice.seq, SLICE_ROWS)? {
        slice.seq = event.seq;
        bytes += expand(&event, &mut fan_out, &mut slice.steps)?;
        if bytes >= SLICE_BYTES {
            break;
        }
    }
    Ok((slice.seq > taken).then_some(slice))
}

/// Adds what the row becomes; returns its bytes.
fn expand(event: &Event, fan_out: &mut FanOut, steps: &mut Vec<Step>) -> Result<usize> {
    if event.audience == Audience::Nobody {
        let users: Vec<UserId> = serde_json::from_str(&event.body).map_err(Error::internal)?;
        steps.extend(users.into_iter().map(|user| Step::Revocation { user }));
        return Ok(event.body.len());
    }
    // Many members have the same counts. A seq is at most one publication on any stream: these have no order.
    let mut by_body: HashMap<String, Vec<String>> = HashMap::new();
    fan_out.publications(event, |stream, body| by_body.entry(body()).or_default().push(stream.to_owned()))?;
    let bytes = by_body.iter().map(|(body, streams)| body.len() + streams.iter().map(String::len).sum::<usize>()).sum();
    steps.extend(by_body.into_iter().map(|(body, streams)| Step::Publication { streams, seq: event.seq, body }));
    Ok(bytes)
}
