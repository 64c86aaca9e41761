//! The tokens that connections and subscriptions are opened with.

use serde::{Deserialize, Serialize};

use super::embedded::connection::Connection;
use crate::{
    id::{SessionId, UserId},
    secret::BadToken,
    site::Site,
};

/// The claims of both kinds, in the form of Centrifugo's.
#[derive(Serialize, Deserialize)]
pub struct PushClaims {
    pub sub: UserId,
    /// Unix seconds.
    pub exp: i64,
    /// Of a connection token.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub sid: Option<SessionId>,
    /// Of a subscription token.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub channel: Option<String>,
}

/// What a connection token says.
pub struct Identity {
    pub user: UserId,
    pub session: SessionId,
    pub expires_at: i64,
}

/// Why a token is not taken.
#[derive(Debug)]
pub enum Refusal {
    Expired,
    /// No token of ours.
    Unreadable,
    /// A good one, but another user's, another channel's, or of the other kind.
    Mismatch,
}

fn claims(site: &Site, token: &str) -> Result<PushClaims, Refusal> {
    site.keys.push.verify::<PushClaims>(token, None).map_err(|bad| match bad {
        BadToken::Expired => Refusal::Expired,
        BadToken::Invalid => Refusal::Unreadable,
    })
}

pub fn of_connection(site: &Site, token: &str) -> Result<Identity, Refusal> {
    match claims(site, token)? {
        PushClaims { sub, exp, sid: Some(session), channel: None } => Ok(Identity { user: sub, session, expires_at: exp }),
        _ => Err(Refusal::Mismatch),
    }
}

/// When the token ends, in Unix seconds.
pub fn of_subscription(site: &Site, connection: &Connection, channel: &str, token: &str) -> Result<i64, Refusal> {
    let claims = claims(site, token)?;
    let fits = claims.sub == connection.user && claims.channel.as_deref() == Some(channel);
    if fits { Ok(claims.exp) } else { Err(Refusal::Mismatch) }
}
