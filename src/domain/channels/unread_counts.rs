//! Unread counts. Unread posts are the channel's counter minus the member's read mark, so that a post needs no write for each
//! member.

use rusqlite::{Connection, OptionalExtension, Row};
use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    db::{Columns, Tx},
    domain::{
        access::ENTITLED,
        log::{events, publication_envelope::envelope},
    },
    error::{Error, Result},
    event::Kind,
    id::{ChannelId, MessageId, OrganisationId, UserId},
    time::Time,
};

/// A member's unread top-level posts and mentions in a channel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub threads: i64,
    pub mentions: i64,
    /// The newest live top-level post that the member has read.
    pub last_read: Option<MessageId>,
}

impl Counts {
    /// Takes [`COUNTS`].
    pub(in crate::domain) fn take(columns: &mut Columns) -> rusqlite::Result<Counts> {
        Ok(Counts { threads: columns.take()?, mentions: columns.take()?, last_read: columns.take()? })
    }

    /// [`Counts::last_read`] as answers and publications show it: empty if there is none.
    pub fn last_read_id(self) -> String {
        self.last_read.map_or_else(String::new, |id| id.to_string())
    }
}

/// A member of a channel, with what they have not read there.
pub struct Member {
    pub user: UserId,
    /// What was pushed up to this row of the log is not theirs.
    pub joined_seq: i64,
    pub counts: Counts,
}

/// SQL columns that compute the [`Counts`] of `channel_members cm` in `channels c`. A mention by name in a reply counts until
/// its thread is read; all others count until the channel is. Mentions of everybody don't count where the member has muted the
/// channel.
pub(in crate::domain) const COUNTS: &str =
    "c.thread_count - cm.read_thread_count, iif(cm.is_muted, 0, c.mention_count - cm.read_mention_count)
    + (select count(*) from mentions x where x.channel_id = c.id and x.user_id = cm.user_id and x.n > cm.read_n)
    + (select coalesce(sum(t.mention_count), 0) from thread_members t
        where t.channel_id = c.id and t.user_id = cm.user_id and t.mention_count > 0), cm.read_id";

/// The unread counts of a member in a channel.
pub fn counts(conn: &Connection, channel: ChannelId, user: UserId) -> Result<Counts> {
    let sql = format!(
        "select {COUNTS} from channel_members cm join channels c on c.id = cm.channel_id where cm.channel_id = ?1 and cm.user_id = ?2"
    );
    Ok(conn.prepare_cached(&sql)?.query_row((channel, user), |row| Counts::take(&mut Columns::of_row(row)))?)
}

/// Pushes a member's unread counts to their own devices.
pub fn push_counts(tx: &mut Tx, user: UserId, channel: ChannelId, counts: Counts) -> Result<()> {
    let notice = UnreadNotice::of_channel(tx, channel)?;
    events::emit_to_member(tx, notice.organisation, user, Kind::Unread, channel, notice.change(counts))
}

/// A channel with a member's unread counts.
#[derive(Clone, Serialize, JsonSchema)]
pub struct UnreadChange {
    /// The channel's name.
    name: String,
    /// The channel's description.
    description: String,
    /// The channel.
    channels_id: ChannelId,
    /// The channel's organisation.
    organisation_id: OrganisationId,
    /// The user who owns the channel.
    owner_id: UserId,
    /// The channel's topic.
    topic: String,
    /// Whether the channel is archived.
    archived: bool,
    /// Whether only its members may see the channel.
    is_private: bool,
    /// Whether the receiver is in the channel: always true, as only members receive the event.
    access: bool,
    /// When the channel was created.
    created_at: Time,
    /// `0001-01-01T00:00:00Z` unless the channel is deleted.
    deleted_at: Time,
    /// The channel's newest top-level post; empty if there is none.
    last_thread_id: String,
    /// When the channel's newest message was written; `0001-01-01T00:00:00Z` if there is none.
    last_message_at: Time,
    // The counts come last; see [`UnreadNotice::template`].
    /// The number of the receiver's unread top-level posts.
    thread_count: i64,
    /// The number of the receiver's unread mentions.
    mention_count: i64,
    /// The newest top-level post that the receiver has read; empty if there is none.
    last_read_id: String,
}

/// The part of `unread_thread_change` that all members of a channel share.
pub struct UnreadNotice {
    pub organisation: OrganisationId,
    /// The number of the channel's members.
    pub members: i64,
    /// Without counts.
    data: UnreadChange,
}

