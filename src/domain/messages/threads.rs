//! Threads: top-level posts with their replies.

use std::{
    cmp::Reverse,
    collections::{BinaryHeap, HashMap, hash_map::Entry},
};

use rusqlite::{Connection, Row};

use crate::{
    db::Tx,
    domain::{
        access::{self, Caller},
        messages::{
            editing, events, participants,
            payloads::ThreadStatus,
            posting, reactions,
            record::{self, Message, UNKNOWN_THREAD},
            thread_unreads::{self, Unread},
        },
        page::Page,
        text::{self, Rule},
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
    pub channel: ChannelLabel,
    /// The latest replies, oldest first.
    pub replies: Vec<Message>,
    /// The reader's unread part of it.
    pub unread: Unread,
}

/// The channel of a thread or message.
#[derive(Clone)]
pub struct ChannelLabel {
    pub name: String,
    pub is_private: bool,
    /// Whether the channel is a direct message.
    pub is_dm: bool,
}

impl ChannelLabel {
    pub(super) fn find(conn: &Connection, channel: ChannelId) -> Result<ChannelLabel> {
        let row = |row: &Row| Ok(ChannelLabel { name: row.get(0)?, is_private: row.get(1)?, is_dm: row.get(2)? });
        Ok(conn.prepare_cached("select name, is_private, is_dm from channels where id = ?1")?.query_row([channel], row)?)
    }
}

impl Thread {
    fn messages(&mut self) -> impl Iterator<Item = &mut Message> {
        std::iter::once(&mut self.root).chain(&mut self.replies)
    }
}

/// A thread of a list, for [`load_list`]. It proves that its reader may see the thread.
pub struct Root(i64);

/// Lists a channel's threads, the newest post first. For members of the channel. 404 for a hidden channel, 403 for a channel
/// that the caller is not in.
pub fn list(conn: &Connection, caller: Caller, channel: ChannelId, page: Page) -> Result<Vec<Root>> {
    access::require_channel_member(conn, caller, channel, access::UNKNOWN_CHANNEL)?;
    let mut select = conn.prepare_cached(NEWEST)?;
    let roots = select.query_map((channel, page.size, page.offset), |row| row.get(0).map(Root))?;
    Ok(roots.collect::<rusqlite::Result<_>>()?)
}

/// SQL that selects a page of a channel's threads, the newest post first.
pub const NEWEST: &str = "select n from messages
    where channel_id = ?1 and root is null and (deleted_at is null or reply_count > 0) order by n desc limit ?2 offset ?3";

/// Lists the threads of all channels of the organisation that the caller is in, latest activity first. 404 for outsiders.
pub fn list_all(conn: &Connection, caller: Caller, organisation: OrganisationId, page: Page) -> Result<Vec<Root>> {
    access::require_member(conn, caller, organisation, access::UNKNOWN_ORGANISATION)?;
    let mut channels = conn.prepare_cached(
        "select c.id, c.last_n from channel_members cm join channels c on c.id = cm.channel_id
         where cm.user_id = ?1 and c.organisation_id = ?2 and c.deleted_at is null and c.last_n > 0 order by c.last_n desc",
    )?;
    let mut replied = conn.prepare_cached(
        "select n, active_n from messages where channel_id = ?1 and root is null and reply_count > 0 order by active_n desc",
    )?;
    // A post without replies was last active when it was posted. A post with replies was active later than that, so the
    // statement above has listed each one that is passed over here.
    let mut others = conn.prepare_cached(
        "select n, iif(reply_count = 0 and deleted_at is null, n, 0) from messages where channel_id = ?1 and root is null
         order by n desc",
    )?;
    let most = page.offset as usize + page.size as usize;
    // The latest threads of the channels so far, the least active on top.
    let mut latest = BinaryHeap::new();
    let is_late = |latest: &BinaryHeap<Reverse<(i64, i64)>>, activity: i64| {
        latest.len() < most || latest.peek().is_some_and(|Reverse((least, _))| activity > *least)
    };
    let mut channels = channels.query((caller.user, organisation))?;
    while let Some(channel) = channels.next()? {
        // No thread is more active than its channel, and later channels are less active.
        if !is_late(&latest, channel.get(1)?) {
            break;
        }
        let channel: ChannelId = channel.get(0)?;
        for select in [&mut replied, &mut others] {
            let mut threads = select.query([channel])?;
            while let Some(thread) = threads.next()? {
                let (n, activity): (i64, i64) = (thread.get(0)?, thread.get(1)?);
                if !is_late(&latest, activity.max(n)) {
                    break;
                }
                if activity > 0 {
                    latest.push(Reverse((activity, n)));
                }
                if latest.len() > most {
                    latest.pop();
                }
            }
        }
    }
    Ok(latest.into_sorted_vec().into_iter().skip(page.offset as usize).map(|Reverse((_, n))| Root(n)).collect())
}

/// Lists the threads that the caller follows and that have replies, in channels of the organisation that they are in,
/// latest activity first, from the position `before` on. Each comes with its own position. 404 for outsiders.
pub fn list_own(
    conn: &Connection,
    caller: Caller,
    organisation: OrganisationId,
    before: Option<i64>,
    page: Page,
) -> Result<Vec<(i64, Root)>> {
    access::require_member(conn, caller, organisation, access::UNKNOWN_ORGANISATION)?;
    let mut select = conn.prepare_cached(
        "select r.active_n, r.n from channel_members cm
           cross join channels c on c.id = cm.channel_id
           cross join thread_members t on t.user_id = cm.user_id and t.channel_id = c.id and t.is_followed
           cross join messages r on r.n = t.root
         where cm.user_id = ?1 and c.organisation_id = ?2 and c.deleted_at is null and r.reply_count > 0 and r.active_n < ?3
         order by r.active_n desc limit ?4 offset ?5",
    )?;
    let before = before.unwrap_or(i64::MAX);
    let found = select
        .query_map((caller.user, organisation, before, page.size, page.offset), |row| Ok((row.get(0)?, Root(row.get(1)?))))?;
    Ok(found.collect::<rusqlite::Result<_>>()?)
}

/// Reads one thread with up to `replies` of its latest replies. For members of its channel. A deleted post is shown while it
/// has replies. 404 for an unknown thread and in a hidden channel, 403 in a channel that the caller is not in.
pub fn get(conn: &Connection, caller: Caller, thread: MessageId, replies: u32) -> Result<Thread> {
    let root = record::find(conn, thread)?.filter(record::stays_listed).ok_or(UNKNOWN_THREAD)?;
    access::require_channel_member(conn, caller, root.channel, UNKNOWN_THREAD)?;
    read_one(conn, caller, Root(root.n), replies)
}

/// Makes a top-level post, as [`posting::create`] does; the same `id` again returns the same thread. 404 for a hidden
/// channel.
pub fn create_root_post(tx: &mut Tx, caller: Caller, channel: ChannelId, new: posting::New) -> Result<Thread> {
    access::require_channel(tx, caller, channel, access::UNKNOWN_CHANNEL)?;
    let root = posting::create(tx, caller, channel, new)?;
    read_one(tx, caller, Root(root.n), REPLIES)
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
    let access = access::require_channel_member(tx, caller, channel, access::UNKNOWN_CHANNEL)?;
    let root = record::find_live(tx, channel, thread)?;
    if root.is_reply {
        return Err(UNKNOWN_THREAD);
    }
    if let Some(status) = &edit.status {
        access.require_poster()?;
        access.require_live()?;
        set_status(tx, &root, status)?;
    }
    if let Some(content) = edit.content {
        editing::edit(tx, caller, channel, &editing::Edit { content, message: Some(thread), ..editing::Edit::default() })?;
    }
    read_one(tx, caller, Root(root.n), REPLIES)
}

text::rules! {
    pub Status: Rule::one_of(&[record::PENDING, "completed"]);
}

fn set_status(tx: &mut Tx, root: &Message, status: &str) -> Result<()> {
    Status::check(status, "status").map_err(Error::Invalid)?;
    if root.current_status == status {
        return Ok(());
    }
    tx.prepare_cached("update messages set current_status = ?2 where n = ?1")?.execute((root.n, status))?;
    let data = ThreadStatus { thread_id: root.id, channels_id: root.channel, current_status: status };
    let body = events::about(Kind::ThreadStatus, root, data);
    events::emit(tx, root, Kind::ThreadStatus, Stream::Channel(root.channel), &body)?;
    Ok(())
}

/// Reads threads of a list, each with up to `replies` of its latest replies, as the caller is shown them.
pub fn load_list(conn: &Connection, caller: Caller, roots: Vec<Root>, replies: u32) -> Result<Vec<Thread>> {
    let ns: Vec<i64> = roots.into_iter().map(|Root(n)| n).collect();
    let mut messages: HashMap<i64, Message> =
        record::find_all(conn, &ns)?.into_iter().map(|message| (message.n, message)).collect();
    let mut unread = thread_unreads::find_by_roots(conn, caller.user, &ns)?;
    let (mut threads, mut channels) = (Vec::with_capacity(ns.len()), HashMap::new());
    for n in ns {
        let root = messages.remove(&n).ok_or(UNKNOWN_THREAD)?;
        let channel = match channels.entry(root.channel) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(unknown) => unknown.insert(ChannelLabel::find(conn, root.channel)?),
        };
        let unread = unread.remove(&n).unwrap_or_default();
        threads.push(Thread { channel: channel.clone(), replies: latest(conn, n, replies)?, unread, root });
    }
    reactions::attach(conn, threads.iter_mut().flat_map(Thread::messages))?;
    participants::attach(conn, threads.iter_mut().map(|thread| &mut thread.root))?;
    Ok(threads)
}

fn read_one(conn: &Connection, caller: Caller, root: Root, replies: u32) -> Result<Thread> {
    load_list(conn, caller, vec![root], replies)?.pop().ok_or(UNKNOWN_THREAD)
}

/// The latest replies, oldest first.
fn latest(conn: &Connection, root: i64, replies: u32) -> Result<Vec<Message>> {
    if replies == 0 {
        return Ok(Vec::new());
    }
    let sql = format!("{} where m.root = ?1 and m.deleted_at is null order by m.n desc limit ?2", record::SELECT);
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
    Ok(newest)
}
