//! What a team's other programs publish: logged and pushed like all else, in words of their own.

use serde_json::value::RawValue;

use crate::{
    db::Tx,
    domain::{log::events, streams},
    error::Result,
    event::Kind,
};

/// Logs it for the subscribers of the stream of that name; gives its seq. None when there is no such stream.
pub fn publish(tx: &mut Tx, name: &str, body: &RawValue) -> Result<Option<i64>> {
    let Some(stream) = streams::find(tx, name)? else { return Ok(None) };
    let new = events::New { kind: Kind::Published, stream, to_members: false, channel: None, message: None, actor: None, body };
    events::emit(tx, new).map(Some)
}
