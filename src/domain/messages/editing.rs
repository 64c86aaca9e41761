//! Editing messages.

use rusqlite::{Connection, OptionalExtension};

use crate::{
    db::Tx,
    domain::{
        access::{self, Caller},
        files::{
            Media,
            taking::{self, Wanted},
        },
        messages::{
            action_buttons::{self, Actions},
            events, indexing, mention_count_changes,
            mentions::{self, MessageKey},
            posting::check_text,
            reactions_and_participants,
            record::{self, Message, UNKNOWN},
        },
    },
    error::{Code, Error, Result},
    id::{ChannelId, MessageId, UserId},
};

/// A new text, and which message it is for.
#[derive(Default)]
pub struct Edit {
    pub content: String,
    /// The message to edit. If absent, the caller's latest one; posts that the caller's programs fed don't count.
    pub message: Option<MessageId>,
    /// The thread that the message must belong to. Without `message`, the latest one among this thread's replies is edited.
    pub thread: Option<MessageId>,
    /// What can be clicked from now on. If absent, what could be.
    pub actions: Option<Vec<action_buttons::New>>,
    /// The files that it shows from now on. If absent, those that it showed.
    pub files: Option<Vec<Wanted>>,
}

/// Replaces the text of a message. For its author, while a member of the channel, in a channel that is not archived.
/// Notifies the users whom only the new text mentions; its mentions count as unread like those of the first text. 403 for
/// other callers, and for a hidden or archived channel; 404 for an unknown message; 422 for an invalid text.
pub fn edit(tx: &mut Tx, caller: Caller, channel: ChannelId, edit: &Edit) -> Result<Message> {
    let access = access::require_channel_member(tx, caller, channel, access::HIDDEN_CHANNEL)?;
    access.require_live()?;
    let id = match edit.message {
        Some(id) => id,
        None => latest_own(tx, caller.user, channel, edit.thread)?.ok_or(UNKNOWN)?,
    };
    let message = record::find_live(tx, channel, id)?;
    if edit.thread.is_some_and(|thread| thread != message.thread) {
        return Err(UNKNOWN);
    }
    if message.user != Some(caller.user) {
        return Err(Error::Forbidden(Code::AuthorOnly, "Only its author edits a message"));
    }
    let media = match &edit.files {
        None => message.media.clone(),
        Some(wanted) => taking::check(tx, caller, access.organisation, wanted, &message.media)?,
    };
    check_text(&edit.content, !media.is_empty())?;
    let actions = match &edit.actions {
        None => message.actions.clone(),
        Some(list) => Actions::check_of_bot(tx, caller.user, list)?,
    };
    replace(tx, message, &edit.content, actions.as_ref(), media)
}

/// Replaces the text of a message, what can be clicked, and its files. All checks were made.
pub(in crate::domain) fn replace(
    tx: &mut Tx,
    message: Message,
    content: &str,
    actions: Option<&Actions>,
    media: Vec<Media>,
) -> Result<Message> {
    let (id, channel) = (message.id, message.channel);
    tx.quotas().charge_organisation(message.organisation, content.len())?;
    let mentions = mentions::find(tx, channel, content)?;
    let actions = actions.map(Actions::to_json).transpose()?;
    let sql =
        "update messages set content = ?2, mentions = ?3, actions = ?5, media = ?6, updated_at = ?4, edited_at = ?4 where n = ?1";
    tx.prepare_cached(sql)?.execute((
        message.n,
        content,
        record::to_json(&mentions)?,
        tx.now(),
        actions,
        Media::to_column(&media)?,
    ))?;
    taking::give(tx, (channel, message.n), &media, &message.media)?;
    let root = tx.prepare_cached("select root from messages where n = ?1")?.query_row([message.n], |row| row.get(0))?;
    let key = MessageKey { channel, n: message.n, root };
    let recount = mention_count_changes::record_anew(tx, key, message.user, &message.mentions, &mentions)?;
    indexing::replace(tx, message.n)?;
    let before = message.mentions;
    let mut message = record::find(tx, id)?.ok_or_else(|| Error::internal("the message was just written"))?;
    reactions_and_participants::attach(tx, std::slice::from_mut(&mut message))?;
    events::edited(tx, &message, &before, recount)?;
    Ok(message)
}

fn latest_own(conn: &Connection, user: UserId, channel: ChannelId, thread: Option<MessageId>) -> Result<Option<MessageId>> {
    let sql = match thread {
        None => {
            "select id from messages where channel_id = ?1 and user_id = ?2 and root is null and type = 'message' and ?3 is null
               and deleted_at is null order by n desc limit 1"
        }
        Some(_) => {
            "select id from messages where root = (select n from messages where id = ?3 and root is null)
               and channel_id = ?1 and user_id = ?2 and deleted_at is null order by n desc limit 1"
        }
    };
    Ok(conn.prepare_cached(sql)?.query_row((channel, user, thread), |row| row.get(0)).optional()?)
}
