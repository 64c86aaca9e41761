//! The connect command, and refreshing a connection's token.

use std::{
    collections::HashMap,
    sync::{Arc, Weak},
};

use super::{
    codes::{CommandError, Disconnect, Failure},
    connection::{Begun, Connection, SUBSCRIPTIONS, Terms},
    encoding::Encoding,
    outbox::Outbox,
    protocol::{
        replies::{Answer, ConnectResult, Expiry, RefreshResult, Reply},
        requests::{ConnectRequest, SubscribeRequest},
    },
    subscribing,
};
use crate::{
    db::{View, log_reader},
    domain::{
        accounts::sessions,
        streams::{self, recovery},
    },
    error::Result,
    event::Stream,
    id::UserId,
    push::context::Push,
    push::tokens::{self, Refusal},
};

pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Values for the reply to connect that don't depend on the request.
#[derive(Clone, Copy)]
pub struct Welcome {
    pub transport: &'static str,
    pub encoding: Encoding,
    /// The id of the command; 0 if it has none.
    pub id: u32,
    /// Whether the reply announces pings in messages of the protocol.
    pub pings: bool,
    /// Whether the client must answer these pings.
    pub pongs: bool,
}

/// Accepts a client, and begins the subscriptions in its request. A subscription with an invalid token is left out, as
/// Centrifugo does.
pub fn connect(
    push: &Push,
    request: ConnectRequest,
    welcome: Welcome,
    outbox: &Arc<Outbox>,
) -> Result<Arc<Connection>, CommandError> {
    if request.token.is_empty() {
        return Err(Disconnect::BAD_REQUEST.into());
    }
    let identity = tokens::check_connection_token(&push.site, &request.token).map_err(|refusal| match refusal {
        Refusal::Expired => CommandError::Reply(Failure::TOKEN_EXPIRED),
        Refusal::Unreadable | Refusal::Mismatch => CommandError::Close(Disconnect::INVALID_TOKEN),
    })?;
    // Those to the user's own streams have no token.
    if request.subs.values().filter(|asked| !asked.token.is_empty()).count() > SUBSCRIPTIONS {
        return Err(Disconnect::CHANNEL_LIMIT.into());
    }
    // Whether the session is live is asked again once the hub knows the connection.
    let (caller, own) = push
        .db
        .read(|conn| {
            let own = if identity.own_streams { own_streams(conn, identity.user)? } else { Vec::new() };
            Ok((sessions::find(conn, identity.session, conn.now())?, own))
        })
        .map_err(subscribing::log_read_failure)?;
    let share = caller.ok_or(Disconnect::INVALID_TOKEN)?.share();
    let mut subs = request.subs;
    own.iter().for_each(|name| _ = subs.entry(name.clone()).or_default());
    // Each subscription costs as much as a command, so it counts as one.
    if (0..=subs.len()).any(|_| push.limits.push_command(share).is_err()) {
        return Err(Failure::TOO_MANY_REQUESTS.into());
    }
    let Welcome { transport, encoding, .. } = welcome;
    let connection =
        Connection::new(identity.user, share, identity.session, transport, encoding, identity.expires_at, outbox.clone());
    let connection = Arc::new(connection.with_own_streams(identity.own_streams));
    if !push.hub.register(&connection) {
        return Err(Disconnect::CONNECTION_LIMIT.into());
    }
    let holder: Weak<Outbox> = Arc::downgrade(outbox);
    outbox.charge(push.unsent.account(share, holder));
    let accepted = accept(push, &connection, (subs, &own), welcome);
    if accepted.is_err() {
        push.hub.unregister(&connection);
    }
    accepted.map(|()| connection)
}

/// The names of the user's own streams.
fn own_streams(conn: &View, user: UserId) -> Result<Vec<String>> {
    Ok(streams::streams_of_user(conn, user)?.iter().map(Stream::to_string).collect())
}

