//! Recovery and history: what was published on a stream, for a client that reconnects or looks back.
//!
//! Gaps in a stream's seqs are normal. The floor (the highest pruned seq) and the stream's last seq, which outlives pruning,
//! prove that nothing is missing. On personal streams, `unread_thread_change` and the `channel_update` of a whole channel
//! are state, and so is `thread_unread`: recovery builds them anew, once for each channel or thread that changed.

use std::{borrow::Cow, collections::HashMap};

use rusqlite::{Connection, OptionalExtension, Params};

use crate::{
    db::{View, log_reader},
    domain::{
        channels::unread_counts::{self, UnreadNotice},
        log::{
            cursors,
            events::{self, NOTIFIES_WITHIN},
        },
        messages::thread_unreads,
        streams::{
            publication_cache::{Publication, Recent},
            whole,
        },
    },
    error::Result,
    event::{Event, Kind, Stream},
    id::{ChannelId, OrganisationId, UserId},
};

/// At most 300 publications in one answer.
pub const MOST: u32 = 300;
/// At most 512 KiB of publications in one answer, half of a connection's send queue. A larger answer could overflow
/// the queue of a client that doesn't read it at once, and asking again would give the same answer.
pub const BYTES: usize = 512 << 10;
/// A range of a stream between two seqs, both exclusive.
#[derive(Clone, Copy)]
pub struct Range {
    pub after: i64,
    pub before: i64,
    pub newest_first: bool,
    pub limit: u32,
}

impl Range {
    fn order(&self) -> &'static str {
        if self.newest_first { "desc" } else { "asc" }
    }

    fn holds(&self, seq: i64) -> bool {
        seq > self.after && seq < self.before
    }
}

/// All publications of the stream after `offset`; their bytes are subtracted from the budget `room`. `None` if the log can't
/// prove that nothing is missing, if they exceed [`MOST`] or the budget, or if the user joined after `offset`: what came
/// before is not theirs to read.
pub fn missed(
    conn: &View,
    user: UserId,
    stream: Stream,
    epoch: &str,
    offset: i64,
    (recent, room): (&Recent, &mut usize),
) -> Result<Option<Vec<Publication>>> {
    let last = last_seq(conn, stream, offset)?;
    let is_cut = offset < cursors::last_pruned(conn)? && last > offset;
    if is_cut || offset > log_reader::last_seq(conn)? || offset < joined_seq(conn, user, stream)? {
        return Ok(None);
    }
    let range = Range { after: offset, before: i64::MAX, newest_first: false, limit: MOST + 1 };
    // One person's devices share nothing that is worth keeping, and what they are shown changes by itself.
    let is_shared = !matches!(stream, Stream::Personal(..) | Stream::Account(_));
    let known = if is_shared { recent.find(stream, offset, last) } else { None };
    let is_new = is_shared && known.is_none();
    let publications = match (known, stream) {
        (Some(known), _) => known,
        (None, Stream::Account(_)) => of_account(conn, stream, epoch, range)?,
        (None, _) => within(conn, stream, epoch, range)?,
    };
    let bytes = publications.iter().map(Publication::cost).sum();
    let left = room.checked_sub(bytes).filter(|_| publications.len() <= MOST as usize);
    Ok(left.map(|left| {
        *room = left;
        if is_new {
            recent.keep(stream, offset, last, &publications);
        }
        publications
    }))
}

/// The stream's publications in the range: as many as fit into [`BYTES`], and at least one if there is any.
pub fn publications(conn: &Connection, stream: Stream, epoch: &str, range: Range) -> Result<Vec<Publication>> {
    let mut found = within(conn, stream, epoch, range)?;
    let mut bytes = 0;
    let fits = found.iter().take_while(|publication| {
        bytes += publication.cost();
        bytes <= BYTES
    });
    let fits = fits.count().max(1);
    found.truncate(fits);
    Ok(found)
}

