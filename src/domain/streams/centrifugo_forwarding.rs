//! Slices of the event log for an external Centrifugo. The log is the queue, with the cursor [`cursors::FORWARDER`].

use std::collections::HashMap;

use rusqlite::Connection;

use crate::{
    db::log_reader,
    domain::{
        log::cursors,
        streams::fan_out::{FanOut, Readers},
    },
    error::{Error, Result},
    event::{Audience, Event, Kind},
    id::UserId,
};

/// At most 200 rows in a slice, which also ends after 1 MiB of publications: an event for a large channel has many.
const SLICE_ROWS: u32 = 200;
const SLICE_BYTES: usize = 1 << 20;

/// The steps that forward consecutive rows of the log, in their order.
pub struct Slice {
    pub epoch: String,
    pub steps: Vec<Step>,
    /// The seq of the slice's last row.
    pub seq: i64,
    /// Seqs before the slice that were pruned before the forwarder took them.
    pub lost: i64,
}

pub enum Step {
    /// Publish the same body on each of these streams.
    Publication { streams: Vec<String>, seq: i64, body: String },
    /// Make this user prove their rights again.
    Revocation { user: UserId },
}

/// The slice of rows after the seq `taken`, or `None` at the end of the log.
pub fn next(conn: &Connection, taken: i64) -> Result<Option<Slice>> {
    let (epoch, floor) = (log_reader::epoch(conn)?, cursors::last_pruned(conn)?);
    let mut fan_out = FanOut::new(conn, &epoch, Readers::All);
    let mut slice = Slice { steps: Vec::new(), seq: taken.max(floor), lost: (floor - taken).max(0), epoch: epoch.clone() };
    let mut bytes = 0;
    for event in log_reader::after(conn, slice.seq, SLICE_ROWS)? {
        slice.seq = event.seq;
        bytes += expand(&event, &mut fan_out, &mut slice.steps)?;
        if bytes >= SLICE_BYTES {
            break;
        }
    }
    Ok((slice.seq > taken).then_some(slice))
}

/// Adds the steps of one row, and returns their size in bytes.
fn expand(event: &Event, fan_out: &mut FanOut, steps: &mut Vec<Step>) -> Result<usize> {
    if event.kind == Kind::Revocation {
        let users: Vec<UserId> = serde_json::from_str(&event.body).map_err(Error::internal)?;
        steps.extend(users.into_iter().map(|user| Step::Revocation { user }));
        return Ok(event.body.len());
    }
    if event.audience == Audience::Nobody {
        return Ok(0);
    }
    // Many members have the same counts. A seq has at most one publication on any stream, so that their order is free.
    let mut by_body: HashMap<String, Vec<String>> = HashMap::new();
    fan_out.publications(event, |stream, body| by_body.entry(body()).or_default().push(stream.to_owned()))?;
    let bytes = by_body.iter().map(|(body, streams)| body.len() + streams.iter().map(String::len).sum::<usize>()).sum();
    steps.extend(by_body.into_iter().map(|(body, streams)| Step::Publication { streams, seq: event.seq, body }));
    Ok(bytes)
}
