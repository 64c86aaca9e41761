//! Access tokens whose signature was verified, so that each is verified once and not with every request.

use std::{
    collections::HashMap,
    sync::{Arc, RwLock},
};

use crate::{
    domain::accounts::sessions::AccessClaims,
    id::{SessionId, UserId},
    secret::{self, BadToken, Hash, Keys},
};

/// The claims of verified tokens, by the tokens' SHA-256, bounded in number. Whether a token is still good is not kept: its `exp`
/// and its session are checked with each request.
#[derive(Default)]
pub struct VerifiedTokens(RwLock<Known>);

/// The keys under which the entries hold: other keys may accept fewer tokens.
#[derive(Default)]
struct Known {
    keys: Option<Arc<Keys>>,
    tokens: HashMap<Hash, Verified>,
}

impl Known {
    fn is_under(&self, keys: &Arc<Keys>) -> bool {
        self.keys.as_ref().is_some_and(|known| Arc::ptr_eq(known, keys))
    }
}

#[derive(Clone, Copy)]
pub struct Verified {
    pub user: UserId,
    pub session: SessionId,
    /// In Unix seconds.
    pub expires_at: i64,
}

impl VerifiedTokens {
    const MOST: usize = 100_000;

    /// The claims of a token that one of the keys has signed.
    pub fn verify(&self, token: &str, keys: &Arc<Keys>) -> Result<Verified, BadToken> {
        let hash = secret::sha256(token);
        let known = self.0.read().expect("nothing panics while it holds this");
        if let Some(verified) = known.tokens.get(&hash).filter(|_| known.is_under(keys)) {
            return Ok(*verified);
        }
        drop(known);
        let AccessClaims { sub: user, sid: session, exp: expires_at, .. } = keys.access.verify(token)?;
        let verified = Verified { user, session, expires_at };
        let mut known = self.0.write().expect("nothing panics while it holds this");
        if known.tokens.len() >= Self::MOST || !known.is_under(keys) {
            *known = Known { keys: Some(keys.clone()), tokens: HashMap::new() };
        }
        known.tokens.insert(hash, verified);
        Ok(verified)
    }
}
