//! Messages: top-level posts, each a thread, and replies.
//!
//! Below: deleting, mentions, reactions, pins, threads, and the search with its index. Uses channels and all below them.

pub mod deleting;
pub mod events;
pub mod indexing;
pub mod mentions;
pub mod pins;
pub mod reactions;
pub mod search;
pub mod threads;

use rusqlite::{Connection, OptionalExtension, Row};
use serde_json::json;

use crate::{
    db::Tx,
    domain::{
        Caller, accounts,
        channels::{
            self,
            reading::{self, Counts},
        },
        messages::{mentions::Mention, reactions::Reaction},
        organisations::roles::Rights,
        page::Page,
    },
    error::{Error, OrConflict, Result},
    id::{ChannelId, MessageId, OrganisationId, UserId},
    time::Time,
};

pub const CONTENT_MAX: usize = 40_000;
/// The `type` of what programs feed.
pub(super) const FED: &str = "thread";

#[derive(Clone, Debug)]
pub struct Message {
    /// Its place in the order of all messages.
    pub n: i64,
    pub id: MessageId,
    pub channel: ChannelId,
    /// Its own id, or its root's.
    pub thread: MessageId,
    pub is_reply: bool,
    /// The author; none for a feed that came without a bearer.
    pub user: Option<UserId>,
    /// The author's name in the channel, or the name that a feed gave.
    pub username: String,
    pub full_name: String,
    pub email: String,
    pub avatar_url: String,
    pub content: String,
    pub mentions: Vec<Mention>,
    pub kind: String,
    pub event_name: String,
    pub action_type: String,
    pub status: String,
    pub current_status: String,
    pub reply_count: i64,
    pub last_reply_at: Option<Time>,
    pub created_at: Time,
    pub updated_at: Time,
    pub is_edited: bool,
    pub deleted_at: Option<Time>,
    pub is_pinned: bool,
    /// Read where messages are shown: [`reactions::attach`].
    pub reactions: Vec<Reaction>,
}

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
    let access = channels::find(tx, caller, channel)?.ok_or(channels::HIDDEN)?;
    access.require_member()?;
    access.membership.require(Rights::POST_MESSAGES)?;
    // First of all: a repeat is answered like the first time, whatever became of channel and thread.
    if let Some(id) = new.id
        && let Some(first) = find(tx, id)?
    {
        let same = first.user == Some(caller.user) && first.channel == channel && first.is_reply == new.thread.is_some();
        let same = same && new.thread.is_none_or(|thread| thread == first.thread);
        return if same { Ok(first) } else { Err(id_taken()) };
    }
    access.require_live()?;
    let root = match new.thread {
        None => None,
        Some(thread) => Some(find_root(tx, channel, thread)?.ok_or(threads::UNKNOWN)?),
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
        organisation: access.channel.organisation,
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
pub(super) enum Author<'a> {
    Member(UserId),
    /// A program: the member whose bearer it sent, if it sent one. The name it gives is only a label.
    Feed(Option<UserId>, Labels<'a>),
}

/// What a feed's post shows besides.
#[derive(Default)]
pub(super) struct Labels<'a> {
    pub event_name: &'a str,
    pub action_type: &'a str,
    pub avatar_url: &'a str,
    /// `success` or `error`.
    pub status: &'a str,
}

/// A message as it is to be written: all rules are kept.
pub(super) struct Post<'a> {
    pub id: MessageId,
    pub channel: ChannelId,
    pub organisation: OrganisationId,
    /// The `n` of the thread that it replies to.
    pub root: Option<i64>,
    pub author: Author<'a>,
    pub username: &'a str,
    pub content: &'a str,
}

/// Writes a message with its mentions, keeps the counters, and announces it. 422 when the id is taken.
pub(super) fn write(tx: &mut Tx, post: &Post) -> Result<Message> {
    let mentions = mentions::find(tx, post.channel, post.content)?;
    let (user, kind, labels) = match &post.author {
        Author::Member(user) => (Some(user), "message", &Labels { status: "success", ..Labels::default() }),
        Author::Feed(author, labels) => (author.as_ref(), FED, labels),
    };
    let now = Time::now();
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
        to_json(&mentions)?,
        kind,
        labels.event_name,
        labels.action_type,
        labels.avatar_url,
        labels.status,
        now,
    ))
    .or_conflict(id_taken)?;
    count(tx, post.channel, tx.last_insert_rowid(), post.root, now, &mentions)?;
    let message = find(tx, post.id)?.ok_or_else(|| Error::internal("the message was just written"))?;
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
    let access = channels::find(tx, caller, channel)?.ok_or(channels::HIDDEN)?;
    access.require_member()?;
    access.require_live()?;
    let id = match edit.message {
        Some(id) => id,
        None => latest_own(tx, caller.user, channel, edit.thread)?.ok_or(UNKNOWN)?,
    };
    let message = find_live(tx, channel, id)?;
    if edit.thread.is_some_and(|thread| thread != message.thread) {
        return Err(UNKNOWN);
    }
    if message.user != Some(caller.user) {
        return Err(Error::Forbidden("Only its author edits a message"));
    }
    check_content(&edit.content)?;
    let mentions = mentions::find(tx, channel, &edit.content)?;
    tx.prepare_cached("update messages set content = ?2, mentions = ?3, updated_at = ?4, edited_at = ?4 where n = ?1")?
        .execute((message.n, &edit.content, to_json(&mentions)?, Time::now()))?;
    let recount = mentions::record_anew(tx, channel, message.n, &mentions)?;
    indexing::replace(tx, message.n)?;
    let before = message.mentions;
    let mut message = find(tx, id)?.ok_or_else(|| Error::internal("the message was just written"))?;
    events::edited(tx, &message, access.channel.organisation, &before, recount)?;
    reactions::attach(tx, [&mut message])?;
    Ok(message)
}

