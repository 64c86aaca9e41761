//! The tokens that open connections and subscriptions.

use serde::{Deserialize, Serialize};

use super::embedded::connection::Connection;
use crate::{
    id::{SessionId, UserId},
    secret::BadToken,
    site::Site,
};

/// The claims of both kinds of tokens. They are those of Centrifugo's tokens.
#[derive(Serialize, Deserialize)]
pub struct PushClaims {
    pub sub: UserId,
    /// When the token expires, in Unix seconds.
    pub exp: i64,
    /// The session; only in a connection token.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub sid: Option<SessionId>,
    /// Whether the server subscribes the connection to the user's own streams; only in a connection token.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub own_streams: bool,
    /// Names of these streams, for a Centrifugo, which can't know them; only in a connection token.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub channels: Vec<String>,
    /// The channel; only in a subscription token.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub channel: Option<String>,
}

/// The content of a valid connection token.
pub struct Identity {
    pub user: UserId,
    pub session: SessionId,
    pub expires_at: i64,
    pub own_streams: bool,
}

/// Why a token is refused.
#[derive(Debug)]
pub enum Refusal {
    Expired,
    /// Not signed by this server.
    Unreadable,
    /// Valid, but for another user or channel, or of the other kind.
    Mismatch,
}

fn claims(site: &Site, token: &str) -> Result<PushClaims, Refusal> {
    site.keys().push.verify::<PushClaims>(token).map_err(|bad| match bad {
        BadToken::Expired => Refusal::Expired,
        BadToken::Invalid => Refusal::Unreadable,
    })
}

/// Checks a connection token.
pub fn check_connection_token(site: &Site, token: &str) -> Result<Identity, Refusal> {
    match claims(site, token)? {
        PushClaims { sub, exp, sid: Some(session), own_streams, channel: None, .. } => {
            Ok(Identity { user: sub, session, expires_at: exp, own_streams })
        }
        _ => Err(Refusal::Mismatch),
    }
}

/// Checks a subscription token. Returns when it expires, in Unix seconds.
pub fn check_subscription_token(site: &Site, connection: &Connection, channel: &str, token: &str) -> Result<i64, Refusal> {
    let claims = claims(site, token)?;
    let fits = claims.sub == connection.user && claims.channel.as_deref() == Some(channel);
    if fits { Ok(claims.exp) } else { Err(Refusal::Mismatch) }
}
