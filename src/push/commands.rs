//! What a client asks for, and what it is answered.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{
    hub::{Connection, Refused},
    protocol::{self, Command, Connect, Disconnect, ReplyError, Request, Subscribe},
};
use crate::{
    app::App,
    db::log,
    domain::{sessions, streams},
    error::Result,
    id::{SessionId, UserId},
    secret::BadToken,
};

/// The claims of connection and subscription tokens (decisions, section 2).
#[derive(Serialize, Deserialize)]
pub struct PushClaims {
    pub sub: UserId,
    pub exp: i64,
    /// Of a connection token.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub sid: Option<SessionId>,
    /// Of a subscription token.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub channel: Option<String>,
}

const CHANNEL_NAME_MAX: usize = 255;

/// The end of an attempt to connect.
pub enum Connected {
    /// `raw` is the client of the specification's "Events" section: it sends no id, and no pongs.
    Yes { connection: Arc<Connection>, raw: bool },
    /// The reply says why; the client closes.
    No(String),
}

/// The first command.
pub fn connect(app: &App, command: Command, ping_seconds: u64) -> Result<Connected, Disconnect> {
    let id = command.id;
    let Some(Request::Connect(Connect { token, subs })) = command.request() else { return Err(Disconnect::BAD_REQUEST) };
    if token.is_empty() {
        return Err(Disconnect::BAD_REQUEST);
    }
    let claims = match app.site.keys.push.verify::<PushClaims>(&token, None) {
        Ok(claims) => claims,
        Err(BadToken::Expired) => return Ok(Connected::No(protocol::error(id, ReplyError::TOKEN_EXPIRED))),
        Err(BadToken::Invalid) => return Err(Disconnect::INVALID_TOKEN),
    };
    let (Some(session), None) = (claims.sid, claims.channel) else { return Err(Disconnect::INVALID_TOKEN) };
    if subs.len() > super::hub::SUBSCRIPTIONS {
        return Err(Disconnect::CHANNEL_LIMIT);
    }
    let connection = Arc::new(Connection::new(claims.sub, session));
    if !app.hub.register(&connection) {
        return Err(Disconnect::CONNECTION_LIMIT);
    }
    let accepted = welcome(app, &connection, id, subs, ping_seconds);
    if accepted.is_err() {
        app.hub.unregister(&connection);
    }
    accepted.map(|()| Connected::Yes { connection, raw: id == 0 })
}

/// Begins the subscriptions whose tokens are good, and replies. A bad one is left out, as the real server does.
fn welcome(
    app: &App,
    connection: &Arc<Connection>,
    id: u32,
    subs: std::collections::HashMap<String, protocol::Token>,
    ping_seconds: u64,
) -> Result<(), Disconnect> {
    let mut channels = Vec::new();
    for (channel, sub) in subs {
        if verify(app, connection, &channel, &sub.token).is_ok() && app.hub.subscribe(connection, &channel).is_ok() {
            channels.push(channel);
        }
    }
    let checked = app.db.read(|conn| {
        let known = sessions::find(conn, connection.session)?.is_some_and(|caller| caller.user == connection.user);
        let mut audible = Vec::new();
        for channel in &channels {
            if streams::audible(conn, connection.user, channel)?.is_some() {
                audible.push(channel.clone());
            }
        }
        Ok((known, audible, log::last_seq(conn)?))
    });
    let (known, audible, seq) = checked.map_err(|err| {
        tracing::error!(err = err.detail(), "a connection could not be checked");
        Disconnect::INTERNAL
    })?;
    if !known {
        return Err(Disconnect::INVALID_TOKEN);
    }
    for channel in channels.iter().filter(|channel| !audible.contains(channel)) {
        app.hub.unsubscribe(connection, channel);
    }
    app.seen(connection.user);
    connection.go_live(&audible, seq, |live| {
        protocol::connected(id, connection.client, live.iter().map(String::as_str), ping_seconds, id != 0)
    });
    Ok(())
}