impl UnreadNotice {
    pub fn of_channel(conn: &Connection, channel: ChannelId) -> Result<UnreadNotice> {
        let notice = conn
            .prepare_cached(
                "select c.name, c.description, c.organisation_id, c.owner_id, c.topic, c.archived_at is not null, c.is_private,
                   c.created_at, c.deleted_at, t.id, c.last_message_at, c.user_count
                 from channels c left join messages t on t.n = c.last_thread where c.id = ?1",
            )?
            .query_row([channel], |row| {
                let organisation = row.get(2)?;
                let data = UnreadChange {
                    name: row.get(0)?,
                    description: row.get(1)?,
                    channels_id: channel,
                    organisation_id: organisation,
                    owner_id: row.get(3)?,
                    topic: row.get(4)?,
                    archived: row.get(5)?,
                    is_private: row.get(6)?,
                    access: true,
                    created_at: row.get(7)?,
                    deleted_at: row.get::<_, Option<Time>>(8)?.unwrap_or(Time::NEVER),
                    last_thread_id: row.get::<_, Option<MessageId>>(9)?.map_or_else(String::new, |id| id.to_string()),
                    last_message_at: row.get::<_, Option<Time>>(10)?.unwrap_or(Time::NEVER),
                    thread_count: 0,
                    mention_count: 0,
                    last_read_id: String::new(),
                };
                Ok(UnreadNotice { organisation, members: row.get(11)?, data })
            })?;
        Ok(notice)
    }

    /// The data of the publication for a member with these counts.
    fn change(&self, counts: Counts) -> UnreadChange {
        UnreadChange {
            thread_count: counts.threads,
            mention_count: counts.mentions,
            last_read_id: counts.last_read_id(),
            ..self.data.clone()
        }
    }

    /// The body of the publication for a member with these counts.
    pub fn publication_body(&self, counts: Counts) -> Result<String> {
        serde_json::to_string(&envelope(Kind::Unread, false, self.change(counts))).map_err(Error::internal)
    }

    /// The text of [`UnreadNotice::publication_body`] up to the counts. It is built once for all members.
    pub fn template(&self) -> Result<CountsTemplate> {
        let body = self.publication_body(Counts::default())?;
        let head = body.strip_suffix(&CountsTemplate::tail(Counts::default())).map(str::to_owned);
        head.map(CountsTemplate).ok_or_else(|| Error::internal("the counts are the last fields"))
    }
}

pub struct CountsTemplate(String);

impl CountsTemplate {
    pub fn publication_body(&self, counts: Counts) -> String {
        self.0.clone() + &CountsTemplate::tail(counts)
    }

    fn tail(counts: Counts) -> String {
        let Counts { threads, mentions, .. } = counts;
        format!(r#""thread_count":{threads},"mention_count":{mentions},"last_read_id":"{}"}}}}"#, counts.last_read_id())
    }
}

/// The unread counts of the channel's members, without deactivated ones.
pub fn counts_of_members(conn: &Connection, channel: ChannelId) -> Result<Vec<Member>> {
    let mut select = conn.prepare_cached(&members_where(""))?;
    Ok(select.query_map([channel], member)?.collect::<rusqlite::Result<_>>()?)
}

/// [`counts_of_members`], of these users only.
pub fn counts_of_users(conn: &Connection, channel: ChannelId, users: &[UserId]) -> Result<Vec<Member>> {
    let mut select = conn.prepare_cached(&members_where("and cm.user_id = ?2"))?;
    let mut found = Vec::new();
    for user in users {
        found.extend(select.query_row((channel, user), member).optional()?);
    }
    Ok(found)
}

fn members_where(condition: &str) -> String {
    // `cross join` fixes the order of joins: it starts at the channel's few members, not at all of the organisation's.
    format!(
        "select cm.user_id, cm.joined_seq, {COUNTS} from channel_members cm
           cross join channels c on c.id = cm.channel_id
           cross join organisation_members m on m.organisation_id = c.organisation_id and m.user_id = cm.user_id
         where cm.channel_id = ?1 and {ENTITLED} {condition}"
    )
}

fn member(row: &Row) -> rusqlite::Result<Member> {
    let mut columns = Columns::of_row(row);
    Ok(Member { user: columns.take()?, joined_seq: columns.take()?, counts: Counts::take(&mut columns)? })
}