/// The stream's publications in the range. It may leave out those that follow once [`BYTES`] are exceeded.
fn within(conn: &Connection, stream: Stream, epoch: &str, range: Range) -> Result<Vec<Publication>> {
    let mut found = match stream {
        Stream::Personal(organisation, user) => {
            // Skips what came before the user joined: only this stream would reveal it, as they can't fetch it elsewhere.
            let range = Range { after: range.after.max(joined_seq(conn, user, stream)?), ..range };
            personal(conn, organisation, user, epoch, range)?
        }
        _ => {
            let parameters = (stream.to_string(), range.after, range.before, range.limit);
            let found = rows(conn, "audience <> 'members'", parameters, range)?;
            found.iter().map(|event| shown(epoch, event)).collect()
        }
    };
    found.sort_by_key(|publication| if range.newest_first { -publication.seq } else { publication.seq });
    found.truncate(range.limit as usize);
    Ok(found)
}

/// The publications of an account's stream in the range, but for messages that notify nobody any more: of these there may be many.
fn of_account(conn: &View, stream: Stream, epoch: &str, range: Range) -> Result<Vec<Publication>> {
    let parameters = (stream.to_string(), range.after, range.before, range.limit, conn.now() - NOTIFIES_WITHIN);
    let found = rows(conn, "audience <> 'members' and (type <> 'notification' or created_at > ?5)", parameters, range)?;
    Ok(found.iter().map(|event| shown(epoch, event)).collect())
}

fn shown(epoch: &str, event: &Event) -> Publication {
    Publication { seq: event.seq, body: events::body(epoch, event).into() }
}

/// Reads rows of the stream ?1 between the seqs ?2 and ?3, at most ?4, that satisfy the SQL condition `which`.
fn rows(conn: &Connection, which: &str, parameters: impl Params, range: Range) -> Result<Vec<Event>> {
    let sql = format!(
        "select {} from events where stream = ?1 and seq > ?2 and seq < ?3 and {which} order by seq {} limit ?4",
        log_reader::COLUMNS,
        range.order()
    );
    some(conn, conn.prepare_cached(&sql)?.query_map(parameters, log_reader::from_row)?)
}

/// The first rows, up to and including the one that exceeds [`BYTES`].
fn some(conn: &Connection, rows: impl Iterator<Item = rusqlite::Result<Event>>) -> Result<Vec<Event>> {
    let (mut first, mut bytes) = (Vec::new(), 0);
    for row in rows {
        if bytes > BYTES {
            break;
        }
        let Some(event) = whole(conn, Cow::Owned(row?))? else { continue };
        bytes += event.body.len();
        first.push(event.into_owned());
    }
    Ok(first)
}

/// A channel that the user is in. It may be deleted: the client has yet to learn that.
struct JoinedChannel {
    id: ChannelId,
    last_seq: i64,
    message_seq: i64,
    edit_seq: i64,
    joined_seq: i64,
    is_deleted: bool,
}

fn personal(
    conn: &Connection,
    organisation: OrganisationId,
    user: UserId,
    epoch: &str,
    range: Range,
) -> Result<Vec<Publication>> {
    let stream = Stream::Personal(organisation, user).to_string();
    let channels = channels(conn, organisation, user)?;
    // Events about a channel count only while the user is in it, except `channel_update`, which says that they are out.
    let still_in = format!(
        "type not in ('{}', '{}') and (type = '{}' or channel_id is null or exists (
           select 1 from channel_members cm join channels c on c.id = cm.channel_id
           where cm.channel_id = events.channel_id and cm.user_id = ?5 and c.deleted_at is null))",
        Kind::Unread.name(),
        Kind::ThreadUnread.name(),
        Kind::Channel.name()
    );
    let mut found = rows(conn, &still_in, (&stream, range.after, range.before, range.limit, user), range)?;
    found.extend(to_members(conn, organisation, user, range)?);
    let mut found: Vec<Publication> = found.iter().map(|event| shown(epoch, event)).collect();
    let read = last_read(conn, &stream, range.after)?;
    for channel in &channels {
        if channel.edit_seq > channel.joined_seq
            && range.holds(channel.edit_seq)
            && let Some(event) = row(conn, channel.edit_seq)?
        {
            found.push(shown(epoch, &event));
        }
        let seq = channel.message_seq.max(read.get(&channel.id).copied().unwrap_or(0));
        if !channel.is_deleted && seq > channel.joined_seq && range.holds(seq) {
            let body =
                UnreadNotice::of_channel(conn, channel.id)?.publication_body(unread_counts::counts(conn, channel.id, user)?)?;
            found.push(Publication { seq, body: events::add_notification_id(epoch, seq, Kind::Unread, &body).into() });
        }
    }
    for (seq, root) in changed_threads(conn, &stream, user, &channels, range)? {
        let Some(unread) = thread_unreads::find_in_thread(conn, root, user)? else { continue };
        let body = thread_unreads::Notice::of_thread(conn, root)?.body(unread)?;
        found.push(Publication { seq, body: events::add_notification_id(epoch, seq, Kind::ThreadUnread, &body).into() });
    }
    Ok(found)
}

