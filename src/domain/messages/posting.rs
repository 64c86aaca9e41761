//! Posting messages.

use rusqlite::Connection;

use crate::{
    db::Tx,
    domain::{
        access::{self, Caller},
        channels::reading::{self, Counts},
        messages::{
            events,
            mentions::{self, Mention},
            record::{self, FED, Message, UNKNOWN_THREAD},
        },
    },
    error::{Error, OrConflict, Result},
    id::{ChannelId, MessageId, OrganisationId, UserId},
    time::Time,
};

pub const CONTENT_MAX: usize = 40_000;
pub struct New {
    pub content: String,
    /// Makes it a reply to that thread.
    pub thread: Option<MessageId>,
    /// Made by the client, so that a repeated request is known for one.
    pub id: Option<MessageId>,
}

/// Members of the channel with the right to post. The same `id` by the same author in the same channel
/// and thread gives the first message again and changes nothing.
pub fn create(tx: &mut Tx, caller: Caller, channel: ChannelId, new: &New) -> Result<Message> {
    let access = access::may_post(tx, caller, channel, access::HIDDEN_CHANNEL)?;
    // First of all: a repeat is answered like the first time, whatever became of channel and thread.
    if let Some(id) = new.id
        && let Some(first) = record::find(tx, id)?
    {
        let same = first.user == Some(caller.user) && first.channel == channel && first.is_reply == new.thread.is_some();
        let same = same && new.thread.is_none_or(|thread| thread == first.thread);
        return if same { Ok(first) } else { Err(id_taken()) };
    }
    access.require_live()?;
    let root = match new.thread {
        None => None,
        Some(thread) => Some(record::find_root(tx, channel, thread)?.ok_or(UNKNOWN_THREAD)?),
    };
    check_content(&new.content)?;
    let id = match new.id {
        Some(id) if names_another_stream(tx, id)? => return Err(id_taken()),
        Some(id) => id,
        None => MessageId::new(),
    };
    let unread = reading::counts(tx, channel, caller.user)?;
    let post = Post {
        id,
        channel,
        organisation: access.organisation,
        root,
        author: Author::Member(caller.user),
        username: access.username.as_deref().unwrap_or_default(),
        content: &new.content,
    };
    let message = write(tx, &post)?;
    reading::mark_all(tx, caller.user, channel)?;
    if unread != Counts::default() {
        reading::announce(tx, caller.user, channel, Counts::default())?;
    }
    Ok(message)
}

/// Who speaks.
pub(in crate::domain) enum Author<'a> {
    Member(UserId),
    /// A program: the member whose bearer it sent, if it sent one. The name it gives is only a label.
    Feed(Option<UserId>, Labels<'a>),
}

/// What a feed's post shows besides.
#[derive(Default)]
pub(in crate::domain) struct Labels<'a> {
    pub event_name: &'a str,
    pub action_type: &'a str,
    pub avatar_url: &'a str,
    /// `success` or `error`.
    pub status: &'a str,
}

/// A message as it is to be written: all rules are kept.
pub(in crate::domain) struct Post<'a> {
    pub id: MessageId,
    pub channel: ChannelId,
    pub organisation: OrganisationId,
    /// The `n` of the thread that it replies to.
    pub root: Option<i64>,
    pub author: Author<'a>,
    pub username: &'a str,
    pub content: &'a str,
}

/// Writes a message with its mentions, keeps the counters, announces it, and queues it for the channel's webhooks. 422
/// when the id is taken.
pub(in crate::domain) fn write(tx: &mut Tx, post: &Post) -> Result<Message> {
    let mentions = mentions::find(tx, post.channel, post.content)?;
    let (user, kind, labels) = match &post.author {
        Author::Member(user) => (Some(user), "message", &Labels { status: "success", ..Labels::default() }),
        Author::Feed(author, labels) => (author.as_ref(), FED, labels),
    };
    let now = tx.now();
    tx.prepare_cached(
        "insert into messages (id, channel_id, root, user_id, username, content, mentions, type, event_name, action_type,
           avatar_url, status, created_at, updated_at)
         values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?13)",
    )?
    .execute((
        post.id,
        post.channel,
        post.root,
        user,
        post.username,
        post.content,
        record::to_json(&mentions)?,
        kind,
        labels.event_name,
        labels.action_type,
        labels.avatar_url,
        labels.status,
        now,
    ))
    .or_conflict(id_taken)?;
    count(tx, post.channel, tx.last_insert_rowid(), post.root, now, &mentions)?;
    let message = record::find(tx, post.id)?.ok_or_else(|| Error::internal("the message was just written"))?;
    events::posted(tx, &message, post.organisation)?;
    Ok(message)
}

fn id_taken() -> Error {
    Error::invalid("This message id is taken")
}

/// A message's id names its thread's stream. One that is a channel's or an organisation's would let its
/// author hear that stream.
fn names_another_stream(conn: &Connection, id: MessageId) -> Result<bool> {
    let sql =
        "select 1 where exists (select 1 from channels where id = ?1) or exists (select 1 from organisations where id = ?1)";
    Ok(conn.prepare_cached(sql)?.exists([id])?)
}

/// Not only white space, at most 40,000 characters.
pub fn check_content(content: &str) -> Result<()> {
    if content.trim().is_empty() {
        return Err(Error::invalid("a message must not be empty"));
    }
    if content.chars().count() > CONTENT_MAX {
        return Err(Error::invalid(format!("a message is longer than {CONTENT_MAX} characters")));
    }
    Ok(())
}

/// Keeps the counters of channel and thread, and the rows behind the counts of unread mentions.
fn count(tx: &Tx, channel: ChannelId, n: i64, root: Option<i64>, now: Time, mentions: &[Mention]) -> Result<()> {
    let everybody = mentions::name_everybody(mentions);
    match root {
        None => {
            tx.prepare_cached("update messages set active_n = n where n = ?1")?.execute([n])?;
            tx.prepare_cached(
                "update channels set message_count = message_count + 1, thread_count = thread_count + 1,
                   mention_count = mention_count + ?3, last_n = ?2, last_thread = ?2 where id = ?1",
            )?
            .execute((channel, n, everybody))?;
        }
        Some(root) => {
            tx.prepare_cached(
                "update messages set active_n = ?2, reply_count = reply_count + 1, last_reply_at = ?3 where n = ?1",
            )?
            .execute((root, n, now))?;
            tx.prepare_cached(
                "update channels set message_count = message_count + 1, mention_count = mention_count + ?3, last_n = ?2 where id = ?1",
            )?
            .execute((channel, n, everybody))?;
        }
    }
    mentions::record(tx, channel, n, mentions)
}
