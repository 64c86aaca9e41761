//! Notifications follow the event log: whom a message notifies gets an event on their account's stream. The events and the cursor are
//! committed together, so a kill loses and repeats nothing. A message is judged as it is by then: what was deleted or read meanwhile
//! notifies nobody. Rows that notify nobody are skipped in a read, and a message to many people notifies some of them at a time.

use std::collections::HashSet;

use rusqlite::{Connection, OptionalExtension, Row};
use schemars::JsonSchema;
use serde::Serialize;

use super::{
    decision::{self, Chosen, Facts, Reason},
    preferences::{Device, NotifyAbout},
};
use crate::{
    db::{Columns, Tx, View},
    domain::{
        access::ENTITLED,
        log::{
            cursors::{self, Consumer, Lookahead},
            events::{self, NOTIFIES_WITHIN},
            publication_envelope::envelope,
        },
        messages::{
            mentions,
            record::{self, FED},
        },
    },
    error::Result,
    event::{Kind, Stream},
    id::{ChannelId, MessageId, OrganisationId, UserId},
    time::Time,
};

const NOTIFICATIONS: Consumer = Consumer("notified_seq");
/// The key in `meta` of a row of which some were notified: its `seq`, a space, and the last of them in hexadecimal.
const BEGUN: &str = "notified_some";
/// Rows of the log that a look ahead reads, and that a slice does.
const ROWS: u32 = 1000;
const ROWS_OF_SLICE: u32 = 200;
/// Members whom one slice looks at. A message takes as long as some, even if it notifies nobody.
const MEMBERS: usize = 200;
const MEMBERS_LEAST: usize = 5;

/// A message that notifies the receiver, by what they have chosen.
#[derive(Serialize, JsonSchema)]
pub struct Notification {
    /// The message's channel.
    channels_id: ChannelId,
    /// The channel's organisation.
    organisation_id: OrganisationId,
    /// The post, or that which it replies to.
    thread_id: MessageId,
    /// The message.
    message_id: MessageId,
    /// Why it notifies them: it mentions them, or everybody; it is a direct message, a reply in a thread that they follow, or a post where
    /// they want all.
    reason: Reason,
    /// When it was written.
    created_at: Time,
}

/// Starts to keep the log for notifications, in a database that is new or older than this consumer. Returns the last row that was
/// followed.
pub fn start(tx: &mut Tx) -> Result<i64> {
    cursors::find_or_create(tx, NOTIFICATIONS)
}

/// Skips rows that notify nobody, at most one slice.
pub fn skip_irrelevant_rows(conn: &View, after: i64) -> Result<Lookahead> {
    let rows = rows(conn, after, ROWS)?;
    Lookahead::at(rows.iter().map(|row| Ok((row.seq, row.may_notify && notifies(conn, row)?))), after, ROWS)
}

/// Saves the cursor at this row, because nothing up to it notifies anybody any more.
pub fn save_cursor(tx: &mut Tx, seq: i64) -> Result<()> {
    cursors::advance(tx, NOTIFICATIONS, seq)
}

/// Notifies members of the messages after the cursor, or after a later row up to which [`skip_irrelevant_rows`] has skipped: some
/// members, of one message or more. Returns the last row of which all were notified.
pub fn notify_from_log(tx: &mut Tx, after: i64) -> Result<i64> {
    let (mut taken, mut left) = (after, MEMBERS);
    let mut begun = Begun::read(tx)?;
    for row in rows(tx, after, ROWS_OF_SLICE)? {
        if row.may_notify {
            if left == 0 {
                break;
            }
            let last = begun.take().filter(|begun| begun.seq == row.seq).map(|begun| begun.last);
            let notified = notify(tx, &row, last, left)?;
            left = left.saturating_sub(notified.members.max(MEMBERS_LEAST));
            if let Some(last) = notified.last {
                begun = Some(Begun { seq: row.seq, last });
                break;
            }
        }
        taken = row.seq;
    }
    cursors::advance(tx, NOTIFICATIONS, taken)?;
    Begun::write(tx, begun)?;
    Ok(taken)
}

