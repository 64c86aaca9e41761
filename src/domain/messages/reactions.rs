//! Reactions to messages: emojis, and the users who gave them.

use std::collections::HashMap;

use rusqlite::Connection;
use serde_json::json;

use crate::{
    db::Tx,
    domain::{
        access::{self, Caller, ChannelAccess},
        accounts,
        log::publication_envelope::envelope,
        messages::{
            events,
            payloads::{ReactionChange, ReactionIds, ids},
            record::{self, Message, Reaction},
        },
        text::Emoji,
    },
    error::{Code, Error, Result},
    event::Kind,
    id::{ChannelId, MessageId},
};

/// Different emojis per message, at most.
pub const EMOJIS_MAX: i64 = 50;
/// Users listed with each reaction, at most; its count includes all.
const USERS_SHOWN: i64 = 100;

/// Adds the caller's reaction to a message, and returns the message's reactions. For members of the channel with the right
/// to post, unless it is archived. Adding the same reaction again changes nothing. 404 for an unknown message, 403 for other
/// callers, 422 for a text that is no emoji, which the field of the request has, and for too many different ones.
pub fn add(
    tx: &mut Tx,
    caller: Caller,
    channel: ChannelId,
    id: MessageId,
    (emoji, field): (&str, &'static str),
) -> Result<Vec<Reaction>> {
    let (access, mut message) = reach(tx, caller, channel, id)?;
    Emoji::check(emoji, field).map_err(Error::Invalid)?;
    let others: i64 = tx
        .prepare_cached("select count(*) from reaction_counts where n = ?1 and emoji <> ?2")?
        .query_row((message.n, emoji), |row| row.get(0))?;
    if others >= EMOJIS_MAX {
        return Err(Error::Invalid(
            Code::LimitReached.says(format!("a message takes at most {EMOJIS_MAX} different reactions")).with_limit(EMOJIS_MAX),
        ));
    }
    let now = tx.now();
    let added = tx
        .prepare_cached("insert into reactions (n, emoji, user_id, created_at) values (?1, ?2, ?3, ?4) on conflict do nothing")?
        .execute((message.n, emoji, caller.user, now))?;
    if added > 0 {
        tx.prepare_cached(
            "insert into reaction_counts (n, emoji, count, first_at) values (?1, ?2, 1, ?3)
             on conflict (n, emoji) do update set count = count + 1",
        )?
        .execute((message.n, emoji, now))?;
    }
    attach(tx, [&mut message])?;
    if added > 0 {
        announce(tx, &access, &message, emoji, "added")?;
    }
    Ok(message.reactions)
}

/// Removes the caller's reaction. For the same callers as [`add`]. 404 when there is none.
pub fn remove(tx: &mut Tx, caller: Caller, channel: ChannelId, id: MessageId, emoji: &str) -> Result<()> {
    let (access, mut message) = reach(tx, caller, channel, id)?;
    let removed = tx.prepare_cached("delete from reactions where n = ?1 and emoji = ?2 and user_id = ?3")?.execute((
        message.n,
        emoji,
        caller.user,
    ))?;
    if removed == 0 {
        return Err(Error::NotFound(Code::ReactionNotFound));
    }
    tx.prepare_cached(
        "update reaction_counts set count = count - 1,
           first_at = coalesce((select min(created_at) from reactions where n = ?1 and emoji = ?2), first_at)
         where n = ?1 and emoji = ?2",
    )?
    .execute((message.n, emoji))?;
    tx.prepare_cached("delete from reaction_counts where n = ?1 and emoji = ?2 and count = 0")?.execute((message.n, emoji))?;
    attach(tx, [&mut message])?;
    announce(tx, &access, &message, emoji, "removed")
}

/// Finds a live message that the caller may react to or pin. For members of the channel with the right to post, unless it is
/// archived; 403 otherwise.
pub(in crate::domain) fn reach(
    conn: &Connection,
    caller: Caller,
    channel: ChannelId,
    id: MessageId,
) -> Result<(ChannelAccess, Message)> {
    let access = access::require_channel_member(conn, caller, channel, access::UNKNOWN_CHANNEL)?;
    let message = record::find_live(conn, channel, id)?;
    access.require_poster()?;
    access.require_live()?;
    Ok((access, message))
}

/// Publishes a change to the message's reactions, which were read after it.
fn announce(tx: &mut Tx, access: &ChannelAccess, message: &Message, emoji: &str, action: &str) -> Result<()> {
    let reaction = message.reactions.iter().find(|reaction| reaction.emoji == emoji);
    let data = ReactionChange {
        action,
        emoji,
        count: reaction.map_or(0, |reaction| reaction.count),
        user_id: access.user,
        username: access.username.as_deref().unwrap_or_default(),
        user_type: accounts::user_type(accounts::is_bot(tx, access.user)?),
        message_id: message.id,
        thread_id: message.thread,
        channels_id: message.channel,
        reactions: &message.reactions,
    };
    let more = ReactionIds { modification_ids: ids(message), reactions: &message.reactions };
    let body = envelope(Kind::Reaction, message.is_reply, data).with(more);
    events::emit_to_readers(tx, message, Kind::Reaction, &body)
}

/// Reads the reactions of all these messages at once, each with its count and its first users.
pub fn attach<'a>(conn: &Connection, messages: impl IntoIterator<Item = &'a mut Message>) -> Result<()> {
    let live = messages.into_iter().filter(|message| message.deleted_at.is_none());
    let mut messages: HashMap<i64, &mut Message> = live.map(|message| (message.n, message)).collect();
    let ns: Vec<i64> = messages.keys().copied().collect();
    let mut select = conn.prepare_cached(
        "select n, emoji, count from reaction_counts where n in (select value from json_each(?1)) order by first_at, emoji",
    )?;
    let mut users = conn.prepare_cached(FIRST)?;
    let mut rows = select.query([json!(ns).to_string()])?;
    while let Some(row) = rows.next()? {
        let (n, emoji): (i64, String) = (row.get("n")?, row.get("emoji")?);
        let Some(message) = messages.get_mut(&n) else { continue };
        let users = users.query_map((n, &emoji, USERS_SHOWN), |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
        message.reactions.push(Reaction { emoji, count: row.get("count")?, users });
    }
    Ok(())
}

/// SQL that selects the first users who gave a reaction.
pub const FIRST: &str = "select user_id from reactions where n = ?1 and emoji = ?2 order by created_at, user_id limit ?3";
