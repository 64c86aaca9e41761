//! The log-ins that a browser has begun at the issuer. Each is in a cookie of that browser, and the server keeps nothing of it.

use std::time::Duration;

use poem::Request;
use serde::{Deserialize, Serialize};

use crate::{
    api::http::cookies::{Cookies, Jar, Purpose},
    error::Result,
    issuer::LogIn,
    secret::{self, Keys},
    state::App,
    time::Time,
};

/// How long a log-in at the issuer may take.
const LIFETIME: Duration = Duration::from_secs(600);
/// Log-ins that a browser has begun and not ended, at the most: the head of a request has a bound, and cookies are in it.
const MOST: usize = 5;
/// Characters of an id, which tells apart the cookies of a browser's tabs.
const ID: usize = 8;

/// The claims of such a cookie.
#[derive(Serialize, Deserialize)]
pub struct Flow {
    /// Random; what the issuer sees of this log-in is derived from it.
    secret: String,
    /// Where the person wants to go.
    pub next: String,
    exp: i64,
    aud: String,
}

impl Flow {
    /// The values of a log-in that the issuer and the addresses of redirects show: hashes, each for one purpose.
    pub fn issuer_visible_values(&self, redirect_uri: &str) -> LogIn {
        LogIn {
            state: self.state(),
            nonce: self.derived("nonce"),
            verifier: self.derived("verifier"),
            redirect_uri: redirect_uri.to_owned(),
        }
    }

    fn state(&self) -> String {
        self.derived("state")
    }

    fn derived(&self, purpose: &str) -> String {
        secret::fingerprint(&format!("{purpose}:{}", self.secret))
    }
}

/// Begins a log-in, which the browser keeps. It forgets the oldest of too many.
pub fn begin(req: &Request, app: &App, next: &str) -> Result<Flow> {
    let (cookies, keys, now) = (Cookies::of(req, app), app.site.keys(), app.clock.now());
    let exp = (now + LIFETIME).unix_seconds();
    let flow = Flow { secret: secret::random_token(), next: next.to_owned(), exp, aud: secret::FEDERATED.into() };
    let kept = cookies.pending_log_ins(req.headers());
    let mut kept: Vec<_> = kept.map(|(id, value)| (read(&keys, value, now).map(|flow| flow.exp), id)).collect();
    kept.sort_unstable(); // first those that are over
    let too_many = (kept.len() + 1).saturating_sub(MOST);
    let forgotten = kept.iter().take(too_many).map(|(_, id)| cookies.clear(Purpose::LogIn(id)));
    let begun = cookies.header_value(Purpose::LogIn(&flow.state()[..ID]), &keys.federated.sign(&flow)?, LIFETIME);
    Jar::of(req).add(forgotten.chain([begun]));
    Ok(flow)
}

/// The log-in of a state, if this browser began it and it is not over. The browser forgets it.
pub fn take(req: &Request, app: &App, state: &str) -> Option<Flow> {
    let (cookies, keys, now) = (Cookies::of(req, app), app.site.keys(), app.clock.now());
    let mut begun = cookies.pending_log_ins(req.headers()).filter_map(|(id, value)| Some((id, read(&keys, value, now)?)));
    let (id, flow) = begun.find(|(_, flow)| flow.state() == state)?;
    Jar::of(req).add([cookies.clear(Purpose::LogIn(id))]);
    Some(flow)
}

fn read(keys: &Keys, cookie: &str, now: Time) -> Option<Flow> {
    let flow: Flow = keys.federated.verify(cookie).ok()?;
    Some(flow).filter(|flow| flow.exp > now.unix_seconds())
}
