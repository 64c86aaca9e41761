//! Messages that are pinned to their channel.

use rusqlite::Connection;

use crate::{
    db::Tx,
    domain::{
        access::{self, Caller},
        log::publication_envelope::envelope,
        messages::{
            events, lists,
            payloads::{PinIds, ids},
            reactions, reactions_and_participants,
            record::{self, Message},
        },
        page::Page,
    },
    error::{Code, Error, Result},
    event::Kind,
    id::{ChannelId, MessageId},
};

/// Pinned messages per channel, at most.
const MOST: i64 = 100;

/// Pins a message to its channel. For members of the channel with the right to post, unless it is archived. Pinning a pinned
/// message changes nothing. 404 for an unknown message, 403 for other callers, 422 when the channel has 100 pinned messages.
pub fn pin(tx: &mut Tx, caller: Caller, channel: ChannelId, id: MessageId) -> Result<Message> {
    let (_, mut message) = reactions::reach(tx, caller, channel, id)?;
    if message.is_pinned {
        reactions_and_participants::attach(tx, std::slice::from_mut(&mut message))?;
        return Ok(message);
    }
    let pinned: i64 = tx
        .prepare_cached("select count(*) from messages where channel_id = ?1 and pinned_at is not null")?
        .query_row([channel], |row| row.get(0))?;
    if pinned >= MOST {
        return Err(Error::Invalid(
            Code::LimitReached.says(format!("a channel has at most {MOST} pinned messages")).with_limit(MOST),
        ));
    }
    tx.prepare_cached("update messages set pinned_at = ?2, pinned_by = ?3 where n = ?1")?.execute((
        message.n,
        tx.now(),
        caller.user,
    ))?;
    let message = lists::get(tx, message.n)?;
    announce(tx, &message)?;
    Ok(message)
}

/// Publishes that the message was pinned.
fn announce(tx: &mut Tx, message: &Message) -> Result<()> {
    let pinned_details = message.pin.as_ref().ok_or_else(|| Error::internal("the message was just pinned"))?;
    let more = PinIds { modification_ids: ids(message), pinned_details };
    let body = envelope(Kind::Pinned, message.is_reply, message).with(more);
    events::emit_to_readers(tx, message, Kind::Pinned, &body)
}

/// Unpins a message. For members of the channel with the right to post, unless it is archived. 404 when it is not pinned.
pub fn unpin(tx: &mut Tx, caller: Caller, channel: ChannelId, id: MessageId) -> Result<()> {
    let (_, message) = reactions::reach(tx, caller, channel, id)?;
    if !message.is_pinned {
        return Err(Error::NotFound(Code::PinNotFound));
    }
    tx.prepare_cached("update messages set pinned_at = null, pinned_by = null where n = ?1")?.execute([message.n])?;
    let message = lists::get(tx, message.n)?;
    let body = events::about(Kind::Unpinned, &message, &message);
    events::emit_to_readers(tx, &message, Kind::Unpinned, &body)
}

/// Lists a channel's pinned posts and replies, the latest pinned first. For members of the channel.
pub fn list(conn: &Connection, caller: Caller, channel: ChannelId, page: Page) -> Result<Vec<Message>> {
    access::require_channel_member(conn, caller, channel, access::UNKNOWN_CHANNEL)?;
    let sql = format!(
        "{} where m.channel_id = ?1 and m.pinned_at is not null order by m.pinned_at desc, m.n desc limit ?2 offset ?3",
        record::SELECT
    );
    let mut select = conn.prepare_cached(&sql)?;
    let pinned = select.query_map((channel, page.size, page.offset), record::from_row)?;
    let mut pinned: Vec<Message> = pinned.collect::<rusqlite::Result<_>>()?;
    reactions_and_participants::attach(conn, &mut pinned)?;
    Ok(pinned)
}
