//! Links as Markdown. None hides where it leads behind a label that could be read as another address.

use super::{
    address_likeness::{SoughtAddress, is_like_address, is_space},
    markdown_pieces::first_line,
};

/// Bytes of an address, and parentheses in it, with which each client takes it for one.
const ADDRESS: usize = 2048;
const PARENTHESES: usize = 4;

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

/// The Markdown of a text, in which no link hides where it leads: one whose label could be read as another address is taken apart, so
/// that the address is shown. In doubt one link too many is, because all of Markdown decides where a label begins.
pub fn with_visible_links(text: &str) -> String {
    let (destinations, mut links) = (destinations(text), Links::default());
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
                let from = text.len() - rest.len();
                let end = destinations.binary_search_by_key(&from, |(from, _)| *from).ok().map(|found| destinations[found].1);
                let address = end.map(|end| &text[from + 1..end]);
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

/// Whether every client takes an address of a link for one. Where it is text, what follows may belong to a label around it.
fn is_taken(address: &str) -> bool {
    address.len() <= ADDRESS && address.matches('(').count() <= PARENTHESES
}

/// Where the addresses of links may stand: the places of the parentheses around each, in the order of the text. All of them are
/// found in one pass, because a search from each bracket would go over the same text again and again.
fn destinations(text: &str) -> Vec<(usize, usize)> {
    let (mut open, mut found, mut before) = (Vec::new(), Vec::new(), None);
    for (at, c) in text.char_indices() {
        match c {
            '(' => open.push((at, before == Some(']'))),
            ')' => found.extend(open.pop().filter(|(_, is_behind_label)| *is_behind_label).map(|(from, _)| (from, at))),
            c if c.is_whitespace() => open.clear(),
            _ => {}
        }
        before = Some(c);
    }
    found.sort_unstable();
    found
}

/// What [`with_visible_links`] knows of a paragraph.
#[derive(Default)]
struct Links {
    shown: String,
    /// Labels that may have begun and not ended.
    open: usize,
    /// Whether every bracket since the first of them is one: in code and in addresses they are none.
    is_sure: bool,
    /// What looks like an address since then.
    sought: SoughtAddress,
    /// Whether something did before the last white space.
    is_before_word: bool,
    /// What has been read since then or since the last white space.
    word: String,
}

impl Links {
    fn text(&mut self, text: &str) {
        self.shown.push_str(text);
        self.is_sure &= !text.contains(['`', '<']);
        self.read(text);
    }

    fn read(&mut self, text: &str) {
        let Some((before, after)) = text.rsplit_once(is_space) else {
            self.sought.read(text);
            return self.word.push_str(text);
        };
        self.sought.read(before);
        self.is_before_word = self.sought.is_found;
        self.sought.read(&text[before.len()..]);
        after.clone_into(&mut self.word);
    }

    fn opens(&mut self) {
        self.shown.push('[');
        if self.open == 0 {
            (self.is_sure, self.sought, self.is_before_word) = (true, SoughtAddress::default(), false);
            self.word.clear();
        }
        self.open += 1;
    }

    /// Ends a label, which this address may follow. Returns whether the two stay a link.
    fn closes(&mut self, address: Option<&str>) -> bool {
        // The brackets come first: they bound what is read of addresses that stand in each other.
        let is_sure = |address: &str| !address.contains(['[', ']', '`', '<']) && is_taken(address);
        let stays = address.is_some_and(|address| is_sure(address) && (!self.sought.is_found || self.is_label_of(address)));
        self.shown.push_str(if stays || address.is_none() { "]" } else { "] " });
        let least = usize::from(!self.is_sure && self.open > 0);
        self.open = self.open.saturating_sub(1).max(least);
        stays
    }

    /// Whether the label says the address itself, perhaps without the scheme. Letters outside of ASCII may look like others.
    fn is_label_of(&self, address: &str) -> bool {
        let words = |scheme: &str| address.strip_prefix(scheme).unwrap_or(address).trim_end_matches('/');
        let says = |scheme| self.word.trim_end_matches('/') == words(scheme);
        let may_be_same = !self.is_before_word && address.is_ascii() && self.word.len() <= address.len() + 1;
        may_be_same && ["", "https://", "http://", "mailto:"].into_iter().any(says)
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
            (
                "[a [x](https://bank.example/((((()))))) b](https://evil.example)",
                "[a [x] (https://bank.example/((((()))))) b] (https://evil.example)",
            ),
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

    /// The web client has the same examples.
    #[test]
    fn the_examples_that_clients_share_are_told_apart() {
        let cases: serde_json::Value = serde_json::from_str(include_str!("../../tests/data/links.json")).unwrap();
        for case in cases.as_array().unwrap() {
            let [label, address] = ["label", "address"].map(|field| case[field].as_str().unwrap());
            let shown = if case["hides"] == true { format!("[{label}] ({address})") } else { format!("[{label}]({address})") };
            assert_eq!(with_visible_links(&format!("[{label}]({address})")), shown);
        }
    }

    #[test]
    fn an_address_that_a_client_may_not_take_is_shown() {
        let long = |letters: usize| format!("https://a.example/{}", "x".repeat(letters));
        let link = |address: String| format!("[x]({address})");
        assert_eq!(with_visible_links(&link(long(2030))), link(long(2030)));
        assert_eq!(with_visible_links(&link(long(2031))), format!("[x] ({})", long(2031)));
    }
}
