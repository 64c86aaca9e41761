//! Subscriptions: begins them with what the client missed, refreshes them, and reads a channel's history.

use std::sync::Arc;

use rusqlite::Connection as Sqlite;

use super::{
    codes::{CommandError, Disconnect, Failure},
    connection::{Begun, Connection, Refused, Terms},
    protocol::{
        replies::{Answer, Expiry, HistoryResult, Publication, PushBody, Reply, SubscribeResult, Subscribed},
        requests::{HistoryRequest, SubRefreshRequest, SubscribeRequest},
    },
};
use crate::{
    db::{View, log_reader},
    domain::{
        accounts::sessions,
        streams::{
            self,
            publication_cache::{self, Recent},
            recovery::{self, Range},
        },
    },
    error::{Error, Result},
    event::Stream,
    id::UserId,
    push::context::Push,
    push::tokens::{self, Refusal},
};

const CHANNEL_NAME_MAX: usize = 255;

/// Answers `subscribe`. Events that were published during the command follow the reply.
pub fn subscribe(push: &Push, connection: &Arc<Connection>, id: u32, request: &SubscribeRequest) -> Result<(), CommandError> {
    let channel = &request.channel;
    if channel.is_empty() {
        return Err(Disconnect::BAD_REQUEST.into());
    }
    // Centrifugo's order of checks, all before the token.
    let early = match channel {
        name if name.len() > CHANNEL_NAME_MAX => Some(Failure::BAD_REQUEST),
        _ if connection.is_subscribed(channel) => Some(Failure::ALREADY_SUBSCRIBED),
        _ if connection.has_most_subscriptions() => Some(Failure::LIMIT_EXCEEDED),
        name if !name.is_ascii() => Some(Failure::BAD_REQUEST),
        name if name.contains(':') => Some(Failure::UNKNOWN_CHANNEL), // of a namespace; this server has none
        _ if request.r#type != 0 => Some(Failure::NOT_AVAILABLE),
        _ => None,
    };
    if let Some(failure) = early {
        return Err(failure.into());
    }
    let expires_at =
        tokens::check_subscription_token(&push.site, connection, channel, &request.token).map_err(|refusal| match refusal {
            Refusal::Expired => CommandError::Reply(Failure::TOKEN_EXPIRED),
            Refusal::Unreadable => CommandError::Reply(Failure::PERMISSION_DENIED),
            Refusal::Mismatch => CommandError::Close(Disconnect::INVALID_TOKEN),
        })?;
    let terms = Terms { watches: request.join_leave, expires_at: Some(expires_at), is_server_side: false, is_own: false };
    let Start { begun, result, seq } = begin(push, connection, request, terms)?;
    let Expiry { expires, ttl } = Expiry::from_end_time(expires_at, push.clock.now());
    let live = connection.go_live(&[begun], seq, |live| match live {
        [] => [Reply::new(id, Answer::Error(Failure::PERMISSION_DENIED.into()))],
        _ => [Reply::new(id, Answer::Subscribe(SubscribeResult { expires, ttl, ..result }))],
    });
    live.iter().for_each(|channel| push.hub.announce_join(connection, channel));
    Ok(())
}

/// Begins a subscription for a client that didn't ask for it. The client gets a subscribe push, and then the publications
/// after the position in the request. Nothing happens if the connection is subscribed already, has ended, or has no reply
/// to its `connect` yet.
pub fn impose(push: &Push, connection: &Arc<Connection>, request: &SubscribeRequest, terms: Terms) -> Result<(), CommandError> {
    if !connection.is_connected() {
        return Ok(());
    }
    let Start { begun, result, seq } = match begin(push, connection, request, terms) {
        // The connection may have ended since, or subscribed by itself.
        Err(_) if !connection.is_connected() || connection.is_subscribed(&request.channel) => return Ok(()),
        begun => begun?,
    };
    let SubscribeResult { recoverable, epoch, offset, positioned, publications, .. } = result;
    let subscribed = Subscribed { recoverable, epoch, offset, positioned };
    let pushes = std::iter::once(PushBody::Subscribe(subscribed)).chain(publications.into_iter().map(PushBody::Pub));
    let live = connection.go_live(&[begun], seq, |live| {
        pushes.map(|push| Reply::push(&request.channel, push)).take(if live.is_empty() { 0 } else { usize::MAX })
    });
    live.iter().for_each(|channel| push.hub.announce_join(connection, channel));
    Ok(())
}

/// A subscription that still buffers publications, and the result that it begins with.
struct Start {
    begun: Begun,
    result: SubscribeResult,
    /// The seq up to which the result contains the publications.
    seq: i64,
}

/// Begins a subscription if the connection's user has the right to the channel.
fn begin(push: &Push, connection: &Arc<Connection>, request: &SubscribeRequest, terms: Terms) -> Result<Start, CommandError> {
    let channel = &request.channel;
    let begun = push.hub.subscribe(connection, channel, terms).map_err(|refused| match refused {
        Refused::Already => Failure::ALREADY_SUBSCRIBED,
        Refused::Limit => Failure::LIMIT_EXCEEDED,
        Refused::Gone => Failure::NOT_AVAILABLE,
    })?;
    // One transaction reads one state. Later events come through the hub, which already buffers them.
    let checked = push.db.read(|conn| {
        let caller = sessions::find(conn, connection.session, conn.now())?;
        let stream = caller.map_or(Ok(None), |caller| streams::find_permitted(conn, caller, channel))?;
        let mut budget = recovery::BYTES;
        let result =
            stream.map(|stream| recover(conn, connection.user, stream, request, (&push.recent, &mut budget))).transpose()?;
        Ok((result, log_reader::last_seq(conn)?))
    });
    if let Ok((Some(result), _)) = &checked
        && result.was_recovering
    {
        push.metrics.recovery(result.recovered);
    }
    match checked.map_err(log_read_failure) {
        Ok((Some(result), seq)) if result.recovered || !request.recover || !request.rejects_unrecovered() => {
            Ok(Start { begun, result, seq })
        }
        refused => {
            push.hub.unsubscribe(connection, channel);
            let (result, _) = refused?;
            Err(if result.is_some() { Failure::UNRECOVERABLE } else { Failure::PERMISSION_DENIED }.into())
        }
    }
}

