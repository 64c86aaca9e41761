//! The webhooks' cursor in the event log, and the effects of rows that they have not processed yet.

use rusqlite::{Connection, Row};

use crate::{
    domain::{
        log::cursors::{self, Consumer},
        webhooks::delivery::kind::DeliveryKind,
    },
    error::Result,
    event::Kind,
    id::{ChannelId, UserId},
    time::Time,
};

pub(in crate::domain) const WEBHOOKS: Consumer = Consumer("webhooks_seq");
/// Rows of the event log that one slice reads.
pub(in crate::domain) const ROWS: u32 = 1000;

/// The last row that webhooks have processed; the greatest number, past every row, before they have begun to follow the log.
pub(in crate::domain) fn find(conn: &Connection) -> Result<i64> {
    Ok(cursors::find(conn, WEBHOOKS)?.unwrap_or(i64::MAX))
}

/// A row of the event log, with the columns that webhooks need.
pub(in crate::domain) struct Logged {
    pub seq: i64,
    pub kind: Kind,
    pub stream: String,
    pub message: Option<i64>,
    pub channel: Option<ChannelId>,
    pub actor: Option<UserId>,
    pub created_at: Time,
    pub bytes: i64,
    /// Whether webhooks must act on the row.
    pub concerns: bool,
}

/// SQL condition under which a webhook `w` receives events of the row `e`, if it has chosen their kind: those of its channel, or of
/// any public channel of its organisation if it delivers from all; but not those from before it began to deliver.
pub(in crate::domain) const RECEIVES: &str = "(w.channel_id = e.channel_id or w.organisation_id =
      (select c.organisation_id from channels c where c.id = e.channel_id and c.is_private = 0 and c.is_dm = 0))
    and w.deleted_at is null and w.url <> '' and w.status <> 'inactive'
    and w.from_seq < e.seq";

pub(in crate::domain) fn rows(conn: &Connection, after: i64) -> Result<Vec<Logged>> {
    let wanted = |kinds: &[DeliveryKind]| {
        let bits: i64 = kinds.iter().map(|kind| kind.bit()).sum();
        format!("exists (select 1 from webhooks w where w.events & {bits} <> 0 and {RECEIVES})")
    };
    let sql = format!(
        "select e.seq, e.stream, e.type, e.message_n, e.channel_id, e.actor_id, e.created_at, octet_length(e.body)
             + coalesce((select octet_length(m.content) from messages m where e.type = '' and m.n = e.message_n), 0) as bytes,
           case e.type
             when '{}' then {}
             when '{}' then {}
             when '{}' then {}
             when '{}' then {}
             when '{}' then {}
             when '{}' then {} or exists (select 1 from webhook_events k where k.message_n = e.message_n)
             else e.type in ('{}', '{}')
           end as concerns
         from events e where e.seq > ?1 order by e.seq limit ?2",
        Kind::Message.name(),
        wanted(&[DeliveryKind::MessageCreated]),
        Kind::Updated.name(),
        wanted(&[DeliveryKind::MessageUpdated]),
        Kind::MediaUpdated.name(),
        wanted(&[DeliveryKind::MessageUpdated]),
        Kind::Reaction.name(),
        wanted(&[DeliveryKind::ReactionAdded, DeliveryKind::ReactionRemoved]),
        Kind::Channel.name(),
        wanted(&DeliveryKind::OF_CHANNEL.map(|(_, kind)| kind)),
        Kind::Deleted.name(),
        wanted(&[DeliveryKind::MessageDeleted]),
        Kind::Departed.name(),
        Kind::Reclaimed.name()
    );
    let mut select = conn.prepare_cached(&sql)?;
    Ok(select.query_map((after, ROWS), from_row)?.collect::<rusqlite::Result<_>>()?)
}

fn from_row(row: &Row) -> rusqlite::Result<Logged> {
    Ok(Logged {
        seq: row.get("seq")?,
        stream: row.get("stream")?,
        kind: row.get("type")?,
        message: row.get("message_n")?,
        channel: row.get("channel_id")?,
        actor: row.get("actor_id")?,
        created_at: row.get("created_at")?,
        bytes: row.get("bytes")?,
        concerns: row.get("concerns")?,
    })
}

/// Whether the user's departure from the channel's organisation, or the reclaiming of their account, is not fully processed
/// yet.
pub(in crate::domain) fn is_ending(conn: &Connection, user: UserId, channel: ChannelId) -> Result<bool> {
    let sql = "select 1 from events e where e.actor_id = ?1 and e.type in ('departed', 'reclaimed') and e.seq > ?2
         and (e.type = 'reclaimed' or unhex(e.body, '-\"') = (select c.organisation_id from channels c where c.id = ?3))";
    Ok(conn.prepare_cached(sql)?.exists((user, find(conn)?, channel))?)
}
