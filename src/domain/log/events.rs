//! The event log: every change that a client can see is a row, written with the change.

use serde::Serialize;
use serde_json::json;

use crate::{
    db::Tx,
    domain::{bounded, log::forwarding},
    error::{Error, Result},
    event::{Audience, Effect, Event, Stream},
    id::{ChannelId, OrganisationId, UserId},
    secret,
    time::Time,
};

/// A change to be logged and pushed.
pub struct New<'a, B: ?Sized = serde_json::Value> {
    pub stream: Stream,
    pub audience: Audience,
    /// `notification_type`; empty for a bare message object, [`PUBLISHED`] for another program's words.
    pub kind: &'static str,
    pub channel: Option<ChannelId>,
    /// The `n` of the message whose text the body carries.
    pub message: Option<i64>,
    pub actor: Option<UserId>,
    pub body: &'a B,
}

/// Writes the row, remembers its seq as the stream's last, and has it pushed after the commit.
pub fn emit<B: Serialize + ?Sized>(tx: &mut Tx, new: New<B>) -> Result<i64> {
    let stream = new.stream.to_string();
    let body = serde_json::to_string(new.body).map_err(Error::internal)?;
    tx.prepare_cached(
        "insert into events (stream, audience, type, channel_id, message_n, actor_id, body, created_at)
         values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
    )?
    .execute((&stream, new.audience.as_str(), new.kind, new.channel, new.message, new.actor, &body, Time::now()))?;
    let seq = tx.last_insert_rowid();
    match new.stream {
        Stream::Channel(id) => tx.prepare_cached("update channels set last_seq = ?2 where id = ?1")?.execute((id, seq))?,
        Stream::Thread(id) => tx.prepare_cached("update messages set last_seq = ?2 where id = ?1")?.execute((id, seq))?,
        Stream::Organisation(id) => {
            tx.prepare_cached("update organisations set last_seq = ?2 where id = ?1")?.execute((id, seq))?
        }
        Stream::Personal(organisation, user) => tx
            .prepare_cached("update organisation_members set last_seq = ?3 where organisation_id = ?1 and user_id = ?2")?
            .execute((organisation, user, seq))?,
    };
    let event =
        Event { seq, stream, audience: new.audience, kind: new.kind.into(), channel: new.channel, actor: new.actor, body };
    tx.then(Effect::Publish(event));
    Ok(seq)
}

/// Logs a change of an organisation or of something in it that all its members may know, guests, too;
/// `user` did it, or is who it is about.
pub fn tell_organisation(
    tx: &mut Tx,
    organisation: OrganisationId,
    kind: &'static str,
    user: UserId,
    data: serde_json::Value,
) -> Result<()> {
    let mut body = envelope(kind, CHANNELS_SECTION, data);
    body["modification_ids"] = json!({ "org_id": organisation, "user_id": user });
    let new = New {
        stream: Stream::Organisation(organisation),
        audience: Audience::Subscribers,
        kind,
        channel: None,
        message: None,
        actor: Some(user),
        body: &body,
    };
    emit(tx, new)?;
    Ok(())
}

/// Logs that these users' rights have ended, wholly or in part: `revocations.rs` says why. Nothing is pushed.
pub(in crate::domain) fn revoke(tx: &mut Tx, users: &[UserId]) -> Result<()> {
    let users = serde_json::to_string(users).map_err(Error::internal)?;
    tx.prepare_cached(
        "insert into events (stream, audience, type, body, created_at) values ('', 'nobody', 'revocation', ?1, ?2)",
    )?
    .execute((users, Time::now()))?;
    Ok(())
}

/// The envelope of all publications but bare messages; `notification_id` is added from the row's seq.
pub fn envelope(kind: &str, section: &str, data: impl Serialize) -> serde_json::Value {
    json!({ "notification_type": kind, "section": section, "data": data })
}

/// The section of a publication that concerns a channel.
pub const CHANNELS_SECTION: &str = "channels_section";
/// The section of a publication that concerns a top-level post.
pub const THREAD_SECTION: &str = "thread_message";
/// The section of a publication that concerns a reply.
pub const REPLY_SECTION: &str = "reply_message";

/// The kind of what another program published, in words of its own.
pub const PUBLISHED: &str = "published";

/// An event as it is shown: all of ours but bare message objects carry a `notification_id`.
pub fn body(epoch: &str, event: &Event) -> String {
    match event.kind.as_str() {
        "" | PUBLISHED => event.body.clone(),
        kind => with_notification_id(epoch, event.seq, kind, &event.body),
    }
}

/// Made from epoch, seq and kind, so that it is the same whenever the event is shown.
pub fn with_notification_id(epoch: &str, seq: i64, kind: &str, body: &str) -> String {
    let hash = secret::sha256(&format!("{epoch}:{seq}:{kind}"));
    let id = uuid::Builder::from_random_bytes(*hash.first_chunk().expect("a hash has 32 bytes")).into_uuid();
    format!(r#"{},"notification_id":"{id}"}}"#, body.strip_suffix('}').unwrap_or(body))
}

/// Forgets up to `limit` rows older than `before`, but for those that wait to be forwarded, and raises the floor with
/// them. Returns how many.
pub fn prune(tx: &mut Tx, before: Time, limit: u32) -> Result<usize> {
    let oldest: Vec<i64> = bounded::rows(tx, "select seq, octet_length(body) from events order by seq limit ?1", [limit])?;
    let floor: Option<i64> = tx
        .prepare_cached("select max(seq) from events where seq <= ?1 and created_at < ?2 and seq <= ?3")?
        .query_row((oldest.last(), before, forwarding::prunable(tx)?), |row| row.get(0))?;
    let Some(floor) = floor else { return Ok(0) };
    let gone = tx.prepare_cached("delete from events where seq <= ?1")?.execute([floor])?;
    tx.prepare_cached("update meta set value = ?1 where key = 'events_floor'")?.execute([floor.to_string()])?;
    Ok(gone)
}
