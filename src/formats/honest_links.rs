//! Links as Markdown. None hides where it leads behind a label that could be read as another address.

use super::markdown_pieces::first_line;

/// Characters of an address that clients read as a link.
const ADDRESS: usize = 2048;
/// Bytes of a word in a label that are looked at; a longer one counts as an address.
const WORD: usize = 500;

/// A line that leads to an address. If it could be read as another address, or as Markdown, the address stands beside it.
pub fn link(label: &str, address: &str) -> String {
    let (label, address) = (first_line(label), address.trim());
    let address = if address.contains(char::is_whitespace) { "" } else { address };
    if label.is_empty() || address.is_empty() || label == address {
        return if label.is_empty() { address.to_owned() } else { label };
    }
    let is_plain =
        is_web_address(address) && !label.contains(['\\', '`', '<', '>']) && is_balanced(&label) && !is_like_address(&label);
    if is_plain { format!("[{label}]({address})") } else { format!("{label} ({address})") }
}

/// Whether a text is an http or https address without signs that would end it in Markdown.
fn is_web_address(text: &str) -> bool {
    let rest = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
    rest.is_some_and(|rest| {
        !rest.is_empty() && !rest.contains(|c: char| c.is_whitespace() || c.is_control() || "()<>\"`[]\\".contains(c))
    })
}

/// Whether the brackets in a label are pairs, and begin no link of their own.
fn is_balanced(label: &str) -> bool {
    let depth = label.chars().try_fold(0_u32, |open, c| match c {
        '[' => Some(open + 1),
        ']' => open.checked_sub(1),
        _ => Some(open),
    });
    depth == Some(0) && !label.contains("](")
}

/// Whether a text has what people may take for an address: a scheme, or a dot between a letter and two more.
pub fn is_like_address(text: &str) -> bool {
    let shown: Vec<char> = text.chars().filter(|c| !is_styling(*c)).map(|c| if is_dot(c) { '.' } else { c }).collect();
    let is_host = |at: usize| {
        let before = at.checked_sub(1).is_some_and(|before| shown[before].is_alphanumeric());
        before && shown.get(at + 1..at + 3).is_some_and(|two| two.iter().all(|c| c.is_alphabetic()))
    };
    shown.windows(3).any(|three| three == [':', '/', '/']) || (0..shown.len()).any(|at| shown[at] == '.' && is_host(at))
}

