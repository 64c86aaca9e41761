//! Access tokens whose signature was verified, so that each is verified once and not with every request.

use quick_cache::sync::Cache;
use serde::Deserialize;

use super::jwt::{BadToken, JwtKeys};
use crate::id::{SessionId, UserId};

/// The claims of an access token (RFC 7519) that its user's requests are judged by.
#[derive(Clone, Copy, Deserialize)]
pub struct Verified {
    #[serde(rename = "sub")]
    pub user: UserId,
    #[serde(rename = "sid")]
    pub session: SessionId,
    /// In Unix seconds.
    #[serde(rename = "exp")]
    pub expires_at: i64,
}

/// Verified tokens by their SHA-256, bounded in number. They belong to the keys, because other keys may accept fewer tokens.
/// Whether a token is still good is not kept: its `exp` and its session are checked with each request.
pub(super) struct VerifiedTokens(Cache<[u8; 32], Verified>);

impl Default for VerifiedTokens {
    fn default() -> VerifiedTokens {
        VerifiedTokens(Cache::new(Self::MOST))
    }
}

impl VerifiedTokens {
    const MOST: usize = 100_000;

    /// The claims of a token that one of the keys has signed. `hash` is its SHA-256.
    pub fn verify(&self, token: &str, hash: [u8; 32], keys: &JwtKeys) -> Result<Verified, BadToken> {
        self.0.get_or_insert_with(&hash, || keys.verify(token))
    }
}
