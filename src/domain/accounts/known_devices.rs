//! Known devices: a log-in gives the device a mark, which the next log-in may show. While somebody guesses at the account's
//! password, an attempt with its mark need not wait. A mark proves no password and stands for no session.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::{
    domain::{
        accounts::User,
        text::{self, Rule},
    },
    error::Result,
    id::UserId,
    secret::{self, Keys},
    time::Time,
};

/// The lifetime of a mark. Each log-in gives a new one.
pub const LIFETIME: Duration = Duration::from_secs(365 * 24 * 3600);

text::rules! {
    pub DeviceToken: Rule::secret(1000).at_least(0);
}

/// The claims of a mark.
#[derive(Serialize, Deserialize)]
struct Mark {
    sub: UserId,
    /// Random, so that the failures of each device are counted apart.
    device: String,
    /// Which password the account had. So a mark is void once that is changed, or removed by a proof of the mailbox.
    password: String,
    iat: i64,
    exp: i64,
    aud: String,
}

/// Makes the mark of a device that has just logged in to the account.
pub fn make_mark(keys: &Keys, user: &User, now: Time) -> Result<String> {
    keys.device.sign(&Mark {
        sub: user.id,
        device: secret::random_token(),
        password: fingerprint(user),
        iat: now.unix_seconds(),
        exp: (now + LIFETIME).unix_seconds(),
        aud: secret::DEVICE.into(),
    })
}

/// The device of a mark; `None` if it is not the account's, void or expired.
pub fn recognise(keys: &Keys, mark: &str, user: &User, now: Time) -> Option<String> {
    let mark: Mark = keys.device.verify(mark).ok()?;
    let is_good = mark.sub == user.id && mark.password == fingerprint(user) && mark.exp > now.unix_seconds();
    is_good.then_some(mark.device)
}

/// Names the account's password. Its hash has a random salt, so this tells nothing about the password.
fn fingerprint(user: &User) -> String {
    secret::fingerprint(&format!("{}:{}", user.id, user.password_hash))
}