/// Signs that Markdown takes away, and those that nobody sees.
fn is_styling(c: char) -> bool {
    matches!(c, '*' | '_' | '~' | '`' | '\\' | '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
}

/// Full stops that look like the one in addresses.
fn is_dot(c: char) -> bool {
    matches!(c, '\u{2024}' | '\u{3002}' | '\u{ff0e}' | '\u{ff61}')
}

/// The Markdown of a text, in which no link hides where it leads: one whose label could be read as another address is taken apart,
/// so that the address is shown. In doubt one link too many is, because all of Markdown decides where a label begins.
pub fn with_visible_links(text: &str) -> String {
    let mut links = Links::default();
    let mut rest = text;
    while let Some(at) = rest.find(['\\', '[', ']', '\n']) {
        let (before, sign) = rest.split_at(at);
        links.text(before);
        rest = &sign[1..];
        match sign.as_bytes()[0] {
            b'\\' => {
                // At the end of an address the backslash may be a part of it, and escapes nothing then.
                if let Some(behind) = rest.strip_prefix('[') {
                    links.shown.push('\\');
                    links.opens();
                    links.is_sure = false;
                    rest = behind;
                    continue;
                }
                let escaped = rest.chars().next().filter(char::is_ascii_punctuation).map_or(0, char::len_utf8);
                if escaped == 0 {
                    links.text("\\")
                } else {
                    links.shown.push('\\')
                }
                links.text(&rest[..escaped]);
                rest = &rest[escaped..];
            }
            b'[' => links.opens(),
            b']' => {
                let address = destination(rest);
                let behind = if links.closes(address) { address.map_or(0, |address| address.len() + 2) } else { 0 };
                links.shown.push_str(&rest[..behind]);
                rest = &rest[behind..];
            }
            _ => {
                links.text("\n");
                // An item of a list is a paragraph of its own.
                let begins_item = |text: &str| text.starts_with(|c: char| c.is_ascii_graphic() || c.is_alphanumeric());
                if rest.starts_with('\n') || rest.strip_prefix("- ").is_some_and(begins_item) {
                    links.open = 0;
                }
            }
        }
    }
    links.text(rest);
    links.shown
}

/// The address in the parentheses at the beginning of a text.
fn destination(text: &str) -> Option<&str> {
    let inside = text.strip_prefix('(')?;
    let mut open = 0;
    for (at, c) in inside.char_indices().take(ADDRESS + 2) {
        match c {
            '(' => open += 1,
            ')' if open == 0 => return Some(&inside[..at]),
            ')' => open -= 1,
            c if c.is_whitespace() => return None,
            _ => {}
        }
    }
    None
}

/// What [`with_visible_links`] knows of a paragraph.
#[derive(Default)]
struct Links {
    shown: String,
    /// Labels that may have begun and not ended.
    open: usize,
    /// Whether every bracket since the first of them is one: in code and in addresses they are none.
    is_sure: bool,
    /// Whether what has been read since then looks like an address.
    is_address: bool,
    /// What has been read since then or since the last white space.
    word: String,
}

impl Links {
    fn text(&mut self, text: &str) {
        self.shown.push_str(text);
        self.is_sure &= !text.contains(['`', '<']);
        let Some((before, after)) = text.rsplit_once(char::is_whitespace) else { return self.word.push_str(text) };
        self.word.push_str(before);
        self.is_address |= is_like_address(&self.word);
        after.clone_into(&mut self.word);
    }

    fn opens(&mut self) {
        self.shown.push('[');
        if self.open == 0 {
            (self.is_sure, self.is_address) = (true, false);
            self.word.clear();
        }
        self.open += 1;
    }

    /// Ends a label, which this address may follow. Returns whether the two stay a link.
    fn closes(&mut self, address: Option<&str>) -> bool {
        fn bare(text: &str) -> &str {
            text.split_once("://").map_or(text, |(_, rest)| rest).trim_end_matches('/')
        }
        let before = self.is_address;
        self.is_address |= self.open > 0 && (self.word.len() > WORD || is_like_address(&self.word));
        let stays = address.is_some_and(|address| {
            let is_same = !before && bare(&self.word) == bare(address);
            (!self.is_address || is_same) && !address.contains(['[', ']', '`', '<'])
        });
        self.shown.push_str(if stays || address.is_none() { "]" } else { "] " });
        let least = usize::from(!self.is_sure && self.open > 0);
        self.open = self.open.saturating_sub(1).max(least);
        stays
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_that_could_be_another_address_stands_beside_its_own() {
        for (label, address, shown) in [
            ("the plan", "https://a.example", "[the plan](https://a.example)"),
            ("[WIP] #12 (old)", "https://a.example", "[[WIP] #12 (old)](https://a.example)"),
            ("bank.example", "https://a.example", "bank.example (https://a.example)"),
            ("log in: HTTPS://bank", "https://a.example", "log in: HTTPS://bank (https://a.example)"),
            ("bank\u{3002}example", "https://a.example", "bank\u{3002}example (https://a.example)"),
            ("b*a*nk.**ex**ample", "https://a.example", "b*a*nk.**ex**ample (https://a.example)"),
            ("x](https://b.example) [y", "https://a.example", "x](https://b.example) [y (https://a.example)"),
            ("the `plan`", "https://a.example", "the `plan` (https://a.example)"),
            ("version 1.2.3", "https://a.example", "[version 1.2.3](https://a.example)"),
            ("the plan", "https://a.example/(1)", "the plan (https://a.example/(1))"),
            ("the plan", "javascript:alert(1)", "the plan (javascript:alert(1))"),
            ("the plan", "https://a.example/ b", "the plan"),
            ("", "https://a.example", "https://a.example"),
            ("https://a.example", "https://a.example", "https://a.example"),
            ("the plan", "", "the plan"),
        ] {
            assert_eq!(link(label, address), shown);
        }
    }

    #[test]
    fn no_link_of_a_text_hides_where_it_leads() {
        for same in [
            "no link, [brackets] and (parentheses)",
            "[docs](https://a.example) and https://c.example and [more](https://b.example)",
            "[[x] y](https://a.example) [1]: \\[not\\](x)",
            "[a.example](https://a.example/) [https://b.example/c](https://b.example/c)",
            "main.rs\n- [1f2e3d4](https://a.example) main.rs\n- [99887766](https://b.example) main.rs",
        ] {
            assert_eq!(with_visible_links(same), same);
        }
        for (hidden, shown) in [
            ("[bank.example](https://evil.example)", "[bank.example] (https://evil.example)"),
            ("[**https://bank**](https://evil.example)", "[**https://bank**] (https://evil.example)"),
            ("[bank\\.example](https://evil.example)", "[bank\\.example] (https://evil.example)"),
            (
                "[bank.example [x](https://a.example) y](https://evil.example)",
                "[bank.example [x] (https://a.example) y] (https://evil.example)",
            ),
            ("[x `](z)` https://bank](https://evil.example)", "[x `](z)` https://bank] (https://evil.example)"),
            ("[x <y]> https://bank](https://evil.example)", "[x <y]> https://bank] (https://evil.example)"),
            ("[a](x[https://bank) y](https://evil.example)", "[a] (x[https://bank) y] (https://evil.example)"),
            ("[bank.example\n- ](https://evil.example)", "[bank.example\n- ] (https://evil.example)"),
            ("[bank.example\\x](https://bank.examplex)", "[bank.example\\x] (https://bank.examplex)"),
            ("![bank.example](https://evil.example)", "![bank.example] (https://evil.example)"),
            (
                "https://x.example\\[bank.example](https://evil.example)",
                "https://x.example\\[bank.example] (https://evil.example)",
            ),
        ] {
            assert_eq!(with_visible_links(hidden), shown);
        }
    }

    /// With a time that grows with the square of the length, these would take hours.
    #[test]
    fn long_texts_take_a_time_that_grows_with_their_length() {
        for piece in ["[", "]", "[]()", "[a](b)", "](", "((", "\\", "[a.", "`[", "\n- "] {
            let text = piece.repeat(100_000);
            assert!(with_visible_links(&text).len() <= 2 * text.len(), "{piece}");
        }
    }
}