/// The user's threads that have changed in the range, or that the user has read there: each once, with its last seq.
fn changed_threads(
    conn: &Connection,
    stream: &str,
    user: UserId,
    channels: &[JoinedChannel],
    range: Range,
) -> Result<Vec<(i64, i64)>> {
    let mut seqs = HashMap::new();
    for channel in channels.iter().filter(|channel| !channel.is_deleted) {
        // The last event of a thread stands directly before or after one of its channel.
        if channel.last_seq >= range.after {
            let between = (range.after.max(channel.joined_seq), range.before);
            seqs.extend(thread_unreads::find_changed(conn, (channel.id, user), between, range.newest_first, range.limit)?);
        }
    }
    // A thread that was left has its place where it was, since no later event of it is the user's.
    let mut marked = conn.prepare_cached(
        "select iif(t.is_followed, max(e.seq, m.last_seq), e.seq), m.n, m.channel_id from
           (select message_n, max(seq) as seq from events where stream = ?1 and seq > ?2 and type = ?3 group by 1) e
         cross join messages m on m.n = e.message_n
         left join thread_members t on t.root = m.n and t.user_id = ?4",
    )?;
    let mut marked = marked.query((stream, range.after, Kind::ThreadUnread, user))?;
    while let Some(row) = marked.next()? {
        let (seq, root, channel): (i64, i64, ChannelId) = (row.get(0)?, row.get(1)?, row.get(2)?);
        let is_in = |of: &JoinedChannel| of.id == channel && !of.is_deleted && seq > of.joined_seq;
        if range.holds(seq) && channels.iter().any(is_in) {
            seqs.insert(root, seq);
        }
    }
    let mut found: Vec<(i64, i64)> = seqs.into_iter().map(|(root, seq)| (seq, root)).collect();
    found.sort_unstable_by_key(|(seq, _)| if range.newest_first { -seq } else { *seq });
    found.truncate(range.limit as usize);
    Ok(found)
}

fn channels(conn: &Connection, organisation: OrganisationId, user: UserId) -> Result<Vec<JoinedChannel>> {
    let mut select = conn.prepare_cached(
        "select c.id, c.last_seq, c.message_seq, c.edit_seq, cm.joined_seq, c.deleted_at is not null
         from channel_members cm cross join channels c on c.id = cm.channel_id
         where cm.user_id = ?1 and c.organisation_id = ?2",
    )?;
    let channels = select.query_map((user, organisation), |row| {
        Ok(JoinedChannel {
            id: row.get(0)?,
            last_seq: row.get(1)?,
            message_seq: row.get(2)?,
            edit_seq: row.get(3)?,
            joined_seq: row.get(4)?,
            is_deleted: row.get(5)?,
        })
    })?;
    Ok(channels.collect::<rusqlite::Result<_>>()?)
}

