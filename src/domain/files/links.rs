//! Links that open one file for a day, for whoever has them: programs and players that can send neither a cookie nor a bearer.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::{
    domain::access::Caller,
    error::Result,
    id::{FileId, SessionId},
    secret::{FILE_LINK, Keys},
    time::Time,
};

/// How long a link opens its file, at most: it ends with the session that made it.
pub const LASTS: Duration = Duration::from_secs(24 * 3600);

/// What a link says. Who may read the file is looked at when it is opened.
#[derive(Serialize, Deserialize)]
struct Claims {
    aud: String,
    exp: i64,
    file: FileId,
    session: SessionId,
}

/// The token of a link, and when it ends.
pub fn sign(keys: &Keys, caller: Caller, file: FileId, now: Time) -> Result<(String, Time)> {
    let ends = now + LASTS;
    let claims = Claims { aud: FILE_LINK.into(), exp: ends.unix_seconds(), file, session: caller.session };
    Ok((keys.file_link.sign(&claims)?, ends))
}

/// The session that has made a link to this file, if it has not ended.
pub fn session(keys: &Keys, token: &str, file: FileId, now: Time) -> Option<SessionId> {
    let claims: Claims = keys.file_link.verify(token).ok()?;
    (claims.file == file && claims.exp > now.unix_seconds()).then_some(claims.session)
}
