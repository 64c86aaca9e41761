//! Threads: top-level posts with their replies, by latest activity.

use rusqlite::Connection;

use crate::{
    domain::{
        Caller, channels, members,
        members::Page,
        messages::{self, Message},
    },
    error::{Error, Result},
    id::{ChannelId, OrganisationId},
};

pub struct Thread {
    pub root: Message,
    pub channel_name: String,
    /// The latest ones, oldest first.
    pub replies: Vec<Message>,
}

/// A channel's threads, the latest active first, each with up to `replies` of its replies. For members
/// of the channel; 404 for whoever may not know of it.
pub fn list(conn: &Connection, caller: Caller, channel: ChannelId, page: Page, replies: u32) -> Result<Vec<Thread>> {
    let access = channels::find(conn, caller, channel)?.ok_or(channels::UNKNOWN)?;
    access.require_member()?;
    read_all(conn, active(conn, channel, page.size, page.shallow_offset()?)?.into_iter(), replies)
}

/// The threads of all channels of the organisation that the caller is in. 404 for outsiders.
pub fn list_all(
    conn: &Connection,
    caller: Caller,
    organisation: OrganisationId,
    page: Page,
    replies: u32,
) -> Result<Vec<Thread>> {
    members::find(conn, organisation, caller.user)?.ok_or(Error::NotFound("Organisation"))?;
    let mut channels = conn.prepare_cached(
        "select c.id from channel_members cm join channels c on c.id = cm.channel_id
         where cm.user_id = ?1 and c.organisation_id = ?2 and c.deleted_at is null",
    )?;
    let channels: Vec<ChannelId> =
        channels.query_map((caller.user, organisation), |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
    // The first pages of each channel hold the first pages of all: an index walk each, and no sort of everything.
    let offset = page.shallow_offset()?;
    let most = offset as u32 + page.size;
    let mut roots = Vec::new();
    for channel in channels {
        roots.extend(active(conn, channel, most, 0)?);
    }
    roots.sort_unstable_by_key(|(_, active_n)| std::cmp::Reverse(*active_n));
    read_all(conn, roots.into_iter().skip(offset as usize).take(page.size as usize), replies)
}

/// Text of replies in one answer; after it threads are listed without theirs (`message_count` tells).
const REPLY_BYTES: usize = 8 << 20;

fn read_all(conn: &Connection, roots: impl Iterator<Item = (i64, i64)>, replies: u32) -> Result<Vec<Thread>> {
    let mut bytes = 0;
    roots
        .map(|(n, _)| {
            let thread = read(conn, n, if bytes < REPLY_BYTES { replies } else { 0 })?;
            bytes += thread.replies.iter().map(|reply| reply.content.len()).sum::<usize>();
            Ok(thread)
        })
        .collect()
}

/// `n` and latest activity of a channel's threads.
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
    let select = messages::SELECT;
    let message = conn.prepare_cached(&format!("{select} where m.n = ?1"))?.query_row([root], messages::from_row)?;
    let sql = format!("{select} where m.root = ?1 and m.deleted_at is null order by m.n desc limit ?2");
    let mut replies: Vec<Message> =
        conn.prepare_cached(&sql)?.query_map((root, replies), messages::from_row)?.collect::<rusqlite::Result<_>>()?;
    replies.reverse();
    let channel_name =
        conn.prepare_cached("select name from channels where id = ?1")?.query_row([message.channel], |row| row.get(0))?;
    Ok(Thread { root: message, channel_name, replies })
}
