//! A body and its compressed forms (RFC 9110, section 8.4.1).

use std::{
    io::Write,
    sync::{Arc, OnceLock},
};

use bytes::Bytes;
use flate2::{Compression, write::GzEncoder};
use poem::http::{HeaderMap, HeaderValue, header};

/// A form that clients accept. Browsers accept zstd over https and from this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    Zstd,
    Gzip,
}

/// How long a body is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effort {
    /// For what is served for as long as the server runs.
    Most,
    /// For what is served a few times.
    Least,
    /// For what holds a secret beside what others chose: its length, compressed, would tell it (BREACH).
    None,
}

/// A body, whose compressed forms are made when the first client asks for them.
pub struct Encodings {
    pub plain: Bytes,
    effort: Effort,
    zstd: OnceLock<Bytes>,
    gzip: OnceLock<Bytes>,
}

impl Encoding {
    /// The best form that the client accepts, if any.
    pub fn accepted(headers: &HeaderMap) -> Option<Encoding> {
        let accepts = |name| {
            let values = headers.get_all(header::ACCEPT_ENCODING).iter().filter_map(|value| value.to_str().ok());
            values.flat_map(|value| value.split(',')).any(|one| is_accepted(one, name))
        };
        [Encoding::Zstd, Encoding::Gzip].into_iter().find(|encoding| accepts(encoding.name()))
    }

    fn name(self) -> &'static str {
        match self {
            Encoding::Zstd => "zstd",
            Encoding::Gzip => "gzip",
        }
    }

    pub fn header(self) -> HeaderValue {
        HeaderValue::from_static(self.name())
    }
}

/// Whether a member of the list in `Accept-Encoding` names the encoding, with a weight above 0.
fn is_accepted(one: &str, name: &str) -> bool {
    let (encoding, weight) = one.split_once(';').unwrap_or((one, ""));
    let is_none =
        weight.trim().strip_prefix("q=").and_then(|weight| weight.parse::<f32>().ok()).is_some_and(|weight| weight <= 0.0);
    encoding.trim().eq_ignore_ascii_case(name) && !is_none
}

impl Encodings {
    pub fn new(plain: impl Into<Bytes>, effort: Effort) -> Arc<Encodings> {
        Arc::new(Encodings { plain: plain.into(), effort, zstd: OnceLock::new(), gzip: OnceLock::new() })
    }

    /// Whether the body has compressed forms.
    pub fn is_compressible(&self) -> bool {
        self.effort != Effort::None
    }

    /// The body in this form. The first call takes some milliseconds for each megabyte, or a second with [`Effort::Most`].
    ///
    /// # Panics
    /// Unless the body is compressible.
    pub fn encoded(&self, encoding: Encoding) -> &Bytes {
        assert!(self.is_compressible(), "it holds a secret");
        match encoding {
            Encoding::Zstd => self.zstd.get_or_init(|| self.zstd()),
            Encoding::Gzip => self.gzip.get_or_init(|| self.gzip()),
        }
    }

    fn zstd(&self) -> Bytes {
        let level = if self.effort == Effort::Most { 19 } else { 1 };
        zstd::bulk::compress(&self.plain, level).expect("memory takes what is written").into()
    }

    fn gzip(&self) -> Bytes {
        let level = if self.effort == Effort::Most { Compression::best() } else { Compression::fast() };
        let mut encoder = GzEncoder::new(Vec::new(), level);
        encoder.write_all(&self.plain).and_then(|()| encoder.finish()).expect("memory takes what is written").into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_accepted_encoding_is_chosen() {
        let accepted = |values: &[&str]| {
            let mut headers = HeaderMap::new();
            values.iter().for_each(|value| _ = headers.append(header::ACCEPT_ENCODING, value.parse().unwrap()));
            Encoding::accepted(&headers)
        };
        assert_eq!(accepted(&["gzip, deflate, br, zstd"]), Some(Encoding::Zstd));
        assert_eq!(accepted(&["br", "GZIP;q=0.5"]), Some(Encoding::Gzip));
        assert_eq!(accepted(&["gzip;q=1.0, zstd;q=0"]), Some(Encoding::Gzip));
        for none in [&[][..], &["identity"], &["gzip; q=0.000"], &["*"], &["gzippy"]] {
            assert_eq!(accepted(none), None, "{none:?}");
        }
    }

    #[test]
    fn each_form_holds_the_same() {
        let text = r#"{"content": "The tide is high"}"#.repeat(100);
        for effort in [Effort::Most, Effort::Least] {
            let body = Encodings::new(text.clone(), effort);
            let zstd = body.encoded(Encoding::Zstd);
            assert_eq!(zstd::bulk::decompress(zstd, text.len()).unwrap(), text.as_bytes());
            let gzip = body.encoded(Encoding::Gzip);
            let mut plain = String::new();
            std::io::Read::read_to_string(&mut flate2::read::GzDecoder::new(&gzip[..]), &mut plain).unwrap();
            assert!(plain == text && zstd.len() < 200 && gzip.len() < 200);
        }
    }
}
