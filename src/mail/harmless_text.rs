//! Makes users' texts safe to show in mails.

/// Makes a user's text safe inside a mail: one line, without anything that mail programs show as a link. It replaces `://`
/// and the dot of `www.` by spaces, and puts a space after each dot inside a possible host name. An invisible character
/// instead of the space would not work, because host names ignore these. Without this, a name could be a message that the
/// server seems to send.
///
/// Every user's text in a mail goes through this function, except the message of the contact form.
pub fn harmless(text: &str) -> String {
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

/// Puts a space after each dot that a host name could continue after. A dot before a digit stays: no top-level domain begins
/// with one, and version numbers do.
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
    use super::harmless;

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
            assert_eq!(harmless(given), kept);
        }
    }
}
