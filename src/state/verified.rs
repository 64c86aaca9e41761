//! Access tokens whose signature was verified, so that each is verified once and not with every request.

use std::{collections::HashMap, sync::RwLock};

use crate::{
    domain::accounts::sessions::AccessClaims,
    id::{SessionId, UserId},
    secret::{self, BadToken, JwtKey},
};

/// What verified tokens say, by the tokens' SHA-256, bounded in number. Whether a token is still good is not kept: its `exp`
/// and its session are checked with each request.
#[derive(Default)]
pub struct VerifiedTokens(RwLock<HashMap<[u8; 32], Verified>>);

#[derive(Clone, Copy)]
pub struct Verified {
    pub user: UserId,
    pub session: SessionId,
    /// In Unix seconds.
    pub expires_at: i64,
}

impl VerifiedTokens {
    const MOST: usize = 100_000;

    /// What a token says that `key` has signed.
    pub fn verify(&self, token: &str, key: &JwtKey) -> Result<Verified, BadToken> {
        let hash = secret::sha256(token);
        if let Some(verified) = self.0.read().expect("nothing panics while it holds this").get(&hash) {
            return Ok(*verified);
        }
        let AccessClaims { sub: user, sid: session, exp: expires_at, .. } = key.verify(token)?;
        let verified = Verified { user, session, expires_at };
        let mut known = self.0.write().expect("nothing panics while it holds this");
        if known.len() >= Self::MOST {
            known.clear();
        }
        known.insert(hash, verified);
        Ok(verified)
    }
}
