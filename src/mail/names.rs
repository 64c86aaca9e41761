//! Users' texts in mails.

/// What users call themselves and their things, fit to stand in a mail's own words: on one line, and with nothing that a
/// mail program would make a link of. Otherwise a name could be a message of its own, sent in the server's name.
///
/// Every text of a user's that a mail shows passes here, but for the message of the contact form.
pub fn name(text: &str) -> String {
    let line = text.replace("://", " ").split_whitespace().collect::<Vec<_>>().join(" ");
    let lower = line.to_ascii_lowercase();
    let mut kept = String::with_capacity(line.len());
    let mut from = 0;
    for (at, _) in lower.match_indices("www.") {
        kept.push_str(&line[from..at + 3]);
        kept.push(' ');
        from = at + 4;
    }
    kept + &line[from..]
}

#[cfg(test)]
mod tests {
    use super::name;

    #[test]
    fn a_name_is_no_link_and_has_one_line() {
        for (given, kept) in [
            ("PayPal Security: https://evil.example/login", "PayPal Security: https evil.example/login"),
            ("see WWW.Evil.example or www.www.example", "see WWW Evil.example or www www example"),
            ("a\r\nb\u{2028}c\u{b}d", "a b c d"),
            (":://// wwwww.w. ://", ": // wwwww w."),
            ("Ada & Söhne, v1.2 www", "Ada & Söhne, v1.2 www"),
        ] {
            assert_eq!(name(given), kept);
        }
    }
}