/// A message missing inside a channel that the caller sees.
pub const UNKNOWN: Error = Error::NotFound("Message");

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

/// The `n` of a live top-level post of the channel.
pub fn find_root(conn: &Connection, channel: ChannelId, thread: MessageId) -> Result<Option<i64>> {
    Ok(conn
        .prepare_cached("select n from messages where id = ?1 and channel_id = ?2 and root is null and deleted_at is null")?
        .query_row((thread, channel), |row| row.get(0))
        .optional()?)
}

/// Where a list begins and ends; messages are named by id and ordered by `n`.
#[derive(Clone, Copy, Default)]
pub struct Range {
    pub before: Option<MessageId>,
    pub after: Option<MessageId>,
}

impl Range {
    /// The ones right after a message are its oldest successors.
    pub fn is_ascending(self) -> bool {
        self.after.is_some() && self.before.is_none()
    }
}

/// The channel's top-level posts, newest first, or in an ascending range oldest first. For members of the
/// channel. A deleted one is listed while it has replies.
pub fn list(conn: &Connection, caller: Caller, channel: ChannelId, range: Range, page: Page) -> Result<Vec<Message>> {
    let access = channels::find(conn, caller, channel)?.ok_or(channels::UNKNOWN)?;
    access.require_member()?;
    let place = |id: Option<MessageId>, otherwise: i64| -> Result<i64> {
        let Some(id) = id else { return Ok(otherwise) };
        let n = conn
            .prepare_cached("select n from messages where id = ?1 and channel_id = ?2")?
            .query_row((id, channel), |row| row.get(0))
            .optional()?;
        n.ok_or(UNKNOWN)
    };
    let (before, after) = (place(range.before, i64::MAX)?, place(range.after, 0)?);
    let order = if range.is_ascending() { "asc" } else { "desc" };
    let sql = format!(
        "{SELECT} where m.channel_id = ?1 and m.root is null and m.n < ?2 and m.n > ?3 and (m.deleted_at is null or m.reply_count > 0)
         order by m.n {order} limit ?4 offset ?5"
    );
    let mut messages: Vec<Message> = conn
        .prepare_cached(&sql)?
        .query_map((channel, before, after, page.size, page.offset), from_row)?
        .collect::<rusqlite::Result<_>>()?;
    reactions::attach(conn, &mut messages)?;
    Ok(messages)
}

/// The messages with these `n`, in their order.
pub fn at(conn: &Connection, ns: &[i64]) -> Result<Vec<Message>> {
    let sql = format!("{SELECT} where m.n in (select value from json_each(?1)) order by m.n");
    let mut select = conn.prepare_cached(&sql)?;
    let mut messages: Vec<Message> = select.query_map([json!(ns).to_string()], from_row)?.collect::<rusqlite::Result<_>>()?;
    reactions::attach(conn, &mut messages)?;
    Ok(messages)
}

pub fn find(conn: &Connection, id: MessageId) -> Result<Option<Message>> {
    Ok(conn.prepare_cached(&format!("{SELECT} where m.id = ?1"))?.query_row([id], from_row).optional()?)
}

/// A message of the channel that is not deleted; 404 otherwise.
pub fn find_live(conn: &Connection, channel: ChannelId, id: MessageId) -> Result<Message> {
    find(conn, id)?.filter(|message| message.channel == channel && message.deleted_at.is_none()).ok_or(UNKNOWN)
}

fn to_json(mentions: &[Mention]) -> Result<String> {
    serde_json::to_string(mentions).map_err(Error::internal)
}

pub(super) const SELECT: &str = "select m.n, m.id, m.channel_id, m.root, coalesce(r.id, m.id) as thread_id, m.user_id, m.username,
      coalesce(u.first_name, '') as first_name, coalesce(u.last_name, '') as last_name, coalesce(u.email, '') as email,
      coalesce(u.avatar_url, m.avatar_url) as avatar_url, m.content, m.mentions, m.type, m.event_name, m.action_type, m.status,
      m.current_status, m.reply_count, m.last_reply_at, m.created_at, m.updated_at, m.edited_at is not null as is_edited, m.deleted_at,
      m.pinned_at is not null as is_pinned
    from messages m left join users u on u.id = m.user_id left join messages r on r.n = m.root";

pub(super) fn from_row(row: &Row) -> rusqlite::Result<Message> {
    Ok(Message {
        n: row.get("n")?,
        id: row.get("id")?,
        channel: row.get("channel_id")?,
        thread: row.get("thread_id")?,
        is_reply: row.get::<_, Option<i64>>("root")?.is_some(),
        user: row.get("user_id")?,
        username: row.get("username")?,
        full_name: accounts::full_name(&row.get::<_, String>("first_name")?, &row.get::<_, String>("last_name")?),
        email: row.get("email")?,
        avatar_url: row.get("avatar_url")?,
        content: row.get("content")?,
        mentions: serde_json::from_str(&row.get::<_, String>("mentions")?).unwrap_or_default(),
        kind: row.get("type")?,
        event_name: row.get("event_name")?,
        action_type: row.get("action_type")?,
        status: row.get("status")?,
        current_status: row.get("current_status")?,
        reply_count: row.get("reply_count")?,
        last_reply_at: row.get("last_reply_at")?,
        created_at: row.get("created_at")?,
        updated_at: row.get("updated_at")?,
        is_edited: row.get("is_edited")?,
        deleted_at: row.get("deleted_at")?,
        is_pinned: row.get("is_pinned")?,
        reactions: Vec::new(),
    })
}
