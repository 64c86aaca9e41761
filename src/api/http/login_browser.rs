//! The browser of a log-in or log-out, and where it keeps its session.

use poem::{FromRequest, Request, RequestBody, http::header};

use super::{
    app, auth,
    cookies::{Cookies, Jar, Purpose},
};
use crate::{
    domain::{
        access::Caller,
        accounts::sessions::{self, Started},
    },
    error::{Code, Error, Result},
    secret,
    state::App,
};

/// The browser of a log-in or log-out, if it is one. With an `Authorization`, its cookies are not looked at.
pub struct Browser {
    is_own_page: bool,
    cookies: Cookies,
    jar: Jar,
    /// The access token of the session that the browser keeps, live or not.
    session: Option<String>,
    device: Option<String>,
}

impl<'a> FromRequest<'a> for Browser {
    async fn from_request(req: &'a Request, _: &mut RequestBody) -> poem::Result<Self> {
        Ok(Browser::of(req, app(req).origins.is_own_page(req)))
    }
}

impl Browser {
    /// The browser of a request. `is_own_page` says whether it proves that the browser's own user makes it, so that cookies count.
    pub fn of(req: &Request, is_own_page: bool) -> Browser {
        let cookies = Cookies::of(req, app(req));
        let counts = is_own_page && !req.headers().contains_key(header::AUTHORIZATION);
        let value = |purpose| cookies.find_value(req.headers(), purpose).filter(|_| counts).map(str::to_owned);
        let (session, device) = (value(Purpose::Session), value(Purpose::Device));
        Browser { is_own_page, cookies, jar: Jar::of(req), session, device }
    }

    /// Whether the request may have its session from a cookie.
    pub fn may_use_cookie(&self) -> bool {
        self.session.is_some()
    }

    /// The caller of the live session in the browser's cookie, with a proof that only pages shown in that session contain.
    pub fn live_session(&self, app: &App) -> Result<Option<(Caller, String)>> {
        let Some(token) = &self.session else { return Ok(None) };
        let caller = auth::caller_of_token(app, token)?;
        Ok(caller.map(|caller| (caller, secret::fingerprint(&format!("another log-in:{token}")))))
    }

    /// The mark of the device that the browser keeps.
    pub fn device_mark(&self) -> Option<&str> {
        self.device.as_deref()
    }

    /// Whether a log-in's `cookie` asks for a cookie. 403 if it does and doesn't come from a page of this server.
    pub fn wants_cookie(&self, cookie: Option<bool>) -> Result<bool> {
        let wants = cookie.unwrap_or(false);
        if self.is_own_page || !wants { Ok(wants) } else { Err(FOREIGN_PAGE) }
    }

    /// Lets the browser keep the session if the log-in wants a cookie ([`Browser::wants_cookie`]), and takes the tokens out of
    /// its answer. The session that the browser kept until now ends.
    pub async fn keep_session(self, app: &App, started: Started, wants_cookie: bool) -> Started {
        if !wants_cookie {
            return started;
        }
        if let Some(former) = self.session
            && let Ok(Some(former)) = auth::caller_of_token(app, &former)
        {
            // If that fails, the former session ends when it expires: the log-in has succeeded.
            _ = app.db.write(move |tx| sessions::end(tx, former)).await;
        }
        self.jar.add(self.cookies.begin(app, &started));
        let (access_token, notification_token, device_token) = Default::default();
        Started { access_token, notification_token, device_token, ..started }
    }

    /// Lets the browser forget the session that ends, and drop the pages that it has kept of it.
    pub fn forget_session(self) {
        if self.session.is_some() {
            self.jar.drop_pages();
            self.jar.add([self.cookies.clear(Purpose::Session)]);
        }
    }
}

const FOREIGN_PAGE: Error = Error::Forbidden(Code::ForeignPage, "Only a page of this server may log in with a cookie");
