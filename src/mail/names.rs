//! Users' texts in mails.

/// What users call themselves and their things, fit to stand in a mail's own words: on one line, and with nothing that a
/// mail program would make a link of: no `://`, no `www.`, and a space after a dot between the parts of what could be a
/// host. An invisible character in its place would not do: in host names these are left out. Otherwise a name could be a
/// message of its own, sent in the server's name.
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
    kept.push_str(&line[from..]);
    without_hosts(&kept)
}

/// A host's last part begins with no digit, so that numbers of versions stay as they are.
fn without_hosts(line: &str) -> String {
    const DOTS: [char; 5] = ['.', '\u{2024}', '\u{3002}', '\u{ff0e}', '\u{ff61}'];
    let mut kept = String::with_capacity(line.len());
    let mut chars = line.chars().peekable();
    while let Some(c) = chars.next() {
        kept.push(c);
        if DOTS.contains(&c)
            && chars.peek().is_some_and(|next| next.is_ascii_alphabetic() || !(next.is_ascii() || DOTS.contains(next)))
        {
            kept.push(' ');
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::name;

    #[test]
    fn a_name_in_a_mail_is_no_link_and_has_one_line() {
        for (given, kept) in [
            ("PayPal Security: https://evil.example/login", "PayPal Security: https evil. example/login"),
            ("see WWW.Evil.example or www.www.example", "see WWW Evil. example or www www example"),
            ("a\r\nb\u{2028}c\u{b}d", "a b c d"),
            (":://// wwwww.w. ://", ": // wwwww w."),
            ("Win at evil.example/now, evil.XN--P1AI", "Win at evil. example/now, evil. XN--P1AI"),
            ("me@mail.evil.example", "me@mail. evil. example"),
            (
                "evil\u{3002}example evil.\u{43c}\u{43e} evil.\u{2060}example",
                "evil\u{3002} example evil. \u{43c}\u{43e} evil. \u{2060}example",
            ),
            ("J.R. Tolkien, Acme Inc., 1.5... no. 7", "J. R. Tolkien, Acme Inc., 1.5... no. 7"),
            ("Ada & Söhne, v1.2 www", "Ada & Söhne, v1.2 www"),
        ] {
            assert_eq!(name(given), kept);
        }
    }
}
