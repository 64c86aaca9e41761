//! Taking files out of their messages.

use crate::{
    db::Tx,
    domain::{
        access::{self, Caller},
        files::{self, Media, removal},
        messages::{
            deleting, events, indexing, lists,
            record::{self, Message},
        },
    },
    error::Result,
    event::Kind,
    id::FileId,
};

/// Removes a file. One that a message shows goes for those who may delete the message ([`deleting::delete`]), and a message that
/// was this file alone is deleted; one that no message has taken, for who uploaded it. 404 for a file that the caller may not read,
/// 403 for other members of its channel.
pub fn remove(tx: &mut Tx, caller: Caller, id: FileId) -> Result<()> {
    let file = files::readable(tx, caller, id)?;
    let Some((channel, message)) = file.message else { return removal::end(tx, id) };
    let message = record::find_live(tx, channel, message)?;
    let access = access::require_channel_member(tx, caller, channel, files::UNKNOWN)?;
    deleting::require_remover(&access, caller, &message)?;
    take_out(tx, &message, id)
}

/// Takes these files out of their messages, as the authors could, at the command line. Those that are gone already, or that no
/// message has taken, are passed over.
pub fn purge(tx: &mut Tx, ids: &[FileId]) -> Result<()> {
    for id in ids {
        if let Some((channel, message)) = files::message_of(tx, *id)? {
            let message = record::find_live(tx, channel, message)?;
            take_out(tx, &message, *id)?;
        }
    }
    Ok(())
}

/// A message that was this file alone is deleted.
fn take_out(tx: &mut Tx, message: &Message, id: FileId) -> Result<()> {
    let media: Vec<Media> = message.media.iter().filter(|media| media.id != id).cloned().collect();
    if media.is_empty() && message.content.trim().is_empty() {
        return deleting::delete_found(tx, message);
    }
    removal::end(tx, id)?;
    announce(tx, message, &media)
}

/// Writes what a message shows, by its `n`.
pub fn set(tx: &Tx, n: i64, media: &[Media]) -> Result<()> {
    tx.prepare_cached("update messages set media = ?2 where n = ?1")?.execute((n, Media::to_column(media)?))?;
    Ok(())
}

/// Writes what a message that others may see shows, and tells them.
pub fn announce(tx: &mut Tx, message: &Message, media: &[Media]) -> Result<()> {
    set(tx, message.n, media)?;
    indexing::replace(tx, message.n)?;
    let message = lists::get(tx, message.n)?;
    let body = events::about(Kind::MediaUpdated, &message, &message);
    events::emit_to_readers(tx, &message, Kind::MediaUpdated, &body)
}
