//! E-mail addresses (RFC 5321, as far as mail servers follow it). One mailbox has one form, in which it is stored and compared,
//! and addresses that only look alike are told apart or refused.

use std::sync::LazyLock;

use regex::Regex;
use url::Host;

use super::format_characters::has_format_characters;

/// Octets of an address, at most: RFC 5321's limits allow no more.
const OCTETS: usize = 254;
/// Characters of a part of a domain, at most (RFC 1035, section 2.3.4).
pub const LABEL: usize = 63;

/// Letters of alphabets that have letters in common with the Latin one, as far as eyes can tell.
static LOOKALIKE: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"[\p{Cyrillic}\p{Greek}]").expect("it is a regular expression"));
static LATIN: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"\p{Latin}").expect("it is a regular expression"));

/// An e-mail address in the form that is stored and compared; none if the text is no address.
///
/// Lower-cases an address; in the part before the `@` only ASCII letters: Unicode has characters whose lower case is an ASCII
/// letter, such as the Kelvin sign, and an address with one belongs to another mailbox. Latin letters don't stand beside
/// Cyrillic or Greek ones. The domain is in ASCII, as the DNS has it. No part has a format character, which nobody sees.
pub fn normalised_address(text: &str) -> Option<String> {
    let text = former(text)?;
    let (local, domain) = text.rsplit_once('@')?;
    if has_format_characters(&text) || mixes_alphabets(local) {
        return None;
    }
    let address = format!("{local}@{}", ascii(domain)?);
    (address.len() <= OCTETS && address.parse::<lettre::Address>().is_ok()).then_some(address)
}

/// Why a text is no [`normalised_address`], for people, who may see no difference to one.
pub fn fault(text: &str) -> &'static str {
    if has_format_characters(text) {
        return "must be an e-mail address without invisible characters";
    }
    if text.rsplit_once('@').is_some_and(|(local, _)| mixes_alphabets(local)) {
        return "must be an e-mail address that doesn't mix Latin letters with Cyrillic or Greek ones, which look alike";
    }
    "must be an e-mail address"
}

/// Whether Latin letters stand beside ones that look alike.
fn mixes_alphabets(local: &str) -> bool {
    LATIN.is_match(local) && LOOKALIKE.is_match(local)
}

/// The address of an account that may be there already. It has the form of [`normalised_address`]; one that this refuses has
/// the form that it was stored in before such addresses were refused, so that their accounts can still be used.
pub fn existing_account_address(text: &str) -> Option<String> {
    normalised_address(text).or_else(|| former(text))
}

/// An e-mail address in the form that it was stored in before domains had one form.
fn former(text: &str) -> Option<String> {
    let text = text.trim();
    // Parsing takes a time that grows with the square of the length; the mailer refuses a quoted local part.
    if text.len() > OCTETS || text.contains('"') {
        return None;
    }
    let text = text.to_ascii_lowercase();
    text.parse::<lettre::Address>().is_ok().then_some(text)
}

/// A domain in ASCII (UTS #46, and RFC 5891 for what its labels are made of). It has at least two labels, and is no IP address
/// in any notation (WHATWG URL, section 3.5).
fn ascii(domain: &str) -> Option<String> {
    if domain.contains('%') {
        return None; // The parser would decode it.
    }
    let Ok(Host::Domain(domain)) = Host::parse(domain) else { return None };
    let is_label = |label: &str| {
        (1..=LABEL).contains(&label.len())
            && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    (domain.contains('.') && domain.split('.').all(is_label)).then_some(domain)
}

#[cfg(test)]
mod tests {
    use super::{existing_account_address, normalised_address};

    #[test]
    fn addresses_are_compared_in_ascii_lower_case() {
        assert_eq!(normalised_address(" Ada@Example.ORG ").unwrap(), "ada@example.org");
        assert_ne!(normalised_address("\u{212a}ate@example.org"), normalised_address("kate@example.org"), "the Kelvin sign");
        assert_ne!(normalised_address("\u{130}da@example.org"), normalised_address("ida@example.org"));
    }

    #[test]
    fn a_domain_has_one_form() {
        let one = normalised_address("ada@xn--mnchen-3ya.example").unwrap();
        for other in ["ada@münchen.example", "ada@MÜNCHEN.example", "ada@Mu\u{308}nchen.example", "ADA@XN--Mnchen-3ya.example"]
        {
            assert_eq!(normalised_address(other).as_deref(), Some(one.as_str()), "{other}");
        }
        assert_eq!(
            normalised_address("ada@ｅxample。org").unwrap(),
            "ada@example.org",
            "wide letters and an ideographic full stop"
        );
        let cyrillic = normalised_address("ada@\u{435}xample.org").unwrap();
        assert!(cyrillic.starts_with("ada@xn--"), "the twin of example.org is seen as what it is: {cyrillic}");
    }

    #[test]
    fn what_is_no_domain_of_idna_is_refused() {
        for bad in [
            "ada@xn--example.org",
            "ada@xn--mnchen-3y.example",
            "ada@xn--ada-.example",
            "ada@a_b.example",
            "ada@-a.example",
            "ada@a-.example",
            "ada@%61.example",
            &format!("ada@{}.example", "a".repeat(64)),
        ] {
            assert_eq!(normalised_address(bad), None, "{bad}");
        }
        assert!(normalised_address(&format!("ada@{}.example", "a".repeat(63))).is_some());
    }

    #[test]
    fn an_address_has_no_format_character_and_mixes_no_alphabets_that_look_alike() {
        for bad in [
            "a\u{200b}da@example.org",
            "ada\u{200d}@example.org",
            "a\u{ad}da@example.org",
            "ada@exam\u{200b}ple.org",
            "ada@exam\u{ad}ple.org",
            "ad\u{430}@example.org",
            "\u{391}da@example.org",
        ] {
            assert_eq!(normalised_address(bad), None, "{bad:?}");
        }
        for good in ["ада@example.org", "δημοσθένης@example.org", "josé@example.org", "用户@example.org"] {
            assert_eq!(normalised_address(good).as_deref(), Some(good));
        }
    }

    #[test]
    fn an_older_address_is_known_as_it_was_stored() {
        let known = |text| existing_account_address(text).unwrap();
        assert_eq!(known(" ADA@exam\u{200b}ple.org"), "ada@exam\u{200b}ple.org");
        assert_eq!(known("Ad\u{430}@example.org"), "ad\u{430}@example.org");
        assert_eq!(known("ada@münchen.example"), "ada@xn--mnchen-3ya.example");
        assert_eq!(existing_account_address("ada"), None);
    }

    #[test]
    fn an_address_is_parsed_only_if_it_is_short() {
        let address = |octets: usize| format!("{}@{}example", "a".repeat(64), "b.".repeat((octets - 72) / 2));
        assert_eq!(address(254).len(), 254);
        assert!(normalised_address(&address(254)).is_some());
        assert_eq!(normalised_address(&address(256)), None);
    }

    #[test]
    fn a_domain_has_two_labels_and_is_no_ip_address() {
        for good in ["a@b.example", "a@b.c.example", "a@4.example", "a@1.2.3.4.example"] {
            assert!(normalised_address(good).is_some(), "{good}");
        }
        for bad in [
            "a@localhost",
            "a@b",
            "a@[127.0.0.1]",
            "a@[IPv6:::1]",
            "a@127.0.0.1",
            "a@127.1",
            "a@0x7f.0x1",
            "a@b.example.",
            "a@.example",
            "a@b..example",
            "\"a b\"@b.example",
        ] {
            assert_eq!(normalised_address(bad), None, "{bad}");
        }
    }
}
