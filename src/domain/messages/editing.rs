//! Editing messages.

use rusqlite::{Connection, OptionalExtension};

use crate::{
    db::Tx,
    domain::{
        access::{self, Caller},
        messages::{
            events, indexing, mentions,
            posting::check_content,
            reactions,
            record::{self, Message, UNKNOWN},
        },
    },
    error::{Error, Result},
    id::{ChannelId, MessageId, UserId},
};

/// Which message an edit means.
pub struct Edit {
    pub content: String,
    /// The caller's latest when absent; none that a program of theirs fed.
    pub message: Option<MessageId>,
    /// Among the replies of that thread.
    pub thread: Option<MessageId>,
}

/// The author only, still a member, in a channel that is not archived. Tells those whom only the
/// new text mentions, and its mentions count as unread like those of the first one.
pub fn edit(tx: &mut Tx, caller: Caller, channel: ChannelId, edit: &Edit) -> Result<Message> {
    let access = access::is_in_channel(tx, caller, channel, access::HIDDEN_CHANNEL)?;
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
        return Err(Error::Forbidden("Only its author edits a message"));
    }
    check_content(&edit.content)?;
    let mentions = mentions::find(tx, channel, &edit.content)?;
    tx.prepare_cached("update messages set content = ?2, mentions = ?3, updated_at = ?4, edited_at = ?4 where n = ?1")?
        .execute((message.n, &edit.content, record::to_json(&mentions)?, tx.now()))?;
    let recount = mentions::record_anew(tx, channel, message.n, &mentions)?;
    indexing::replace(tx, message.n)?;
    let before = message.mentions;
    let mut message = record::find(tx, id)?.ok_or_else(|| Error::internal("the message was just written"))?;
    events::edited(tx, &message, access.organisation, &before, recount)?;
    reactions::attach(tx, [&mut message])?;
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
