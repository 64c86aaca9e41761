//! Rows of the event log: writing them in the transaction of their change, showing them as publications, and pruning them.

use std::time::Duration;

use serde::Serialize;

use crate::{
    db::Tx,
    domain::{
        log::{
            cursors,
            publication_envelope::{Ids, OrganisationIds, envelope},
        },
        slice_byte_budget,
    },
    error::{Error, Result},
    event::{Audience, Effect, Event, Kind, Recovery, Stream},
    id::{ChannelId, OrganisationId, UserId},
    secret,
    time::Time,
};

/// A message notifies people within this time. What is older, after a long stop, a restored backup or a night without a connection,
/// does so no more.
pub(in crate::domain) const NOTIFIES_WITHIN: Duration = Duration::from_secs(600);

/// A change to be logged and pushed.
pub struct New<'a, B: ?Sized> {
    pub kind: Kind,
    pub stream: Stream,
    /// Whether each member of the channel, or of the thread for the stream of a thread, receives it on their personal stream,
    /// except the actor; see [`Kind::recovery_method`].
    pub to_members: bool,
    pub channel: Option<ChannelId>,
    /// The `n` of the message whose text the body carries.
    pub message: Option<i64>,
    /// Who made the change. None if they are to receive it, too, on their other devices.
    pub actor: Option<UserId>,
    pub body: &'a B,
}

/// Writes a row of the log, records its seq for recovery, and has it pushed after the commit. Returns its seq.
pub fn emit<B: Serialize + ?Sized>(tx: &mut Tx, new: New<B>) -> Result<i64> {
    let (seq, recovery) = append(tx, &new)?;
    remember(tx, new.stream, recovery, seq)?;
    Ok(seq)
}

/// SQL assignments that record an event's seq in the row of its channel or thread; `?2` is the seq.
pub struct Seqs {
    pub assignments: &'static str,
    pub seq: i64,
}

/// [`emit`] for the stream of a channel or thread whose own row changes with the event. `update` must write that change and
/// the [`Seqs`] in one statement: two updates of a row cost twice as much.
pub fn emit_with_stream_row<T, B: Serialize + ?Sized>(
    tx: &mut Tx,
    new: New<B>,
    update: impl FnOnce(&Tx, Seqs) -> Result<T>,
) -> Result<T> {
    let (seq, recovery) = append(tx, &new)?;
    update(tx, Seqs { assignments: assignments(recovery), seq })
}

/// Writes a row of the log and has it pushed after the commit. The object of a new message is not stored: it can be made
/// from the message again, and would be the larger part of what a post writes.
fn append<B: Serialize + ?Sized>(tx: &mut Tx, new: &New<B>) -> Result<(i64, Option<Recovery>)> {
    let recovery = if new.to_members {
        Some(
            new.kind
                .recovery_method(matches!(new.stream, Stream::Thread(_)))
                .ok_or_else(|| Error::internal("an event that no member could recover"))?,
        )
    } else {
        None
    };
    let audience = match recovery {
        None => Audience::Subscribers,
        Some(Recovery::Each) => Audience::Members,
        Some(Recovery::UnreadState | Recovery::ChannelState | Recovery::ThreadState) => Audience::Both,
    };
    let stream = new.stream.to_string();
    let body = serde_json::to_string(new.body).map_err(Error::internal)?;
    let stored = if new.kind == Kind::Message { "" } else { &body };
    tx.charge_logged(stored.len())?;
    tx.prepare_cached(
        "insert into events (stream, audience, type, channel_id, message_n, actor_id, body, created_at)
         values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
    )?
    .execute((&stream, audience.as_str(), new.kind, new.channel, new.message, new.actor, stored, tx.now()))?;
    let seq = tx.last_insert_rowid();
    let New { kind, channel, message, actor, .. } = *new;
    tx.then(Effect::Publish(Event { seq, stream, audience, kind, channel, message, actor, body }));
    Ok((seq, recovery))
}

/// Records the seq as the last of its stream, and of the state that the event has changed.
fn remember(tx: &Tx, stream: Stream, recovery: Option<Recovery>, seq: i64) -> Result<()> {
    match stream {
        Stream::Channel(id) => {
            let sql = format!("update channels set {} where id = ?1", assignments(recovery));
            tx.prepare_cached(&sql)?.execute((id, seq))?
        }
        Stream::Thread(id) => tx.prepare_cached("update messages set last_seq = ?2 where id = ?1")?.execute((id, seq))?,
        Stream::Organisation(id) => {
            tx.prepare_cached("update organisations set last_seq = ?2 where id = ?1")?.execute((id, seq))?
        }
        Stream::Personal(organisation, user) => tx
            .prepare_cached("update organisation_members set last_seq = ?3 where organisation_id = ?1 and user_id = ?2")?
            .execute((organisation, user, seq))?,
        Stream::Account(id) => tx.prepare_cached("update users set last_seq = ?2 where id = ?1")?.execute((id, seq))?,
    };
    Ok(())
}

