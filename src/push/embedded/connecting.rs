//! The first command, and keeping a connection beyond its first token.

use std::{collections::HashMap, sync::Arc};

use super::{
    codes::{Disconnect, Failure, Fault},
    connection::{Begun, Connection, SUBSCRIPTIONS, Terms},
    encoding::Encoding,
    protocol::{Answer, ConnectRequest, ConnectResult, Expiry, RefreshResult, Reply, SubscribeRequest},
    subscribing,
};
use crate::{
    db::log,
    domain::{
        accounts::sessions,
        streams::{self, recovery},
    },
    push::tokens::{self, Refusal},
    state::App,
};

pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// What the first command is answered with, besides what it asks for.
#[derive(Clone, Copy)]
pub struct Welcome {
    pub transport: &'static str,
    pub encoding: Encoding,
    /// Of the command; 0 where it has none.
    pub id: u32,
    /// Pings in messages of the protocol are announced.
    pub pings: bool,
    /// And must be answered in such.
    pub pongs: bool,
}

/// Takes a client in: it hears from here on what it has subscribed to with good tokens in its request. A bad one is
/// left out, as the real server does.
pub fn connect(app: &App, request: ConnectRequest, welcome: Welcome) -> Result<Arc<Connection>, Fault> {
    if request.token.is_empty() {
        return Err(Disconnect::BAD_REQUEST.into());
    }
    let identity = tokens::of_connection(&app.site, &request.token).map_err(|refusal| match refusal {
        Refusal::Expired => Fault::Reply(Failure::TOKEN_EXPIRED),
        Refusal::Unreadable | Refusal::Mismatch => Fault::Close(Disconnect::INVALID_TOKEN),
    })?;
    if request.subs.len() > SUBSCRIPTIONS {
        return Err(Disconnect::CHANNEL_LIMIT.into());
    }
    // As much work as that many commands.
    if (0..=request.subs.len()).any(|_| app.limits.command(identity.user).is_err()) {
        return Err(Failure::TOO_MANY_REQUESTS.into());
    }
    let connection = Connection::new(identity.user, identity.session, welcome.transport, welcome.encoding, identity.expires_at);
    let connection = Arc::new(connection);
    if !app.hub.register(&connection) {
        return Err(Disconnect::CONNECTION_LIMIT.into());
    }
    let accepted = accept(app, &connection, request.subs, welcome);
    if accepted.is_err() {
        app.hub.unregister(&connection);
    }
    accepted.map(|()| connection)
}

fn accept(
    app: &App,
    connection: &Arc<Connection>,
    subs: HashMap<String, SubscribeRequest>,
    welcome: Welcome,
) -> Result<(), Fault> {
    let mut asked: Vec<(Begun, SubscribeRequest)> = Vec::new();
    for (channel, request) in subs {
        let Ok(expires_at) = tokens::of_subscription(&app.site, connection, &channel, &request.token) else { continue };
        let terms = Terms { watches: request.join_leave, expires_at: Some(expires_at), is_server_side: true };
        if let Ok(begun) = app.hub.subscribe(connection, &channel, terms) {
            asked.push((begun, SubscribeRequest { channel, ..request }));
        }
    }
    // One state: what this transaction does not see comes through the hub, which already holds it back.
    let checked = app.db.read(|conn| {
        let caller = sessions::find(conn, connection.session, conn.now())?.filter(|caller| caller.user == connection.user);
        let (mut results, mut room) = (HashMap::new(), recovery::BYTES);
        for (_, request) in &asked {
            if let Some(stream) = streams::audible(conn, connection.user, &request.channel)? {
                let result = subscribing::position(conn, connection.user, stream, request, &mut room)?;
                results.insert(request.channel.clone(), result);
            }
        }
        Ok((caller.is_some(), results, log::last_seq(conn)?))
    });
    let (is_known, mut results, seq) = checked.map_err(subscribing::unchecked)?;
    if !is_known {
        return Err(Disconnect::INVALID_TOKEN.into());
    }
    let (audible, deaf): (Vec<_>, Vec<_>) = asked.into_iter().partition(|(_, request)| results.contains_key(&request.channel));
    deaf.iter().for_each(|(begun, _)| _ = app.hub.unsubscribe(connection, &begun.channel));
    let begun: Vec<Begun> = audible.into_iter().map(|(begun, _)| begun).collect();
    let recoveries = results.values().filter(|result| result.was_recovering);
    recoveries.for_each(|result| app.metrics.recovery(result.recovered));
    app.seen(connection.user);
    let live = connection.go_live(&begun, seq, |live| {
        results.retain(|channel, _| live.contains(&channel.as_str()));
        let expiry = Expiry::at(connection.expires_at(), app.clock.now());
        let result = ConnectResult {
            client: connection.client.to_string(),
            version: VERSION.to_owned(),
            expires: expiry.expires,
            ttl: expiry.ttl,
            subs: results,
            ping: if welcome.pings { app.ping_every.as_secs() as u32 } else { 0 },
            pong: welcome.pongs,
        };
        [Reply::new(welcome.id, Answer::Connect(result))]
    });
    live.iter().for_each(|channel| app.hub.announce(connection, channel));
    Ok(())
}

/// Gives the connection another token.
pub fn refresh(app: &App, connection: &Connection, token: &str) -> Result<RefreshResult, Fault> {
    if token.is_empty() {
        return Err(Disconnect::BAD_REQUEST.into());
    }
    let identity = tokens::of_connection(&app.site, token).map_err(|refusal| match refusal {
        Refusal::Expired => Disconnect::EXPIRED,
        Refusal::Unreadable | Refusal::Mismatch => Disconnect::INVALID_TOKEN,
    })?;
    if identity.user != connection.user {
        return Err(Disconnect::INVALID_TOKEN.into());
    }
    // Who has logged in anew: a connection lives and dies with one session.
    if identity.session != connection.session {
        return Err(Disconnect::RECONNECT.into());
    }
    connection.extend(identity.expires_at);
    let Expiry { expires, ttl } = Expiry::at(identity.expires_at, app.clock.now());
    Ok(RefreshResult { client: connection.client.to_string(), version: VERSION.to_owned(), expires, ttl })
}
