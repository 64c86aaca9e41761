//! Validators of texts: each returns the text as it is stored, or a sentence that says why it is refused.

/// Trims white space around a text of at most `max` characters.
pub fn trimmed<'a>(text: &'a str, field: &str, max: usize) -> Result<&'a str, String> {
    let text = text.trim();
    if text.chars().count() > max { Err(format!("{field} is longer than {max} characters")) } else { Ok(text) }
}

/// Checks a text as [`trimmed`] does, and refuses line breaks and other control characters: it goes into mails, beside other
/// texts.
pub fn one_line<'a>(text: &'a str, field: &str, max: usize) -> Result<&'a str, String> {
    let text = trimmed(text, field, max)?;
    if text.chars().any(steers) { Err(format!("{field} must not contain control characters")) } else { Ok(text) }
}

/// Parses an http or https address with a host, and without a user name or a password.
pub fn web_address(text: &str, field: &str) -> Result<url::Url, String> {
    let text = one_line(text, field, 2000)?;
    let url = url::Url::parse(text).map_err(|err| format!("{field} is not an address: {err}"))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(format!("{field} is no address of http or https"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(format!("{field} must not hold a user name or a password"));
    }
    Ok(url)
}

/// Trims a text that is empty or a [`web_address`].
pub fn web_address_if_any<'a>(text: &'a str, field: &str) -> Result<&'a str, String> {
    match text.trim() {
        "" => Ok(""),
        text => web_address(text, field).map(|_| text),
    }
}

/// Whether a character is a control character, or changes the direction of the text around it (Unicode annex 9, section 2).
pub fn steers(c: char) -> bool {
    c.is_control() || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Folds case for comparisons. It maps to upper case first, so that ß matches SS, and a final ς matches σ.
pub fn folded(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase(); // the same, and many times faster
    }
    text.to_uppercase().chars().flat_map(char::to_lowercase).collect()
}

/// Checks a text as [`one_line`] does, and refuses an empty one.
pub fn required<'a>(text: &'a str, field: &str, max: usize) -> Result<&'a str, String> {
    match one_line(text, field, max)? {
        "" => Err(format!("{field} must not be empty")),
        text => Ok(text),
    }
}

/// An e-mail address in the form that is stored and compared; none if the text is no address (RFC 5321, as far as mail
/// servers follow it).
///
/// Only ASCII letters are lower-cased: Unicode has characters whose lower case is an ASCII letter, such as the Kelvin sign,
/// and an address with one belongs to another mailbox. The domain has at least two labels, and the last is no number: this
/// refuses `localhost` and IP addresses in every notation (WHATWG URL, section 3.5).
pub fn email_address(text: &str) -> Option<String> {
    let text = text.trim().to_ascii_lowercase();
    let address: lettre::Address = text.parse().ok()?;
    let domain = address.domain();
    let is_public = domain.contains('.')
        && domain.split('.').all(|label| !label.is_empty())
        && !domain.starts_with('[')
        && !domain
            .rsplit('.')
            .next()
            .is_some_and(|last| last.starts_with("0x") || last.bytes().all(|byte| byte.is_ascii_digit()));
    // RFC 5321's limits allow 254 octets at most.
    (text.len() <= 254 && is_public).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::{email_address, folded};

    #[test]
    fn case_is_folded() {
        assert_eq!(folded("Straße ΟΔΟΣ"), folded("STRASSE οδος"));
        assert_eq!(folded("100%_"), "100%_");
    }

    #[test]
    fn addresses_are_compared_in_ascii_lower_case() {
        assert_eq!(email_address(" Ada@Example.ORG ").unwrap(), "ada@example.org");
        assert_ne!(email_address("\u{212a}ate@example.org"), email_address("kate@example.org"), "the Kelvin sign");
        assert_ne!(email_address("\u{130}da@example.org"), email_address("ida@example.org"));
    }

    #[test]
    fn a_domain_has_two_labels_and_is_no_ip_address() {
        for good in ["a@b.example", "a@b.c.example", "a@4.example", "a@1.2.3.4.example"] {
            assert!(email_address(good).is_some(), "{good}");
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
        ] {
            assert_eq!(email_address(bad), None, "{bad}");
        }
    }
}
