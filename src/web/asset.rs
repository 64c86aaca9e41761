//! What is served alike to everybody: one buffer, shared by all its answers, and a copy that was compressed once.

use std::io::Write;

use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use bytes::Bytes;
use flate2::{Compression, write::GzEncoder};
use poem::{
    Body, Request, Response,
    http::{HeaderName, HeaderValue, StatusCode, header},
};

use crate::secret;

pub struct Asset {
    content_type: &'static str,
    plain: Bytes,
    gzip: Bytes,
    /// Weak: both encodings have it (RFC 9110, section 8.8.3).
    etag: String,
    /// Besides those that every asset has.
    headers: Vec<(HeaderName, HeaderValue)>,
}

/// Marks answers whose body is shared: however many are on their way, they take memory once.
#[derive(Clone)]
pub struct Shared;

impl Asset {
    pub fn new(content_type: &'static str, text: String, headers: Vec<(HeaderName, HeaderValue)>) -> Asset {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        let gzip = encoder.write_all(text.as_bytes()).and_then(|()| encoder.finish()).expect("memory takes what is written");
        let etag = format!("W/\"{}\"", BASE64_URL_SAFE_NO_PAD.encode(&secret::sha256(&text)[..16]));
        Asset { content_type, plain: text.into(), gzip: gzip.into(), etag, headers }
    }

    /// 304 to those who have it already; compressed for those who accept that.
    pub fn answer(&self, req: &Request) -> Response {
        let mut response = Response::builder()
            .header(header::ETAG, &self.etag)
            .header(header::CACHE_CONTROL, "no-cache") // kept, and asked for again: the next version has another
            .header(header::VARY, "accept-encoding")
            .header(header::X_CONTENT_TYPE_OPTIONS, "nosniff");
        for (name, value) in &self.headers {
            response = response.header(name, value);
        }
        let has = |name: HeaderName, wanted: &str| {
            let values = req.headers().get_all(name).iter().filter_map(|value| value.to_str().ok());
            values.flat_map(|value| value.split(',')).any(|one| one.trim() == wanted)
        };
        if has(header::IF_NONE_MATCH, &self.etag) {
            return response.status(StatusCode::NOT_MODIFIED).finish();
        }
        let body = if has(header::ACCEPT_ENCODING, "gzip") {
            response = response.header(header::CONTENT_ENCODING, "gzip");
            &self.gzip
        } else {
            &self.plain
        };
        response.content_type(self.content_type).extension(Shared).body(Body::from(body.clone()))
    }
}
