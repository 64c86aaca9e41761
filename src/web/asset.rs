//! Assets: content that is the same for every client. Each is one buffer, shared by all answers, and a compressed copy.

use std::{io::Write, sync::OnceLock};

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
    /// Made when the first client asks for it.
    gzip: OnceLock<Bytes>,
    /// Likewise. Browsers accept it over https and from this machine.
    zstd: OnceLock<Bytes>,
    /// A weak tag, because both encodings share it (RFC 9110, section 8.8.3).
    etag: String,
    /// Headers besides those that every asset has, or in their place.
    headers: Vec<(HeaderName, HeaderValue)>,
}

/// Marks answers whose body is shared, so that any number of them takes its memory once.
#[derive(Clone)]
pub struct Shared;

impl Asset {
    pub fn new(content_type: &'static str, content: impl Into<Bytes>, headers: Vec<(HeaderName, HeaderValue)>) -> Asset {
        let plain = content.into();
        let etag = format!("W/\"{}\"", BASE64_URL_SAFE_NO_PAD.encode(&secret::sha256(&plain)[..16]));
        Asset { content_type, plain, gzip: OnceLock::new(), zstd: OnceLock::new(), etag, headers }
    }

    fn gzip(&self) -> &Bytes {
        self.gzip.get_or_init(|| {
            let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
            encoder.write_all(&self.plain).and_then(|()| encoder.finish()).expect("memory takes what is written").into()
        })
    }

    fn zstd(&self) -> &Bytes {
        const LEVEL: i32 = 19;
        self.zstd.get_or_init(|| zstd::bulk::compress(&self.plain, LEVEL).expect("memory takes what is written").into())
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
        let accepts = |encoding| self.content_type != "image/png" && has(header::ACCEPT_ENCODING, encoding);
        let body = if accepts("zstd") {
            response = response.header(header::CONTENT_ENCODING, "zstd");
            self.zstd()
        } else if accepts("gzip") {
            response = response.header(header::CONTENT_ENCODING, "gzip");
            self.gzip()
        } else {
            &self.plain
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
