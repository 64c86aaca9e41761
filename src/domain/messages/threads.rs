//! Threads: top-level posts with their replies, by latest activity.

use rusqlite::Connection;

use crate::{
    db::Tx,
    domain::{
        access::{self, Caller},
        channels,
        messages::{
            editing, events,
            payloads::ThreadStatus,
            posting, reactions,
            record::{self, Message, UNKNOWN_THREAD},
        },
        page::Page,
    },
    error::{Error, Result},
    event::{Kind, Stream},
    id::{ChannelId, MessageId, OrganisationId},
};

/// Latest replies shown with a thread when the request gives no number.
pub const REPLIES: u32 = 5;
/// Bytes of replies that a list shows with a thread, at most, so that both fit into a response: bytes of text when they are
/// read, of JSON when they are shown. Older replies are left out; `message_count` includes them.
pub const REPLY_BYTES: usize = 256 << 10;

pub struct Thread {
    pub root: Message,
    pub channel_name: String,
    /// The latest replies, oldest first.
    pub replies: Vec<Message>,
}

impl Thread {
    fn messages(&mut self) -> impl Iterator<Item = &mut Message> {
        std::iter::once(&mut self.root).chain(&mut self.replies)
    }
}

/// Lists a channel's threads, latest activity first, each with up to `replies` of its latest replies. For members of the
/// channel. 404 for a hidden channel, 403 for a channel that the caller is not in.
pub fn list(conn: &Connection, caller: Caller, channel: ChannelId, page: Page, replies: u32) -> Result<Vec<Thread>> {
    access::is_in_channel(conn, caller, channel, access::UNKNOWN_CHANNEL)?;
    read_all(conn, active(conn, channel, page.size, page.offset)?.into_iter(), replies)
}

