//! Writing a new message of a member or a program: its row, mentions, counters and events. Nothing that was just written is
//! read back.

use crate::{
    db::Tx,
    domain::{
        files::{Media, taking},
        messages::{
            action_buttons::Actions,
            events,
            mentions::{self, MessageKey},
            record::{self, Message},
            thread_members::{self, Root},
        },
    },
    error::{Code, Error, OrConflict, Result},
};

/// Writes a message, as a reply if there is a root, with its mentions and the counters that it changes, and announces it. All
/// checks were made. 422 when the id is taken; 429 if the organisation has written as much as it may.
pub(in crate::domain) fn write(tx: &mut Tx, mut message: Message, root: Option<Root>) -> Result<Message> {
    message.mentions = mentions::find(tx, message.channel, &message.content)?;
    write_as_is(tx, message, root)
}

/// Works like [`write()`], and keeps the mentions that the message has: none if it is new. For texts by strangers, who must not
/// notify anybody.
pub(in crate::domain) fn write_as_is(tx: &mut Tx, mut message: Message, root: Option<Root>) -> Result<Message> {
    let channel = message.channel;
    if let Some(root) = &root {
        (message.thread, message.is_reply) = (root.id, true);
    }
    let root_n = root.as_ref().map(|root| root.n);
    message.n = insert(tx, &message, root_n)?;
    tx.quotas().charge_organisation(message.organisation, message.content.len())?; // not for an identifier that is taken
    let key = MessageKey { channel, n: message.n, root: root_n };
    mentions::record(tx, key, &message.mentions)?;
    taking::give(tx, (channel, message.n), &message.media, &[])?;
    let is_new_participant = match &root {
        Some(root) => thread_members::replied(tx, root, key, message.user, &message.mentions)?,
        None => false,
    };
    events::posted(tx, &message, is_new_participant)?;
    Ok(message)
}

/// Writes the message's row, and returns its position. [`record::find`] would read the same message.
fn insert(tx: &Tx, message: &Message, root: Option<i64>) -> Result<i64> {
    // The select gives the number that `autoincrement` would give, because `active_n` of a new thread is that number, too:
    // setting it afterwards would write the row and its index twice.
    tx.prepare_cached(
        "insert into messages (n, id, channel_id, root, user_id, username, content, mentions, type, event_name, action_type,
           avatar_url, status, active_n, created_at, updated_at, actions, media)
         select next.n, ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, iif(?3 is null, next.n, 0), ?13, ?13, ?14, ?15
         from (select coalesce((select seq from sqlite_sequence where name = 'messages'), 0) + 1 as n) next",
    )?
    .execute((
        message.id,
        message.channel,
        root,
        message.user,
        &message.username,
        &message.content,
        record::to_json(&message.mentions)?,
        &message.kind,
        &message.event_name,
        &message.action_type,
        if message.user.is_some() { "" } else { &message.author.avatar_url }, // a member's is the account's
        &message.status,
        message.created_at,
        message.actions.as_ref().map(Actions::to_json).transpose()?,
        Media::to_column(&message.media)?,
    ))
    .or_conflict(id_taken)?;
    Ok(tx.last_insert_rowid())
}

pub(super) fn id_taken() -> Error {
    Error::Invalid(Code::IdTaken.says("This message id is taken"))
}
