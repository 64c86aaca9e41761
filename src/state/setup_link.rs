//! The link with which the first administrator is made in a browser. It lives in memory: a restart makes another.

use std::{
    sync::atomic::{AtomicBool, Ordering::Relaxed},
    time::Duration,
};

use crate::{
    domain::accounts::one_time_tokens::Status,
    error::Result,
    secret::{self, AccessKey},
    time::Time,
};

/// How long the link works after the start.
pub const LIFETIME: Duration = Duration::from_secs(30 * 60);

pub struct SetupLink {
    /// The token in the link.
    pub token: String,
    key: AccessKey,
    until: Time,
    is_used: AtomicBool,
}

impl SetupLink {
    pub fn new(now: Time) -> Result<SetupLink> {
        let token = secret::random_token();
        Ok(SetupLink {
            key: AccessKey::new("the token of the first administrator's link", &token)?,
            token,
            until: now + LIFETIME,
            is_used: AtomicBool::new(false),
        })
    }

    /// Ends the link, which has made an administrator.
    pub fn end(&self) {
        self.is_used.store(true, Relaxed);
    }

    /// The state of the link; none if the token is another. Takes the same time for every wrong token.
    pub fn status(&self, token: &str, now: Time) -> Option<Status> {
        self.key.is(token).then(|| match self.is_used.load(Relaxed) {
            true => Status::Used,
            false if now < self.until => Status::Open,
            false => Status::Expired,
        })
    }
}
