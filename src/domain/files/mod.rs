//! Files: their rows, who may read one, uploads, those of messages, and their end. Where the bytes lie is not known here.
//!
//! [`readable`] alone says who may read a file. Whatever leads to one asks it at each request.

pub mod importing;
pub mod inventory;
pub mod links;
pub mod lists;
mod names;
mod objects;
mod record;
pub mod removal;
pub mod resumable;
pub mod taking;
pub mod uploading;

use rusqlite::Connection;

use crate::{
    domain::access::{self, Caller},
    error::{Code, Error, Result},
    id::{ChannelId, FileId, MessageId},
};

pub use self::{
    objects::{MediaObject, address},
    record::{File, FileKind, Media},
};

/// The error for an unknown file, and for one that the caller may not read.
pub const UNKNOWN: Error = Error::NotFound(Code::FileNotFound);

/// The file, if the caller may read it: a message's, as a member of its channel; one that no message has taken, as who uploaded
/// it and a member of its organisation. 404 otherwise, and for a token of some channels that are others.
pub fn readable(conn: &Connection, caller: Caller, id: FileId) -> Result<File> {
    let file = record::find(conn, id)?.ok_or(UNKNOWN)?;
    let may_read = match file.message {
        Some((channel, _)) => access::require_channel(conn, caller, channel, UNKNOWN)?.username.is_some(),
        None => {
            file.user == caller.user
                && !caller.grant.is_channel_limited()
                && access::membership(conn, file.organisation, caller.user)?.is_some()
        }
    };
    if may_read { Ok(file) } else { Err(UNKNOWN) }
}

/// The message that shows a file, whoever asks for it; none for a file that is gone, and for one that no message has taken.
pub fn message_of(conn: &Connection, id: FileId) -> Result<Option<(ChannelId, MessageId)>> {
    Ok(record::find(conn, id)?.and_then(|file| file.message))
}
