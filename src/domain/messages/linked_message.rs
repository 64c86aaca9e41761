//! A single message, as a link to it shows it.

use rusqlite::Connection;

use crate::{
    domain::{
        access::{self, Caller},
        messages::{
            reactions_and_participants,
            record::{self, Message, UNKNOWN},
            threads::ChannelLabel,
        },
    },
    error::Result,
    id::MessageId,
};

/// Reads a message with its channel. For members of its channel. A deleted post is shown while it has replies. 404 for an unknown
/// message and in a hidden channel, 403 in a channel that the caller is not in.
pub fn get(conn: &Connection, caller: Caller, id: MessageId) -> Result<(Message, ChannelLabel)> {
    let is_shown = |message: &Message| message.deleted_at.is_none() || message.reply_count > 0;
    let mut message = record::find(conn, id)?.filter(is_shown).ok_or(UNKNOWN)?;
    access::require_channel_member(conn, caller, message.channel, UNKNOWN)?;
    reactions_and_participants::attach(conn, std::slice::from_mut(&mut message))?;
    let label = ChannelLabel::find(conn, message.channel)?;
    Ok((message, label))
}
