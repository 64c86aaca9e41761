//! The embedded pages: nothing in them is fetched from elsewhere.

use poem::{
    Endpoint, IntoResponse, Request, Response, Route,
    endpoint::make_sync,
    error::NotFoundError,
    http::{StatusCode, header},
};
use rust_embed::RustEmbed;

#[derive(RustEmbed)]
#[folder = "src/web/pages"]
struct Pages;

/// `/` and what it refers to.
pub fn pages() -> impl Endpoint {
    let page = |req: Request| {
        let path = req.uri().path().trim_start_matches('/');
        let name = if path.is_empty() { "index.html" } else { path };
        let file = Pages::get(name).ok_or(NotFoundError)?;
        let kind = if name.ends_with(".css") { "text/css; charset=utf-8" } else { "text/html; charset=utf-8" };
        let response = Response::builder()
            .status(StatusCode::OK)
            .content_type(kind)
            .header(header::X_CONTENT_TYPE_OPTIONS, "nosniff")
            .header(header::REFERRER_POLICY, "no-referrer")
            .header(
                header::CONTENT_SECURITY_POLICY,
                "default-src 'none'; style-src 'self'; base-uri 'none'; frame-ancestors 'none'",
            );
        Ok::<_, poem::Error>(response.body(file.data.into_owned()).into_response())
    };
    Route::new().at("/", make_sync(page)).at("/*path", make_sync(page))
}
