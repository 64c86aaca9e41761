//! The way of the event log to an external Centrifugo. The log itself is the queue; how far it was taken is the cursor
//! [`cursors::FORWARDER`].

use std::collections::HashMap;

use rusqlite::Connection;

use crate::{
    db::log,
    domain::{log::cursors, streams::fan_out::FanOut},
    error::{Error, Result},
    event::{Audience, Event, Kind},
    id::UserId,
};

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

/// What comes after `taken`; none when nothing does.
pub fn next(conn: &Connection, taken: i64) -> Result<Option<Slice>> {
    let (epoch, floor) = (log::epoch(conn)?, cursors::floor(conn)?);
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
    if event.kind == Kind::Revocation {
        let users: Vec<UserId> = serde_json::from_str(&event.body).map_err(Error::internal)?;
        steps.extend(users.into_iter().map(|user| Step::Revocation { user }));
        return Ok(event.body.len());
    }
    if event.audience == Audience::Nobody {
        return Ok(0);
    }
    // Many members have the same counts. A seq is at most one publication on any stream: these have no order.
    let mut by_body: HashMap<String, Vec<String>> = HashMap::new();
    fan_out.publications(event, |stream, body| by_body.entry(body()).or_default().push(stream.to_owned()))?;
    let bytes = by_body.iter().map(|(body, streams)| body.len() + streams.iter().map(String::len).sum::<usize>()).sum();
    steps.extend(by_body.into_iter().map(|(body, streams)| Step::Publication { streams, seq: event.seq, body }));
    Ok(bytes)
}