/// A row of which some of the members were notified.
struct Begun {
    seq: i64,
    /// The last of them.
    last: UserId,
}

impl Begun {
    fn read(conn: &Connection) -> Result<Option<Begun>> {
        let sql = "select cast(value as integer), unhex(substr(value, instr(value, ' ') + 1)) from meta where key = ?1";
        let from_row = |row: &Row| Ok(Begun { seq: row.get(0)?, last: row.get(1)? });
        Ok(conn.prepare_cached(sql)?.query_row([BEGUN], from_row).optional()?)
    }

    fn write(tx: &Tx, begun: Option<Begun>) -> Result<()> {
        match begun {
            Some(Begun { seq, last }) => tx
                .prepare_cached("insert or replace into meta (key, value) values (?1, ?2 || ' ' || hex(?3))")?
                .execute((BEGUN, seq, last))?,
            None => tx.prepare_cached("delete from meta where key = ?1")?.execute([BEGUN])?,
        };
        Ok(())
    }
}

/// A row of the log.
struct Logged {
    seq: i64,
    kind: Kind,
    stream: String,
    message: Option<i64>,
    created_at: Time,
    /// Whether it is a message that may notify somebody.
    may_notify: bool,
}

/// New messages, and mentions that an edit has brought: those of a new message belong to it.
fn rows(conn: &Connection, after: i64, limit: u32) -> Result<Vec<Logged>> {
    let sql = format!(
        "select e.seq, e.type, e.stream, e.message_n, e.created_at,
           case e.type
             when '{}' then exists (select 1 from channels c where c.id = e.channel_id and c.is_dm = 1)
               or exists (select 1 from mentions x where x.n = e.message_n)
               or exists (select 1 from reply_mentions x where x.n = e.message_n)
               or exists (select 1 from channel_mentions x where x.n = e.message_n)
               or exists (select 1 from messages m cross join thread_members t on t.root = m.root
                 where m.n = e.message_n and t.is_followed and t.user_id is not m.user_id)
               or exists (select 1 from messages m where m.n = e.message_n and m.root is null)
                 and (exists (select 1 from channel_notifications p
                     where p.channel_id = e.channel_id and p.notify_about = '{ALL}')
                   or exists (select 1 from channels c cross join organisation_notifications p
                       on p.organisation_id = c.organisation_id
                     where c.id = e.channel_id and p.notify_about = '{ALL}'))
             when '{}' then exists (select 1 from messages m where m.n = e.message_n and m.created_at < e.created_at)
             else 0
           end
         from events e where e.seq > ?1 order by e.seq limit ?2",
        Kind::Message.name(),
        Kind::Mention.name(),
    );
    let from_row = |row: &Row| {
        let mut columns = Columns::of_row(row);
        Ok(Logged {
            seq: columns.take()?,
            kind: columns.take()?,
            stream: columns.take()?,
            message: columns.take()?,
            created_at: columns.take()?,
            may_notify: columns.take()?,
        })
    };
    Ok(conn.prepare_cached(&sql)?.query_map((after, limit), from_row)?.collect::<rusqlite::Result<_>>()?)
}

const ALL: &str = NotifyAbout::AllNewMessages.as_str();

struct Message {
    n: i64,
    id: MessageId,
    channel: ChannelId,
    organisation: OrganisationId,
    root: Option<i64>,
    thread: MessageId,
    author: Option<UserId>,
    is_direct: bool,
    /// Whom it mentions by name. Beside `@channel`, these have no rows of their own.
    named: HashSet<UserId>,
    is_to_all: bool,
    created_at: Time,
}

