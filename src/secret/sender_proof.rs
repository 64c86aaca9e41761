//! How programs prove that they have sent a body: with a secret that they share with the webhook, each in a header of its own.

use base64::{Engine, prelude::BASE64_STANDARD};
use bytes::Bytes;
use ring::hmac;

use super::AccessKey;

/// How old, or how far ahead of this server's clock, a signature with a time may be (Standard Webhooks).
const TOLERANCE_SECONDS: u64 = 300;

/// A way to prove it.
#[derive(Clone, Copy)]
enum Scheme {
    /// The secret itself.
    Token,
    /// The HMAC-SHA256 of the body in hexadecimal digits, which may follow `sha256=`.
    Hex,
    /// The signatures of the Standard Webhooks specification.
    Standard,
}

/// Programs that sign, by their headers. Gitea and Forgejo send GitHub's header, too.
const SCHEMES: [(&str, Scheme); 5] = [
    ("x-hub-signature-256", Scheme::Hex),
    ("webhook-signature", Scheme::Standard),
    ("x-gitlab-token", Scheme::Token),
    ("sentry-hook-signature", Scheme::Hex),
    ("x-grafana-alerting-signature", Scheme::Hex),
];

/// A body, with what its request shows of who has sent it.
#[derive(Default)]
pub struct Proof {
    body: Bytes,
    shown: Vec<(Scheme, String)>,
    /// What a signature of Standard Webhooks covers besides the body.
    id: String,
    time: String,
}

impl Proof {
    /// Takes the proof from the values of a request's headers.
    pub fn new<'a>(header: impl Fn(&str) -> Option<&'a str>, body: Bytes) -> Proof {
        let text = |name: &str| header(name).unwrap_or_default().to_owned();
        let shown = SCHEMES.iter().filter_map(|(name, scheme)| Some((*scheme, header(name)?.to_owned())));
        Proof { shown: shown.collect(), id: text("webhook-id"), time: text("webhook-timestamp"), body }
    }

    /// Whether the sender knows the secret, at this Unix time in seconds. One scheme is enough, since each proves it. Compared in
    /// constant time.
    pub fn shows(&self, secret: &str, now: i64) -> bool {
        self.shown.iter().any(|(scheme, shown)| match scheme {
            Scheme::Token => AccessKey::of(secret).is(shown),
            Scheme::Hex => self.is_signed_in_hex(secret, shown),
            Scheme::Standard => self.is_signed_by_the_standard(secret, shown, now),
        })
    }

    fn is_signed_in_hex(&self, secret: &str, shown: &str) -> bool {
        let digits = shown.strip_prefix("sha256=").unwrap_or(shown).as_bytes();
        let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
        let Some(signature) = digits.chunks(2).map(byte).collect::<Option<Vec<_>>>() else { return false };
        hmac::verify(&key(secret.as_bytes()), &self.body, &signature).is_ok()
    }

    fn is_signed_by_the_standard(&self, secret: &str, shown: &str, now: i64) -> bool {
        let Ok(secret) = BASE64_STANDARD.decode(secret.trim_start_matches("whsec_")) else { return false };
        let Ok(time) = self.time.parse::<i64>() else { return false };
        if now.abs_diff(time) > TOLERANCE_SECONDS {
            return false;
        }
        let signed = [format!("{}.{time}.", self.id).as_bytes(), &self.body].concat();
        let signatures = shown.split(' ').filter_map(|each| BASE64_STANDARD.decode(each.strip_prefix("v1,")?).ok());
        signatures.into_iter().any(|signature| hmac::verify(&key(&secret), &signed, &signature).is_ok())
    }
}

fn key(secret: &[u8]) -> hmac::Key {
    hmac::Key::new(hmac::HMAC_SHA256, secret)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &str = "It's a Secret to Everybody";
    const NOW: i64 = 1_799_168_800;
    const BODY: &[u8] = b"Hello, World!";
    /// The example of GitHub's manual.
    const SIGNATURE: &str = "757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17";

    fn proof(headers: &[(&str, &str)], body: &[u8]) -> Proof {
        Proof::new(
            |name| headers.iter().find(|(header, _)| *header == name).map(|(_, value)| *value),
            Bytes::copy_from_slice(body),
        )
    }

    #[test]
    fn a_body_is_signed_in_hexadecimal_digits() {
        let now = NOW;
        let prefixed = format!("sha256={SIGNATURE}");
        let upper = SIGNATURE.to_uppercase();
        for header in ["x-hub-signature-256", "sentry-hook-signature", "x-grafana-alerting-signature"] {
            for signature in [SIGNATURE, &prefixed, &upper] {
                let proof = proof(&[(header, signature)], BODY);
                assert!(proof.shows(SECRET, now), "{header}: {signature}");
                assert!(!proof.shows("It's a Secret to Nobody", now) && !proof.shows("", now));
            }
            assert!(!proof(&[(header, SIGNATURE)], b"Hello, World?").shows(SECRET, now));
            for bad in ["", "sha256=", "sha1=00", SECRET, &SIGNATURE[1..], &SIGNATURE[2..], "+1", "\u{e9}"] {
                assert!(!proof(&[(header, bad)], BODY).shows(SECRET, now), "{bad}");
            }
        }
    }

    #[test]
    fn a_token_is_the_secret_itself() {
        let now = NOW;
        assert!(proof(&[("x-gitlab-token", SECRET)], BODY).shows(SECRET, now));
        assert!(!proof(&[("x-gitlab-token", &SECRET[1..])], BODY).shows(SECRET, now));
        assert!(!proof(&[("x-gitlab-token", "")], BODY).shows(SECRET, now));
        assert!(!proof(&[("authorization", SECRET)], BODY).shows(SECRET, now));
        assert!(!Proof::default().shows(SECRET, now));
    }

    #[test]
    fn a_signature_of_the_standard_holds_for_its_time() {
        let (secret, now) = (crate::secret::signing_secret(), NOW);
        let other = crate::secret::signing_secret();
        let sign = |secrets: &[String], time: i64| crate::secret::webhook_signature(secrets, "msg_1", time, BODY).unwrap();
        let at = |signature: &str, time: i64, id: &str| {
            let time = time.to_string();
            let headers = [("webhook-signature", signature), ("webhook-id", id), ("webhook-timestamp", &*time)];
            proof(&headers, BODY).shows(&secret, now)
        };
        for (off, holds) in [(0, true), (-300, true), (300, true), (-301, false), (301, false)] {
            let time = now + off;
            assert_eq!(at(&sign(std::slice::from_ref(&secret), time), time, "msg_1"), holds, "{off}");
        }
        assert!(at(&sign(&[other.clone(), secret.clone()], now), now, "msg_1"), "one of several is enough");
        assert!(!at(&sign(&[other], now), now, "msg_1"));
        let signature = sign(std::slice::from_ref(&secret), now);
        assert!(!at(&signature, now + 1, "msg_1") && !at(&signature, now, "msg_2"));
        assert!(!at(signature.trim_start_matches("v1,"), now, "msg_1") && !at("v1,", now, "msg_1"));
        for time in ["", "soon", "9223372036854775807", "-9223372036854775808"] {
            let headers = [("webhook-signature", &*signature), ("webhook-id", "msg_1"), ("webhook-timestamp", time)];
            assert!(!proof(&headers, BODY).shows(&secret, now), "{time}");
        }
    }
}
