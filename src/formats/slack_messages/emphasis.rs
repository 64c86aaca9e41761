//! Slack's signs for bold and struck text as those of Markdown, in which they are double.

/// Doubles the signs `*` and `~` around words of a line. Code and what stands between `<` and `>` stay as they are.
pub fn double_signs(mrkdwn: &str) -> String {
    let (mut markdown, mut from) = (String::with_capacity(mrkdwn.len()), 0);
    for at in signs(mrkdwn) {
        markdown.push_str(&mrkdwn[from..=at]);
        from = at;
    }
    markdown + &mrkdwn[from..]
}

/// The places of the signs that begin or end something, in their order.
fn signs(text: &str) -> Vec<usize> {
    let (mut found, mut open, mut is_code, mut mark_until) = (Vec::new(), [None; 2], false, 0);
    // Without a `>` behind it no `<` begins a mark.
    let last_end = text.rfind('>').unwrap_or(0);
    let mut before = None;
    for (at, c) in text.char_indices() {
        let after = text[at + c.len_utf8()..].chars().next();
        let sign = match c {
            _ if at < mark_until => None,
            '`' => {
                is_code = !is_code;
                None
            }
            '\n' => {
                open = [None; 2];
                None
            }
            '<' if at < last_end => {
                mark_until = at + text[at..].find('>').unwrap_or(0);
                None
            }
            '*' if !is_code => Some(0),
            '~' if !is_code => Some(1),
            _ => None,
        };
        if let Some(sign) = sign {
            let is_word = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
            let is_text = |other: Option<char>| other.is_some_and(|other| !other.is_whitespace() && other != c);
            match open[sign] {
                Some(begin) if is_text(before) && !is_word(after) && after != Some(c) => {
                    found.extend([begin, at]);
                    open[sign] = None;
                }
                None if is_text(after) && !is_word(before) && before != Some(c) => open[sign] = Some(at),
                _ => {}
            }
        }
        before = Some(c);
    }
    found.sort_unstable();
    found
}

#[cfg(test)]
mod tests {
    use super::double_signs;

    #[test]
    fn signs_around_words_are_doubled() {
        for (mrkdwn, markdown) in [
            ("*bold* and ~gone~, _slanted_", "**bold** and ~~gone~~, _slanted_"),
            ("(*bold*) *two words*!", "(**bold**) **two words**!"),
            ("*~both~*", "**~~both~~**"),
            ("2 * 3 * 4, 2*3*4, a ~ b, ~/x and ~/y", "2 * 3 * 4, 2*3*4, a ~ b, ~/x and ~/y"),
            ("`*code*` ```*code*``` *bold*", "`*code*` ```*code*``` **bold**"),
            ("*<https://x.example/*a*|b>*", "**<https://x.example/*a*|b>**"),
            ("**double** *open", "**double** *open"),
            ("*one\ntwo*", "*one\ntwo*"),
            ("<*a* and *é*", "<**a** and **é**"),
        ] {
            assert_eq!(double_signs(mrkdwn), markdown, "{mrkdwn}");
        }
        for piece in ["*", "~", "<", "*a*", "`*", "<>"] {
            assert!(double_signs(&piece.repeat(100_000)).len() <= piece.len() * 200_000);
        }
    }
}
