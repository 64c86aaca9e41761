//! Assets: content that is the same for every client. Each is one buffer, shared by all answers, and a compressed copy.

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
    /// A weak tag, because both encodings share it (RFC 9110, section 8.8.3).
    etag: String,
    /// Headers besides those that every asset has.
    headers: Vec<(HeaderName, HeaderValue)>,
}

/// Marks answers whose body is shared, so that any number of them takes its memory once.
#[derive(Clone)]
pub struct Shared;

impl Asset {
    pub fn new(content_type: &'static str, text: String, headers: Vec<(HeaderName, HeaderValue)>) -> Asset {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        let gzip = encoder.write_all(text.as_bytes()).and_then(|()| encoder.finish()).expect("memory takes what is written");
        let etag = format!("W/\"{}\"", BASE64_URL_SAFE_NO_PAD.encode(&secret::sha256(&text)[..16]));
        Asset { content_type, plain: text.into(), gzip: gzip.into(), etag, headers }
    }

    /// Answers a request: 304 if the client has this version, and compressed if it accepts gzip.
    pub fn answer(&self, req: &Request) -> Response {
        let mut response = Response::builder()
            .header(header::ETAG, &self.etag)
            .header(header::CACHE_CONTROL, "no-cache") // clients keep it, and ask each time whether it has changed
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