/// The position at which a subscription begins, and the publications after the position that the client sent. `recovered` is
/// true if these are complete. They take bytes from `budget`; if it is too small for all, none are returned.
pub fn recover(
    conn: &View,
    user: UserId,
    stream: Stream,
    request: &SubscribeRequest,
    (recent, budget): (&Recent, &mut usize),
) -> Result<SubscribeResult> {
    let (epoch, top) = (log_reader::epoch(conn)?, log_reader::last_seq(conn)?);
    let is_same_log = request.epoch.is_empty() || request.epoch == epoch;
    let missed = match i64::try_from(request.offset) {
        Ok(offset) if request.recover && is_same_log => recovery::missed(conn, user, stream, &epoch, offset, (recent, budget))?,
        _ => None,
    };
    let recovered = missed.is_some();
    let publications: Vec<Publication> = missed.into_iter().flatten().map(publication).collect();
    Ok(SubscribeResult {
        recoverable: true,
        positioned: true,
        was_recovering: request.recover,
        recovered,
        // The client takes the offset of each publication in turn, beginning with the one that it sent.
        offset: if publications.is_empty() { top as u64 } else { request.offset },
        publications,
        epoch,
        ..SubscribeResult::default()
    })
}

fn publication(publication: publication_cache::Publication) -> Publication {
    Publication { data: publication.body, offset: publication.seq as u64 }
}

/// Replaces a subscription's token by one that expires later.
pub fn refresh(push: &Push, connection: &Connection, request: &SubRefreshRequest) -> Result<Expiry, CommandError> {
    let SubRefreshRequest { channel, token } = request;
    require_subscribed(connection, channel)?;
    if token.is_empty() {
        return Err(Failure::BAD_REQUEST.into());
    }
    let expires_at =
        tokens::check_subscription_token(&push.site, connection, channel, token).map_err(|refusal| match refusal {
            Refusal::Expired => Disconnect::SUBSCRIPTION_EXPIRED,
            Refusal::Unreadable | Refusal::Mismatch => Disconnect::INVALID_TOKEN,
        })?;
    if !connection.extend_subscription(channel, expires_at) {
        return Err(Failure::PERMISSION_DENIED.into());
    }
    Ok(Expiry::from_end_time(expires_at, push.clock.now()))
}

/// Publications of a channel that the connection is subscribed to. A `limit` of 0 returns none, as Centrifugo does; -1
/// returns as many as an answer may hold.
pub fn history(push: &Push, connection: &Connection, request: &HistoryRequest) -> Result<HistoryResult, CommandError> {
    require_subscribed(connection, &request.channel)?;
    let found = push.db.read(|conn| match streams::find_audible(conn, connection.user, &request.channel)? {
        Some(stream) => history_unchecked(conn, stream, request),
        None => Ok(Err(Failure::PERMISSION_DENIED)),
    });
    Ok(found.map_err(log_read_failure)??)
}

/// [`history`] of a stream, without a check of rights.
pub fn history_unchecked(conn: &Sqlite, stream: Stream, request: &HistoryRequest) -> Result<Result<HistoryResult, Failure>> {
    let (epoch, offset) = (log_reader::epoch(conn)?, log_reader::last_seq(conn)? as u64);
    let since = request.since.as_ref();
    if since.is_some_and(|since| !since.epoch.is_empty() && since.epoch != epoch) {
        return Ok(Err(Failure::UNRECOVERABLE));
    }
    let since = since.map(|since| i64::try_from(since.offset).unwrap_or(i64::MAX));
    if request.reverse && since == Some(0) {
        return Ok(Err(Failure::BAD_REQUEST));
    }
    let limit = u32::try_from(request.limit).unwrap_or(recovery::MOST).min(recovery::MOST);
    let range = match (request.reverse, since) {
        (true, before) => Range { after: 0, before: before.unwrap_or(i64::MAX), newest_first: true, limit },
        (false, after) => Range { after: after.unwrap_or(0), before: i64::MAX, newest_first: false, limit },
    };
    let publications = if limit == 0 { Vec::new() } else { recovery::publications(conn, stream, &epoch, range)? };
    Ok(Ok(HistoryResult { publications: publications.into_iter().map(publication).collect(), epoch, offset }))
}

/// Refuses a command about a channel that the connection is not subscribed to.
pub fn require_subscribed(connection: &Connection, channel: &str) -> Result<(), CommandError> {
    if channel.is_empty() {
        return Err(Disconnect::BAD_REQUEST.into());
    }
    if connection.is_subscribed(channel) { Ok(()) } else { Err(Failure::PERMISSION_DENIED.into()) }
}

/// Logs that the database could not be read, and returns the client's error.
pub fn log_read_failure(err: Error) -> Failure {
    tracing::error!(err = err.log_text(), "a client's rights could not be checked");
    Failure::INTERNAL
}