/// Answers a registered connection, with the subscriptions in its request and those to the user's `own` streams.
fn accept(
    push: &Push,
    connection: &Arc<Connection>,
    (subs, own): (HashMap<String, SubscribeRequest>, &[String]),
    welcome: Welcome,
) -> Result<(), CommandError> {
    let mut asked: Vec<(Begun, SubscribeRequest)> = Vec::new();
    for (channel, request) in subs {
        let terms = match tokens::check_subscription_token(&push.site, connection, &channel, &request.token) {
            _ if own.contains(&channel) => Terms { watches: request.join_leave, ..Terms::OWN },
            Ok(end) => Terms { watches: request.join_leave, expires_at: Some(end), is_server_side: true, is_own: false },
            Err(_) => continue,
        };
        if let Ok(begun) = push.hub.subscribe(connection, &channel, terms) {
            asked.push((begun, SubscribeRequest { channel, ..request }));
        }
    }
    // One transaction reads one state. Later events come through the hub, which already buffers them.
    let checked = push.db.read(|conn| {
        let caller = sessions::find(conn, connection.session, conn.now())?.filter(|caller| caller.user == connection.user);
        let (mut results, mut budget) = (HashMap::new(), recovery::BYTES);
        for (_, request) in &asked {
            let stream = caller.map_or(Ok(None), |caller| streams::find_permitted(conn, caller, &request.channel))?;
            if let Some(stream) = stream {
                let result = subscribing::recover(conn, connection.user, stream, request, (&push.recent, &mut budget))?;
                results.insert(request.channel.clone(), result);
            }
        }
        Ok((caller.is_some(), results, log_reader::last_seq(conn)?))
    });
    let (is_known, mut results, seq) = checked.map_err(subscribing::log_read_failure)?;
    if !is_known {
        return Err(Disconnect::INVALID_TOKEN.into());
    }
    let (audible, deaf): (Vec<_>, Vec<_>) = asked.into_iter().partition(|(_, request)| results.contains_key(&request.channel));
    deaf.iter().for_each(|(begun, _)| _ = push.hub.unsubscribe(connection, &begun.channel));
    let begun: Vec<Begun> = audible.into_iter().map(|(begun, _)| begun).collect();
    let recoveries = results.values().filter(|result| result.was_recovering);
    recoveries.for_each(|result| push.metrics.recovery(result.recovered));
    push.activity.note(connection.user, connection.session);
    let live = connection.go_live(&begun, seq, |live| {
        results.retain(|channel, _| live.contains(&channel.as_str()));
        let expiry = Expiry::from_end_time(connection.expires_at(), push.clock.now());
        let result = ConnectResult {
            client: connection.client.to_string(),
            version: VERSION.to_owned(),
            expires: expiry.expires,
            ttl: expiry.ttl,
            subs: results,
            ping: if welcome.pings { push.ping_every.as_secs() as u32 } else { 0 },
            pong: welcome.pongs,
        };
        [Reply::new(welcome.id, Answer::Connect(result))]
    });
    live.iter().for_each(|channel| push.hub.announce_join(connection, channel));
    if connection.hears_own {
        // The publisher follows changes only once the connection is answered.
        let now = push.db.read(|conn| own_streams(conn, connection.user)).map_err(subscribing::log_read_failure)?;
        let since = now.into_iter().filter(|name| !own.contains(name));
        since.for_each(|channel| {
            _ = subscribing::impose(push, connection, &SubscribeRequest { channel, ..Default::default() }, Terms::OWN);
        });
    }
    Ok(())
}

/// Replaces the connection's token by one that expires later.
pub fn refresh(push: &Push, connection: &Connection, token: &str) -> Result<RefreshResult, CommandError> {
    if token.is_empty() {
        return Err(Disconnect::BAD_REQUEST.into());
    }
    let identity = tokens::check_connection_token(&push.site, token).map_err(|refusal| match refusal {
        Refusal::Expired => Disconnect::EXPIRED,
        Refusal::Unreadable | Refusal::Mismatch => Disconnect::INVALID_TOKEN,
    })?;
    if identity.user != connection.user {
        return Err(Disconnect::INVALID_TOKEN.into());
    }
    // A token of another session is refused: a connection belongs to one session and ends with it.
    if identity.session != connection.session {
        return Err(Disconnect::RECONNECT.into());
    }
    connection.extend_session(identity.expires_at);
    let Expiry { expires, ttl } = Expiry::from_end_time(identity.expires_at, push.clock.now());
    Ok(RefreshResult { client: connection.client.to_string(), version: VERSION.to_owned(), expires, ttl })
}
