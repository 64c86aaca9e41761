//! Assets: content that is the same for every client. Each is one buffer, shared by all answers, and a compressed copy.

use std::sync::Arc;

use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use bytes::Bytes;
use poem::{
    Body, Request, Response,
    http::{HeaderName, HeaderValue, StatusCode, header},
};

use crate::{
    net::encodings::{Effort, Encoding, Encodings},
    secret,
};

pub struct Asset {
    content_type: &'static str,
    body: Arc<Encodings>,
    /// A weak tag, because all encodings share it (RFC 9110, section 8.8.3).
    etag: String,
    /// Headers besides those that every asset has, or in their place.
    headers: Vec<(HeaderName, HeaderValue)>,
}

/// Marks answers whose body is shared, so that any number of them takes its memory once.
#[derive(Clone)]
pub struct Shared;

impl Asset {
    pub fn new(content_type: &'static str, content: impl Into<Bytes>, headers: Vec<(HeaderName, HeaderValue)>) -> Asset {
        let plain: Bytes = content.into();
        let etag = format!("W/\"{}\"", BASE64_URL_SAFE_NO_PAD.encode(&secret::sha256(&plain)[..16]));
        Asset { content_type, body: Encodings::new(plain, Effort::Most), etag, headers }
    }

    /// Answers a request: 304 if the client has this version, and compressed if it accepts zstd or gzip. Pictures are compressed already.
    pub fn answer(&self, req: &Request) -> Response {
        let mut response = Response::builder()
            .header(header::ETAG, &self.etag)
            .header(header::CACHE_CONTROL, "no-cache") // clients keep it, and ask each time whether it has changed
            .header(header::VARY, "accept-encoding")
            .header(header::X_CONTENT_TYPE_OPTIONS, "nosniff");
        let has = |name: HeaderName, wanted: &str| {
            let values = req.headers().get_all(name).iter().filter_map(|value| value.to_str().ok());
            values.flat_map(|value| value.split(',')).any(|one| one.trim() == wanted)
        };
        if has(header::IF_NONE_MATCH, &self.etag) {
            let mut response = response.status(StatusCode::NOT_MODIFIED).finish();
            self.add_headers(&mut response);
            return response;
        }
        let encoding = Encoding::accepted(req.headers()).filter(|_| self.content_type != "image/png");
        let body = match encoding {
            Some(encoding) => {
                response = response.header(header::CONTENT_ENCODING, encoding.header());
                self.body.encoded(encoding)
            }
            None => &self.body.plain,
        };
        let mut response = response.content_type(self.content_type).extension(Shared).body(Body::from(body.clone()));
        self.add_headers(&mut response);
        response
    }

    fn add_headers(&self, response: &mut Response) {
        for (name, value) in &self.headers {
            response.headers_mut().insert(name, value.clone());
        }
    }
}