/// Events for all members of the user's channels that are not state: mentions of @channel.
fn to_members(conn: &Connection, organisation: OrganisationId, user: UserId, range: Range) -> Result<Vec<Event>> {
    let order = range.order();
    let sql = format!(
        "select {} from events where seq in (
           select e.seq from channel_members cm
             cross join channels c on c.id = cm.channel_id
             cross join events e on e.channel_id = cm.channel_id and e.audience = 'members'
           where cm.user_id = ?1 and c.organisation_id = ?2 and c.deleted_at is null
             and e.seq > max(?3, cm.joined_seq) and e.seq < ?4 and e.actor_id is not ?1
           order by e.seq {order} limit ?5)
         order by seq {order}",
        log_reader::COLUMNS
    );
    let mut select = conn.prepare_cached(&sql)?;
    some(conn, select.query_map((user, organisation, range.after, range.before, range.limit), log_reader::from_row)?)
}

/// For each channel, the seq of the last event after `after` that gave the user's own devices their unread counts.
fn last_read(conn: &Connection, stream: &str, after: i64) -> Result<HashMap<ChannelId, i64>> {
    let mut select =
        conn.prepare_cached("select channel_id, max(seq) from events where stream = ?1 and seq > ?2 and type = ?3 group by 1")?;
    Ok(select.query_map((stream, after, Kind::Unread), |row| Ok((row.get(0)?, row.get(1)?)))?.collect::<rusqlite::Result<_>>()?)
}

fn row(conn: &Connection, seq: i64) -> Result<Option<Event>> {
    let sql = format!("select {} from events where seq = ?1", log_reader::COLUMNS);
    Ok(conn.prepare_cached(&sql)?.query_row([seq], log_reader::from_row).optional()?)
}

/// The seq since which the user may hear the stream without interruption, or `i64::MAX` if they may not hear it.
fn joined_seq(conn: &Connection, user: UserId, stream: Stream) -> Result<i64> {
    let channel = "select max(cm.joined_seq, m.joined_seq) from channel_members cm
           cross join channels c on c.id = cm.channel_id
           cross join organisation_members m on m.organisation_id = c.organisation_id and m.user_id = cm.user_id
         where cm.user_id = ?1 and cm.channel_id = ";
    let (sql, id) = match stream {
        Stream::Channel(id) => (format!("{channel} ?2"), id.0),
        Stream::Thread(id) => (format!("{channel} (select channel_id from messages where id = ?2)"), id.0),
        Stream::Organisation(id) | Stream::Personal(id, _) => {
            ("select joined_seq from organisation_members where user_id = ?1 and organisation_id = ?2".to_owned(), id.0)
        }
        Stream::Account(id) => return Ok(if id == user { 0 } else { i64::MAX }),
    };
    let joined = conn.prepare_cached(&sql)?.query_row((user, id.as_bytes().as_slice()), |row| row.get(0)).optional()?;
    Ok(joined.unwrap_or(i64::MAX))
}

/// The seq of the last publication on the stream, or a later one. `offset` is the reader's position.
fn last_seq(conn: &Connection, stream: Stream, offset: i64) -> Result<i64> {
    let one = |sql: &str, id: uuid::Uuid| -> Result<i64> {
        Ok(conn.prepare_cached(sql)?.query_row([id.as_bytes().as_slice()], |row| row.get(0)).optional()?.unwrap_or(i64::MAX))
    };
    match stream {
        Stream::Channel(id) => one("select last_seq from channels where id = ?1", id.0),
        Stream::Thread(id) => one("select last_seq from messages where id = ?1", id.0),
        Stream::Organisation(id) => one("select last_seq from organisations where id = ?1", id.0),
        Stream::Account(id) => one("select last_seq from users where id = ?1", id.0),
        Stream::Personal(organisation, user) => Ok(conn
            .prepare_cached(
                "select max(m.last_seq, coalesce((select max(c.last_seq) from channel_members cm
                     cross join channels c on c.id = cm.channel_id
                   where cm.user_id = ?2 and c.organisation_id = ?1 and c.last_seq > max(cm.joined_seq, ?3)), 0))
                 from organisation_members m where m.organisation_id = ?1 and m.user_id = ?2",
            )?
            .query_row((organisation, user, offset), |row| row.get(0))
            .optional()?
            .unwrap_or(i64::MAX)),
    }
}
