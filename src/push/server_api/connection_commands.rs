//! Commands that change open connections: `subscribe`, `unsubscribe`, `disconnect`, `refresh`.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::json;

use super::answers::{Answer, Refused, result, stream};
use crate::{
    domain::streams,
    error::Result,
    id::UserId,
    push::{
        context::Push,
        embedded::{
            codes::{CommandError, Disconnect, Failure, Unsubscribe},
            connection::{Connection, Terms},
            protocol::{
                replies::{Expiry, PushBody, Reply},
                requests::{Position, SubscribeRequest},
            },
            subscribing,
        },
    },
};

/// Selects connections: all of a user's, or those of a client or session.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Whose {
    user: String,
    client: String,
    session: String,
}

impl Whose {
    /// The user; `None` if the text is not an identifier of a user.
    fn user(&self) -> Result<Option<UserId>, Failure> {
        if self.user.is_empty() { Err(Failure::BAD_REQUEST) } else { Ok(self.user.parse().ok().map(UserId)) }
    }

    fn connections(&self, push: &Push) -> Result<Vec<Arc<Connection>>, Failure> {
        let all = self.user()?.map(|user| push.hub.connections_of_user(user)).unwrap_or_default();
        let is_named = |name: &str, id: uuid::Uuid| name.is_empty() || name == id.to_string();
        let named =
            all.into_iter().filter(|of| is_named(&self.client, of.client) && is_named(&self.session, of.session.0)).collect();
        Ok(named)
    }
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub struct Subscribe {
    #[serde(flatten)]
    whose: Whose,
    channel: String,
    recover_since: Option<Position>,
    /// When the subscription expires, in Unix seconds; 0 for never.
    expire_at: i64,
}

/// Subscribes connections to a channel that their user has a right to: the API's key grants users no rights.
pub fn subscribe(push: &Push, request: Subscribe) -> Answer {
    let Subscribe { whose, channel, recover_since, expire_at } = request;
    let (user, connections) = (whose.user()?, whose.connections(push)?);
    stream(push, &channel)?;
    let user = user.ok_or(Failure::PERMISSION_DENIED)?;
    if push.db.read(|conn| streams::find_audible(conn, user, &channel))?.is_none() {
        return Err(Failure::PERMISSION_DENIED.into());
    }
    let expires_at = (expire_at != 0).then_some(expire_at);
    if expires_at.is_some_and(|end| end <= push.clock.now().unix_seconds()) {
        return Err(Failure::EXPIRED.into());
    }
    let recover = recover_since.is_some();
    let Position { offset, epoch } = recover_since.unwrap_or_default();
    let request = SubscribeRequest { channel, recover, offset, epoch, ..Default::default() };
    let terms = Terms { expires_at, is_server_side: true, ..Terms::default() };
    let imposed = connections.iter().map(|connection| subscribing::impose(push, connection, &request, terms));
    // All are tried, even if one of them is at its bound of subscriptions.
    let refused = imposed.collect::<Vec<_>>().into_iter().find_map(Result::err);
    match refused {
        None => done(),
        Some(CommandError::Reply(failure)) => Err(failure.into()),
        Some(CommandError::Close(_)) => Err(Failure::INTERNAL.into()),
    }
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub struct UserChannelRequest {
    #[serde(flatten)]
    whose: Whose,
    channel: String,
}

pub fn unsubscribe(push: &Push, request: &UserChannelRequest) -> Answer {
    let connections = request.whose.connections(push)?;
    stream(push, &request.channel)?;
    connections.iter().for_each(|connection| push.hub.end_subscription(connection, &request.channel, Unsubscribe::BY_SERVER));
    done()
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub struct Close {
    #[serde(flatten)]
    whose: Whose,
    /// Clients that stay connected.
    whitelist: Vec<String>,
    disconnect: Option<Why>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Why {
    code: u16,
    reason: String,
}

pub fn disconnect(push: &Push, request: Close) -> Answer {
    let why = match request.disconnect {
        None => Disconnect::FORCED,
        Some(Why { code, reason }) => Disconnect::custom(code, reason).ok_or(Failure::BAD_REQUEST)?,
    };
    for connection in request.whose.connections(push)? {
        if !request.whitelist.contains(&connection.client.to_string()) {
            connection.disconnect(why.clone());
        }
    }
    done()
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub struct Refresh {
    #[serde(flatten)]
    whose: Whose,
    expired: bool,
    /// When the connections expire, in Unix seconds; 0 changes nothing.
    expire_at: i64,
}

/// Changes when connections expire, or ends them as expired. They still end with their session.
pub fn refresh(push: &Push, request: &Refresh) -> Answer {
    let is_over = request.expired || (request.expire_at != 0 && request.expire_at <= push.clock.now().unix_seconds());
    for connection in request.whose.connections(push)? {
        match request.expire_at {
            _ if is_over => connection.disconnect(Disconnect::EXPIRED),
            0 => {}
            expires_at => {
                connection.extend_session(expires_at);
                connection.send(Reply::push("", PushBody::Refresh(Expiry::from_end_time(expires_at, push.clock.now()))));
            }
        }
    }
    done()
}

fn done() -> Result<Box<serde_json::value::RawValue>, Refused> {
    result(&json!({}))
}
