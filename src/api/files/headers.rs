//! What each answer about a file says of it, so that browsers run nothing of it.

use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use poem::{
    Request, Response,
    http::{HeaderValue, header},
    web::headers::{ETag, HeaderMapExt, IfNoneMatch},
};

use crate::{
    domain::files::File,
    error::{Error, Result},
    files::shows_in_place,
};

/// Nothing of a file runs or loads anything, wherever it is opened. Browsers show pictures and text with a style of their own.
const POLICY: &str = "sandbox; default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'";
/// What browsers are told that a file is which they don't show.
pub const UNSHOWN: &str = "application/octet-stream";

/// Whether the client has what has this tag.
pub fn is_known(req: &Request, tag: &ETag) -> bool {
    req.headers().typed_get::<IfNoneMatch>().is_some_and(|known| !known.precondition_passes(tag))
}

/// Adds the headers that each answer about the file has: what it is, and how long it may be kept.
pub fn describe(response: &mut Response, file: &File, (mime_type, caching): (&str, &str), by_link: bool) -> Result<()> {
    let is_shown = shows_in_place(mime_type);
    let mime_type = match mime_type {
        "text/plain" => "text/plain; charset=utf-8",
        shown if is_shown => shown,
        // A page plays what it has asked for, whatever the disposition says.
        played if played.starts_with("audio/") || played.starts_with("video/") => played,
        _ => UNSHOWN,
    };
    // Whoever has a link may show the file in a page of their own; a cookie must not lend that to others.
    let shown_by = if by_link { "cross-origin" } else { "same-origin" };
    let headers = response.headers_mut();
    for (name, text) in [
        (header::CONTENT_TYPE, mime_type),
        (header::CONTENT_DISPOSITION, &disposition(is_shown, &file.media.name)),
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::HeaderName::from_static("cross-origin-resource-policy"), shown_by),
        (header::CACHE_CONTROL, caching),
    ] {
        headers.insert(name, value(text)?);
    }
    Ok(())
}

/// How a browser takes the file, and its name: in ASCII for old programs, and as it is (RFC 6266, RFC 8187).
fn disposition(is_shown: bool, name: &str) -> String {
    let kind = if is_shown { "inline" } else { "attachment" };
    let plain: String =
        name.chars().map(|c| if matches!(c, ' '..='~') && !matches!(c, '"' | '\\' | '%') { c } else { '_' }).collect();
    format!("{kind}; filename=\"{plain}\"; filename*=UTF-8''{}", utf8_percent_encode(name, NON_ALPHANUMERIC))
}

pub fn value(text: &str) -> Result<HeaderValue> {
    HeaderValue::from_str(text).map_err(Error::internal)
}

/// The tag of a file, or of a copy of it by its name.
pub fn tag(file: &File, copy: &str) -> ETag {
    format!("\"{}{copy}\"", BASE64_URL_SAFE_NO_PAD.encode(file.sha256)).parse().expect("it has no quotes inside")
}
