//! The embedded pages. They load nothing from other servers.

mod asset;
pub mod client;
pub mod guide;
mod module_bundle;
mod notice;

use std::{borrow::Cow, sync::Arc};

use poem::{
    Body, Endpoint, Request, Response, Route,
    endpoint::make_sync,
    error::NotFoundError,
    http::{StatusCode, header},
};
use rust_embed::RustEmbed;

pub use self::{
    asset::{Asset, Shared},
    notice::{Notice, OPENER},
};

#[derive(RustEmbed)]
#[folder = "src/web/pages"]
struct Pages;

/// The web client, if it is served; without it, plain pages for `/` and what links in mails lead to. `push` is the origin of an
/// external push server.
pub fn pages(has_client: bool, push: Option<&str>) -> impl Endpoint + use<> {
    let push = push.map(str::to_owned);
    let answer = Arc::new(move |req: Request| match has_client.then(|| client::answer(&req, push.as_deref())).flatten() {
        Some(response) => Ok(response),
        None => page(&req),
    });
    let endpoint = || {
        let answer = answer.clone();
        make_sync(move |req| answer(req))
    };
    Route::new().at("/", endpoint()).at("/*path", endpoint())
}

/// Serves an embedded file: `/auth/verify-email` is the file `auth/verify-email.html`. Browsers keep icons for a day.
fn page(req: &Request) -> poem::Result<Response> {
    let path = req.uri().path().trim_matches('/');
    let name = if path.is_empty() { "index" } else { path };
    let (file, kind) = match name.rsplit_once('.') {
        Some((_, "css")) => (Pages::get(name), "text/css; charset=utf-8"),
        Some((_, "js")) => (Pages::get(name), "text/javascript; charset=utf-8"),
        Some((_, "svg")) => (Pages::get(name), "image/svg+xml"),
        Some((_, "ico")) => (Pages::get(name), "image/x-icon"),
        _ => (Pages::get(&format!("{name}.html")), "text/html; charset=utf-8"),
    };
    let file = file.ok_or(NotFoundError)?;
    let response = Response::builder()
        .status(StatusCode::OK)
        .content_type(kind)
        .header(header::X_CONTENT_TYPE_OPTIONS, "nosniff")
        .header(header::REFERRER_POLICY, "no-referrer") // addresses carry tokens
        .header(OPENER.0, OPENER.1)
        .header(header::CACHE_CONTROL, if kind.starts_with("image/") { "max-age=86400" } else { "no-store" })
        .header(
            header::CONTENT_SECURITY_POLICY,
            "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self'; base-uri 'none'; \
             form-action 'none'; frame-ancestors 'none'",
        );
    Ok(response.body(match file.data {
        Cow::Borrowed(data) => Body::from(data),
        Cow::Owned(data) => Body::from(data),
    }))
}