/// The message of a row; none if it was deleted, or its channel.
fn message(conn: &Connection, n: i64) -> Result<Option<Message>> {
    let sql = format!(
        "select m.n, m.id, m.channel_id, c.organisation_id, m.root, coalesce(r.id, m.id), iif(m.type = '{FED}', null, m.user_id), c.is_dm,
           m.mentions, m.created_at
         from messages m cross join channels c on c.id = m.channel_id
           cross join organisations o on o.id = c.organisation_id
           left join messages r on r.n = m.root
         where m.n = ?1 and m.deleted_at is null and c.deleted_at is null and o.deleted_at is null"
    );
    let from_row = |row: &Row| {
        let mentions = record::mentions(&row.get::<_, String>(8)?);
        Ok(Message {
            n: row.get(0)?,
            id: row.get(1)?,
            channel: row.get(2)?,
            organisation: row.get(3)?,
            root: row.get(4)?,
            thread: row.get(5)?,
            author: row.get(6)?,
            is_direct: row.get(7)?,
            named: mentions::users(&mentions).collect(),
            is_to_all: mentions::has_channel_mention(&mentions),
            created_at: row.get(9)?,
        })
    };
    Ok(conn.prepare_cached(&sql)?.query_row([n], from_row).optional()?)
}

/// How far members were notified of a row.
struct Notified {
    /// The members who were looked at.
    members: usize,
    /// The last of them, if there are more.
    last: Option<UserId>,
}

/// The message of a row, unless it is too late for it, with the member that an edit mentions anew; none for all members.
fn judged(conn: &View, row: &Logged) -> Result<Option<(Message, Option<UserId>)>> {
    if conn.now().since(row.created_at) > NOTIFIES_WITHIN {
        return Ok(None);
    }
    let Some(message) = row.message.map_or(Ok(None), |n| message(conn, n))? else { return Ok(None) };
    // A member's own stream is named by the organisation and the member.
    let only = row.stream.split_once('/').and_then(|(_, member)| member.parse().ok().map(UserId));
    Ok(Some((message, only)))
}

/// Whether a row notifies somebody, or has so many members that some of them are left to look at.
fn notifies(conn: &View, row: &Logged) -> Result<bool> {
    let Some((message, only)) = judged(conn, row)? else { return Ok(false) };
    let members = members(conn, &message, row.seq, (only, None), MEMBERS)?;
    Ok(members.len() == MEMBERS || members.iter().any(|member| member.reason.is_some()))
}

/// Notifies members of a row's message, those after `last`, at most `most`.
fn notify(tx: &mut Tx, row: &Logged, last: Option<UserId>, most: usize) -> Result<Notified> {
    let Some((message, only)) = judged(tx, row)? else { return Ok(Notified { members: 0, last: None }) };
    let before = if row.kind == Kind::Mention { notified(tx, message.n)? } else { HashSet::new() };
    let members = members(tx, &message, row.seq, (only, last), most)?;
    for Member { user, reason } in &members {
        let Some(reason) = *reason else { continue };
        if !before.contains(&Stream::Account(*user).to_string()) {
            emit(tx, &message, *user, reason)?;
        }
    }
    let last = if members.len() == most { members.last().map(|member| member.user) } else { None };
    Ok(Notified { members: members.len(), last })
}

/// The streams of those whom a message has notified, as it was before an edit.
fn notified(conn: &Connection, n: i64) -> Result<HashSet<String>> {
    let mut select = conn.prepare_cached("select stream from events where message_n = ?1 and type <> '' and type = ?2")?;
    Ok(select.query_map((n, Kind::Notification), |row| row.get(0))?.collect::<rusqlite::Result<_>>()?)
}

fn emit(tx: &mut Tx, message: &Message, user: UserId, reason: Reason) -> Result<()> {
    let data = Notification {
        channels_id: message.channel,
        organisation_id: message.organisation,
        thread_id: message.thread,
        message_id: message.id,
        reason,
        created_at: message.created_at,
    };
    let new = events::New {
        kind: Kind::Notification,
        stream: Stream::Account(user),
        to_members: false,
        channel: Some(message.channel),
        message: Some(message.n),
        actor: None,
        body: &envelope(Kind::Notification, false, data),
    };
    events::emit(tx, new)?;
    Ok(())
}

