//! Publications of other programs, such as a team's scripts. They are logged and pushed like all events, with a body that
//! the program chooses.

use serde_json::value::RawValue;

use crate::{
    db::Tx,
    domain::{log::events, streams},
    error::Result,
    event::Kind,
};

/// Logs a publication for the subscribers of the named stream, and returns its seq, or `None` if no such stream exists.
pub fn publish(tx: &mut Tx, name: &str, body: &RawValue) -> Result<Option<i64>> {
    let Some(stream) = streams::find(tx, name)? else { return Ok(None) };
    let new = events::New { kind: Kind::Published, stream, to_members: false, channel: None, message: None, actor: None, body };
    events::emit(tx, new).map(Some)
}