/// Any command after the first; its reply is queued.
pub fn handle(app: &App, connection: &Arc<Connection>, command: Command) -> Result<(), Disconnect> {
    let id = command.id;
    match command.request().ok_or(Disconnect::BAD_REQUEST)? {
        Request::Subscribe(subscribe) => match self::subscribe(app, connection, id, &subscribe)? {
            Ok(()) => {}
            Err(error) => connection.send(protocol::error(id, error)),
        },
        Request::Unsubscribe(unsubscribe) => {
            if unsubscribe.channel.is_empty() {
                return Err(Disconnect::BAD_REQUEST);
            }
            app.hub.unsubscribe(connection, &unsubscribe.channel);
            connection.send(protocol::reply(id, "unsubscribe", &json!({})));
        }
        Request::Publish => connection.send(protocol::error(id, ReplyError::PERMISSION_DENIED)),
        Request::Unavailable => connection.send(protocol::error(id, ReplyError::NOT_AVAILABLE)),
        Request::Send => return Err(Disconnect::NOT_AVAILABLE),
        // A second connect. Pongs are the socket's business.
        Request::Connect(_) | Request::Pong => return Err(Disconnect::BAD_REQUEST),
    }
    Ok(())
}

fn subscribe(
    app: &App,
    connection: &Arc<Connection>,
    id: u32,
    Subscribe { channel, token }: &Subscribe,
) -> Result<Result<(), ReplyError>, Disconnect> {
    if channel.is_empty() {
        return Err(Disconnect::BAD_REQUEST);
    }
    if channel.len() > CHANNEL_NAME_MAX {
        return Ok(Err(ReplyError::BAD_REQUEST));
    }
    match verify(app, connection, channel, token) {
        Ok(()) => {}
        Err(Mismatch::Token(BadToken::Expired)) => return Ok(Err(ReplyError::TOKEN_EXPIRED)),
        Err(Mismatch::Token(BadToken::Invalid)) => return Ok(Err(ReplyError::PERMISSION_DENIED)),
        Err(Mismatch::Other) => return Err(Disconnect::INVALID_TOKEN),
    }
    match app.hub.subscribe(connection, channel) {
        Ok(()) => {}
        Err(Refused::Already) => return Ok(Err(ReplyError::ALREADY_SUBSCRIBED)),
        Err(Refused::Limit) => return Ok(Err(ReplyError::LIMIT_EXCEEDED)),
    }
    // One state: what this transaction does not see comes through the hub, which already holds it back.
    let checked = app.db.read(|conn| {
        let live = sessions::find(conn, connection.session)?.is_some();
        Ok((live && streams::audible(conn, connection.user, channel)?.is_some(), log::last_seq(conn)?))
    });
    let refusal = match checked {
        Ok((true, seq)) => {
            let channels = [channel.clone()];
            connection.go_live(&channels, seq, |live| match live {
                [] => protocol::error(id, ReplyError::PERMISSION_DENIED),
                _ => protocol::reply(id, "subscribe", &json!({})),
            });
            return Ok(Ok(()));
        }
        Ok((false, _)) => ReplyError::PERMISSION_DENIED,
        Err(err) => {
            tracing::error!(err = err.detail(), "a subscription could not be checked");
            ReplyError::INTERNAL
        }
    };
    app.hub.unsubscribe(connection, channel);
    Ok(Err(refusal))
}

enum Mismatch {
    Token(BadToken),
    /// A good token, but another user's or channel's, or one for connecting.
    Other,
}

fn verify(app: &App, connection: &Connection, channel: &str, token: &str) -> Result<(), Mismatch> {
    let claims = app.site.keys.push.verify::<PushClaims>(token, None).map_err(Mismatch::Token)?;
    if claims.sub == connection.user && claims.channel.as_deref() == Some(channel) { Ok(()) } else { Err(Mismatch::Other) }
}
