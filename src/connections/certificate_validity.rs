//! From when to when a certificate is valid (RFC 5280, 4.1.2.5).

use crate::time::Time;

/// The context tag of a certificate's version, which may be left out.
const VERSION: u8 = 0xa0;
const UTC_TIME: u8 = 0x17;
const GENERALIZED_TIME: u8 = 0x18;

pub(super) struct Validity {
    pub begin: Time,
    pub end: Time,
}

/// The `notBefore` and `notAfter` of a certificate in DER; `None` if it is none.
pub(super) fn of(certificate: &[u8]) -> Option<Validity> {
    let (_, certificate, _) = element(certificate)?;
    let (_, signed, _) = element(certificate)?;
    let (tag, _, behind) = element(signed)?;
    let numbered = if tag == VERSION { behind } else { signed };
    let (_, _, signature) = element(numbered)?;
    let (_, _, issuer) = element(signature)?;
    let (_, _, validity) = element(issuer)?;
    let (_, validity, _) = element(validity)?;
    let (begin, rest) = time(validity)?;
    let (end, _) = time(rest)?;
    Some(Validity { begin, end })
}

/// The first element, a time, and what is behind it.
fn time(der: &[u8]) -> Option<(Time, &[u8])> {
    let (tag, text, behind) = element(der)?;
    let text = str::from_utf8(text).ok()?;
    let text = match tag {
        // Two digits of the year: those from 50 on are of the last century.
        UTC_TIME => format!("{}{text}", if text < "5" { "20" } else { "19" }),
        GENERALIZED_TIME => text.to_owned(),
        _ => return None,
    };
    Some((Time::strptime("%Y%m%d%H%M%SZ", &text)?, behind))
}

/// The first element of DER: its tag and content, and what is behind it.
fn element(der: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (tag, der) = der.split_first()?;
    let (first, der) = der.split_first()?;
    let (length, der) = match usize::from(*first) {
        short if short < 0x80 => (short, der),
        // The length in up to four bytes, more than a certificate has.
        long @ 0x81..=0x84 => {
            let (bytes, der) = der.split_at_checked(long - 0x80)?;
            (bytes.iter().fold(0, |length, byte| length << 8 | usize::from(*byte)), der)
        }
        _ => return None,
    };
    let (content, behind) = der.split_at_checked(length)?;
    Some((*tag, content, behind))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One element with a content of less than 128 bytes.
    fn der(tag: u8, content: &[u8]) -> Vec<u8> {
        [&[tag, content.len() as u8], content].concat()
    }

    fn certificate(version: &[u8], end: &[u8]) -> Vec<u8> {
        let validity = der(0x30, &[&der(UTC_TIME, b"200101000000Z"), end].concat());
        let [serial, signature, issuer] = [der(0x02, b"\x01"), der(0x30, b""), der(0x30, b"")];
        der(0x30, &der(0x30, &[version, &serial, &signature, &issuer, &validity].concat()))
    }

    #[test]
    fn a_certificate_ends_in_either_form_of_a_time_and_with_or_without_a_version() {
        let end = |certificate: &[u8]| of(certificate).map(|validity| validity.end.to_string());
        let shown = |version: &[u8], tag, text: &[u8]| end(&certificate(version, &der(tag, text)));
        let version = der(VERSION, b"\x02\x01\x02");
        for version in [&version[..], &[]] {
            assert_eq!(shown(version, UTC_TIME, b"491231235959Z").unwrap(), "2049-12-31T23:59:59.000000Z");
            assert_eq!(shown(version, UTC_TIME, b"500101000000Z").unwrap(), "1950-01-01T00:00:00.000000Z");
            assert_eq!(shown(version, GENERALIZED_TIME, b"20500101000000Z").unwrap(), "2050-01-01T00:00:00.000000Z");
        }
        assert_eq!(shown(&version, UTC_TIME, b"never"), None);
        assert_eq!(shown(&version, 0x04, b"491231235959Z"), None);
    }

    #[test]
    fn what_is_cut_off_has_no_end() {
        let whole = certificate(&[], &der(UTC_TIME, b"491231235959Z"));
        assert_eq!(of(&whole).unwrap().begin.to_string(), "2020-01-01T00:00:00.000000Z");
        assert!((0..whole.len()).all(|length| of(&whole[..length]).is_none()));
        assert!(of(&[0x30, 0x84, 0xff, 0xff, 0xff, 0xff]).is_none() && of(&[0x30, 0x80]).is_none());
    }
}