/// Lists the threads of all channels of the organisation that the caller is in, as [`list`] does. 404 for outsiders.
pub fn list_all(
    conn: &Connection,
    caller: Caller,
    organisation: OrganisationId,
    page: Page,
    replies: u32,
) -> Result<Vec<Thread>> {
    access::is_member(conn, caller, organisation, access::UNKNOWN_ORGANISATION)?;
    let mut channels = conn.prepare_cached(
        "select c.id from channel_members cm join channels c on c.id = cm.channel_id
         where cm.user_id = ?1 and c.organisation_id = ?2 and c.deleted_at is null",
    )?;
    let channels: Vec<ChannelId> =
        channels.query_map((caller.user, organisation), |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
    // The first rows of all are among the first rows of each channel, so one index walk per channel replaces a sort of all.
    let most = page.offset as u32 + page.size;
    let mut roots = Vec::new();
    for channel in channels {
        roots.extend(active(conn, channel, most, 0)?);
    }
    roots.sort_unstable_by_key(|(_, active_n)| std::cmp::Reverse(*active_n));
    read_all(conn, roots.into_iter().skip(page.offset as usize).take(page.size as usize), replies)
}

/// Reads one thread without its replies, which [`replies`] lists. For members of the channel. A deleted post is shown while
/// it has replies. 404 for a hidden channel and an unknown thread.
pub fn get(conn: &Connection, caller: Caller, channel: ChannelId, thread: MessageId) -> Result<Thread> {
    let found = channels::record::find(conn, caller, channel)?.ok_or(access::UNKNOWN_CHANNEL)?;
    found.access.require_member()?;
    let root = record::find(conn, thread)?.filter(|root| root.channel == channel && !root.is_reply);
    let root = root.filter(|root| root.deleted_at.is_none() || root.reply_count > 0).ok_or(UNKNOWN_THREAD)?;
    let mut thread = Thread { root, channel_name: found.channel.name, replies: Vec::new() };
    reactions::attach(conn, thread.messages())?;
    Ok(thread)
}

/// Lists the replies of a thread, oldest first; none if the channel has no such thread. For members of the channel.
pub fn replies(conn: &Connection, caller: Caller, channel: ChannelId, thread: MessageId, page: Page) -> Result<Vec<Message>> {
    access::is_in_channel(conn, caller, channel, access::UNKNOWN_CHANNEL)?;
    let sql = format!(
        "{} where m.root = (select n from messages where id = ?1 and channel_id = ?2) and m.deleted_at is null
         order by m.n limit ?3 offset ?4",
        record::SELECT
    );
    let mut select = conn.prepare_cached(&sql)?;
    let replies = select.query_map((thread, channel, page.size, page.offset), record::from_row)?;
    let mut replies: Vec<Message> = replies.collect::<rusqlite::Result<_>>()?;
    reactions::attach(conn, replies.iter_mut())?;
    Ok(replies)
}

/// Makes a top-level post, as [`posting::create`] does; the same `id` again returns the same thread. 404 for a hidden
/// channel.
pub fn create(tx: &mut Tx, caller: Caller, channel: ChannelId, content: String, id: Option<MessageId>) -> Result<Thread> {
    access::sees_channel(tx, caller, channel, access::UNKNOWN_CHANNEL)?;
    let root = posting::create(tx, caller, channel, posting::New { content, thread: None, id })?;
    written(tx, root.n)
}

/// Changes to a thread; an absent field stays as it is.
#[derive(Default)]
pub struct Edit {
    pub content: Option<String>,
    /// The new status: `pending` or `completed`.
    pub status: Option<String>,
}

/// Changes a thread's status, text or both. Members with the right to post set the status, and only the author changes the
/// text; neither is possible in an archived channel. 404 for an unknown thread, 403 for other callers, 422 for another
/// status and for an invalid text.
pub fn update(tx: &mut Tx, caller: Caller, channel: ChannelId, thread: MessageId, edit: Edit) -> Result<Thread> {
    let access = access::is_in_channel(tx, caller, channel, access::UNKNOWN_CHANNEL)?;
    let root = record::find_live(tx, channel, thread)?;
    if root.is_reply {
        return Err(UNKNOWN_THREAD);
    }
    if let Some(status) = &edit.status {
        access.require_poster()?;
        access.require_live()?;
        set_status(tx, &root, access.organisation, status)?;
    }
    if let Some(content) = edit.content {
        editing::edit(tx, caller, channel, &editing::Edit { content, message: Some(thread), thread: None })?;
    }
    written(tx, root.n)
}

fn set_status(tx: &mut Tx, root: &Message, organisation: OrganisationId, status: &str) -> Result<()> {
    if ![record::PENDING, "completed"].contains(&status) {
        return Err(Error::invalid("status must be pending or completed"));
    }
    if root.current_status == status {
        return Ok(());
    }
    tx.prepare_cached("update messages set current_status = ?2 where n = ?1")?.execute((root.n, status))?;
    let data = ThreadStatus { thread_id: root.id, channels_id: root.channel, current_status: status };
    let body = events::about(Kind::ThreadStatus, root, organisation, data);
    events::emit(tx, root, Kind::ThreadStatus, Stream::Channel(root.channel), &body)?;
    Ok(())
}

/// Reads the thread as lists show it.
fn written(conn: &Connection, root: i64) -> Result<Thread> {
    read_all(conn, std::iter::once((root, root)), REPLIES)?.pop().ok_or(UNKNOWN_THREAD)
}

fn read_all(conn: &Connection, roots: impl Iterator<Item = (i64, i64)>, replies: u32) -> Result<Vec<Thread>> {
    let mut threads = roots.map(|(n, _)| read(conn, n, replies)).collect::<Result<Vec<Thread>>>()?;
    reactions::attach(conn, threads.iter_mut().flat_map(Thread::messages))?;
    Ok(threads)
}

/// Finds the `n` and the latest activity of a channel's threads, latest activity first.
fn active(conn: &Connection, channel: ChannelId, limit: u32, offset: i64) -> Result<Vec<(i64, i64)>> {
    Ok(conn
        .prepare_cached(
            "select n, active_n from messages
             where channel_id = ?1 and root is null and (deleted_at is null or reply_count > 0)
             order by active_n desc limit ?2 offset ?3",
        )?
        .query_map((channel, limit, offset), |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect::<rusqlite::Result<_>>()?)
}

fn read(conn: &Connection, root: i64, replies: u32) -> Result<Thread> {
    let select = record::SELECT;
    let message = conn.prepare_cached(&format!("{select} where m.n = ?1"))?.query_row([root], record::from_row)?;
    let sql = format!("{select} where m.root = ?1 and m.deleted_at is null order by m.n desc limit ?2");
    let (mut select, mut newest, mut bytes) = (conn.prepare_cached(&sql)?, Vec::new(), 0);
    for reply in select.query_map((root, replies), record::from_row)? {
        let reply = reply?;
        bytes += reply.content.len();
        if bytes > REPLY_BYTES {
            break;
        }
        newest.push(reply);
    }
    newest.reverse();
    let channel_name =
        conn.prepare_cached("select name from channels where id = ?1")?.query_row([message.channel], |row| row.get(0))?;
    Ok(Thread { root: message, channel_name, replies: newest })
}
