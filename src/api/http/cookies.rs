//! The cookies of browsers: the session that a browser keeps, and the mark by which it is known at the next log-in.
//!
//! A cookie counts only in a request from a page of this server ([`Origins::is_own_page`]), and is set only in the answer to one.
//! Browsers send it with requests that other sites cause, too; those are answered as if they had none.
//!
//! [`Origins::is_own_page`]: crate::net::origins::Origins::is_own_page

use std::{sync::Arc, time::Duration};

use parking_lot::Mutex;
use poem::{
    Endpoint, Request, Response,
    http::{HeaderMap, HeaderName, HeaderValue, header},
};

use crate::{
    domain::accounts::{known_devices, sessions::Started},
    state::App,
};

/// The purpose of a cookie. Each has a name of its own.
#[derive(Clone, Copy)]
pub enum Purpose<'a> {
    /// Holds the access token of a session.
    Session,
    /// Holds the mark of a known device.
    Device,
    /// Holds a log-in that the browser has begun at the issuer. Each tab may begin one, so each has an id.
    LogIn(&'a str),
}

/// The cookies of this server in the browser that sent a request.
#[derive(Clone)]
pub struct Cookies {
    /// Cookies know no ports, so servers on one host tell theirs apart by this.
    instance: String,
    is_https: bool,
}

impl Cookies {
    pub fn of(req: &Request, app: &App) -> Cookies {
        Cookies { instance: app.db.name_in_cookies().to_owned(), is_https: app.origins.came_over_https(req) }
    }

    /// The name of a cookie. Over https it has the prefix `__Host-`, with which no other host and no page without TLS can set it
    /// (RFC 6265bis, section 4.1.3.2).
    fn name(&self, purpose: Purpose) -> String {
        let prefix = if self.is_https { "__Host-" } else { "" };
        let instance = &self.instance;
        match purpose {
            Purpose::Session => format!("{prefix}tidings-{instance}"),
            Purpose::Device => format!("{prefix}tidings-{instance}-device"),
            Purpose::LogIn(id) => format!("{prefix}tidings-{instance}-log-in-{id}"),
        }
    }

    /// The value of a cookie. None if there are two of the name: over plain http other hosts of the domain can add one, and which
    /// of them is this server's can't be told.
    pub fn find_value<'a>(&self, headers: &'a HeaderMap, purpose: Purpose) -> Option<&'a str> {
        let name = self.name(purpose);
        let mut values = pairs(headers).filter(|(found, _)| *found == name).map(|(_, value)| value);
        values.next().filter(|_| values.next().is_none())
    }

    /// The ids and values of the log-ins that the browser has begun.
    pub fn pending_log_ins<'a>(&self, headers: &'a HeaderMap) -> impl Iterator<Item = (&'a str, &'a str)> {
        let start = self.name(Purpose::LogIn(""));
        pairs(headers).filter_map(move |(name, value)| Some((name.strip_prefix(&start)?, value)))
    }

    /// The value of `Set-Cookie` that makes the browser keep a cookie out of reach of scripts, and send it with no request of
    /// another site but a link that somebody follows.
    pub fn header_value(&self, purpose: Purpose, value: &str, lifetime: Duration) -> HeaderValue {
        let secure = if self.is_https { "; Secure" } else { "" };
        let name = self.name(purpose);
        let cookie = format!("{name}={value}; Path=/; Max-Age={}; HttpOnly; SameSite=Lax{secure}", lifetime.as_secs());
        HeaderValue::from_str(&cookie).expect("names and tokens are visible ASCII")
    }

    pub fn clear(&self, purpose: Purpose) -> HeaderValue {
        self.header_value(purpose, "", Duration::ZERO)
    }

    /// The cookies of a session that has just begun, in place of the tokens that an answer would tell. Who sets them must know
    /// that the browser's own user logs in, or another site could log a visitor in to an account of its choice.
    pub fn begin(&self, app: &App, started: &Started) -> [HeaderValue; 2] {
        [
            self.header_value(Purpose::Session, &started.access_token, app.site.session_lifetime),
            self.header_value(Purpose::Device, &started.device_token, known_devices::LIFETIME),
        ]
    }
}

/// The names and values of all cookies of a request.
fn pairs(headers: &HeaderMap) -> impl Iterator<Item = (&str, &str)> {
    let headers = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    headers.flat_map(|value| value.split(';')).filter_map(|pair| pair.trim().split_once('='))
}

/// The cookies that the answer to a request will set, and whether the browser is to drop the pages that it keeps.
#[derive(Clone, Default)]
pub struct Jar(Arc<Mutex<Kept>>);

#[derive(Default)]
struct Kept {
    cookies: Vec<HeaderValue>,
    drops_pages: bool,
}

/// Tells a browser to drop the pages and files of this server that it keeps, among them those that "Back" would show. What the web
/// client stores for its user, such as drafts, stays.
const DROP_PAGES: (HeaderName, HeaderValue) = (HeaderName::from_static("clear-site-data"), HeaderValue::from_static("\"cache\""));

impl Jar {
    pub fn of(req: &Request) -> Jar {
        req.data().cloned().unwrap_or_default()
    }

    pub fn add(&self, cookies: impl IntoIterator<Item = HeaderValue>) {
        self.0.lock().cookies.extend(cookies);
    }

    pub fn drop_pages(&self) {
        self.0.lock().drops_pages = true;
    }
}

/// Sets the cookies that operations have put into the jar.
pub async fn layer<E: Endpoint>(next: Arc<E>, mut req: Request) -> poem::Result<Response> {
    let jar = Jar::default();
    req.set_data(jar.clone());
    let mut response = next.get_response(req).await;
    let kept = std::mem::take(&mut *jar.0.lock());
    if kept.drops_pages {
        let (name, value) = DROP_PAGES;
        response.headers_mut().insert(name, value);
    }
    kept.cookies.into_iter().for_each(|cookie| _ = response.headers_mut().append(header::SET_COOKIE, cookie));
    Ok(response)
}