struct Member {
    user: UserId,
    /// Why the message notifies them. Bots are not notified, and neither is who may not read it.
    reason: Option<Reason>,
}

/// Whether more people of the organisation want all of its posts than are in the channel of this one: then its members are fewer to look
/// at.
fn want_all_more_than_are_in(conn: &Connection, message: &Message) -> Result<bool> {
    let sql =
        "select exists (select 1 from organisation_notifications where organisation_id = ?2 and notify_about = 'all_new_messages'
           limit 1 offset (select user_count from channels where id = ?1))";
    let is_post = message.root.is_none();
    Ok(is_post && conn.prepare_cached(sql)?.query_row((message.channel, message.organisation), |row| row.get(0))?)
}

/// The members of the message's channel whom it may notify, in the order of their identifiers: `only` one, or those after the
/// last. Of a message that is not to all, these are few.
fn members(
    conn: &Connection,
    message: &Message,
    seq: i64,
    (only, last): (Option<UserId>, Option<UserId>),
    most: usize,
) -> Result<Vec<Member>> {
    let candidates = if message.is_direct || message.is_to_all || want_all_more_than_are_in(conn, message)? {
        "select user_id from channel_members where channel_id = ?1"
    } else if message.root.is_some() {
        "select user_id from reply_mentions where root = ?3 and n = ?2
         union select user_id from thread_members where root = ?3 and is_followed"
    } else {
        "select user_id from mentions where channel_id = ?1 and n = ?2
         union select user_id from channel_notifications where channel_id = ?1 and notify_about = 'all_new_messages'
         union select user_id from organisation_notifications where organisation_id = ?4 and notify_about = 'all_new_messages'"
    };
    let sql = format!(
        "select k.user_id, {ENTITLED} and cm.joined_seq < ?6 and u.is_active and not u.is_bot,
           iif(?3 is null, cm.read_n, coalesce(t.read_n, 0)) >= ?2,
           t.is_followed, w.notify_about, o.notify_about, coalesce(w.at_channel, 1), cm.is_muted
         from ({candidates}) k
           cross join channel_members cm on cm.channel_id = ?1 and cm.user_id = k.user_id
           cross join organisation_members m on m.organisation_id = ?4 and m.user_id = k.user_id
           cross join users u on u.id = k.user_id
           left join thread_members t on t.root = ?3 and t.user_id = k.user_id
           left join channel_notifications w on w.channel_id = ?1 and w.user_id = k.user_id and w.device = ?5
           left join organisation_notifications o on o.organisation_id = ?4 and o.user_id = k.user_id and o.device = ?5
         where k.user_id > coalesce(?7, x'') and (?8 is null or k.user_id = ?8) order by k.user_id limit ?9"
    );
    let from_row = |row: &Row| {
        let mut columns = Columns::of_row(row);
        let (user, may_be_notified): (UserId, bool) = (columns.take()?, columns.take()?);
        let facts = Facts {
            is_own: message.author == Some(user),
            is_read: columns.take()?,
            is_direct: message.is_direct,
            is_reply: message.root.is_some(),
            is_to_them: message.named.contains(&user),
            is_to_all: message.is_to_all,
            follows: columns.take()?,
        };
        let chosen = Chosen {
            in_channel: columns.take()?,
            in_organisation: columns.take::<Option<NotifyAbout>>()?.unwrap_or(NotifyAbout::DEFAULT),
            at_channel: columns.take()?,
            is_muted: columns.take()?,
        };
        let reason = decision::reason(facts, chosen).filter(|_| may_be_notified);
        Ok(Member { user, reason })
    };
    let params = (message.channel, message.n, message.root, message.organisation, Device::Web, seq, last, only, most as i64);
    Ok(conn.prepare_cached(&sql)?.query_map(params, from_row)?.collect::<rusqlite::Result<_>>()?)
}