/// The assignments of [`Seqs`]. A thread's row has only `last_seq`: its members may be given their present state once more than
/// it has changed.
fn assignments(recovery: Option<Recovery>) -> &'static str {
    match recovery {
        Some(Recovery::UnreadState) => "last_seq = ?2, message_seq = ?2",
        Some(Recovery::ChannelState) => "last_seq = ?2, edit_seq = ?2",
        Some(Recovery::Each | Recovery::ThreadState) | None => "last_seq = ?2",
    }
}

/// Logs a change in an organisation for all its members, guests included. `user` made the change or is its subject.
pub fn emit_to_organisation(
    tx: &mut Tx,
    organisation: OrganisationId,
    kind: Kind,
    user: UserId,
    data: impl Serialize,
) -> Result<()> {
    let modification_ids = OrganisationIds { org_id: organisation, user_id: user };
    let body = envelope(kind, false, data).with(Ids { modification_ids });
    let new = New {
        kind,
        stream: Stream::Organisation(organisation),
        to_members: false,
        channel: None,
        message: None,
        actor: Some(user),
        body: &body,
    };
    emit(tx, new)?;
    Ok(())
}

/// Logs an event about a channel for one member's own devices, on their personal stream.
pub(in crate::domain) fn emit_to_member(
    tx: &mut Tx,
    organisation: OrganisationId,
    user: UserId,
    kind: Kind,
    channel: ChannelId,
    data: impl Serialize,
) -> Result<()> {
    let new = New {
        kind,
        stream: Stream::Personal(organisation, user),
        to_members: false,
        channel: Some(channel),
        message: None,
        actor: None,
        body: &envelope(kind, false, data),
    };
    emit(tx, new)?;
    Ok(())
}

/// Logs a change of an account for the account's own devices.
pub(in crate::domain) fn emit_to_account(tx: &mut Tx, user: UserId, kind: Kind, data: impl Serialize) -> Result<()> {
    let new = New {
        kind,
        stream: Stream::Account(user),
        to_members: false,
        channel: None,
        message: None,
        actor: None,
        body: &envelope(kind, false, data),
    };
    emit(tx, new)?;
    Ok(())
}

/// Logs that these users have lost some or all of their rights, for consumers that follow the log; see `revocations.rs`.
/// Clients receive nothing.
pub(in crate::domain) fn revoke(tx: &mut Tx, users: &[UserId]) -> Result<()> {
    note(tx, Kind::Revocation, None, users)
}

/// Logs an event that only consumers of the log inside this server act on. Clients receive nothing.
pub(in crate::domain) fn note(tx: &mut Tx, kind: Kind, actor: Option<UserId>, body: impl Serialize) -> Result<()> {
    let body = serde_json::to_string(&body).map_err(Error::internal)?;
    tx.prepare_cached("insert into events (stream, audience, type, actor_id, body, created_at) values ('', ?1, ?2, ?3, ?4, ?5)")?
        .execute((Audience::Nobody.as_str(), kind, actor, &body, tx.now()))?;
    let seq = tx.last_insert_rowid();
    let (stream, audience) = (String::new(), Audience::Nobody);
    tx.then(Effect::Publish(Event { seq, stream, audience, kind, channel: None, message: None, actor, body }));
    Ok(())
}

/// The event as clients receive it, with a `notification_id`. Bare message objects and publications of other programs have
/// none.
pub fn body(epoch: &str, event: &Event) -> String {
    match event.kind {
        Kind::Message | Kind::Published => event.body.clone(),
        kind => add_notification_id(epoch, event.seq, kind, &event.body),
    }
}

/// Adds a `notification_id` to a body. It derives from epoch, seq and kind, so that live push, recovery and history show the
/// same one.
pub fn add_notification_id(epoch: &str, seq: i64, kind: Kind, body: &str) -> String {
    let hash = secret::sha256(format!("{epoch}:{seq}:{}", kind.name()));
    let id = uuid::Builder::from_random_bytes(*hash.first_chunk().expect("a hash has 32 bytes")).into_uuid();
    format!(r#"{},"notification_id":"{id}"}}"#, body.strip_suffix('}').unwrap_or(body))
}

/// Deletes up to `limit` rows older than `before`, raises the floor to the last of them, and returns how many. Rows in the
/// backlog of a consumer stay, up to a million.
pub fn prune(tx: &mut Tx, before: Time, limit: u32) -> Result<usize> {
    let oldest: Vec<i64> =
        slice_byte_budget::keys_within(tx, "select seq, octet_length(body) from events order by seq limit ?1", [limit])?;
    let floor: Option<i64> = tx
        .prepare_cached("select max(seq) from events where seq <= ?1 and created_at < ?2 and seq <= ?3")?
        .query_row((oldest.last(), before, cursors::prunable(tx)?), |row| row.get(0))?;
    let Some(floor) = floor else { return Ok(0) };
    let gone = tx.prepare_cached("delete from events where seq <= ?1")?.execute([floor])?;
    tx.prepare_cached("update meta set value = ?1 where key = 'events_floor'")?.execute([floor.to_string()])?;
    Ok(gone)
}
