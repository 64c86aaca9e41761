//! Pieces of posts: lines and quotes, as Markdown.

/// Characters that are read of a text, and of all that a post says. No post has more, so the rest is cut off before the text is
/// searched for marks: a body may be many times as long.
pub const LONGEST_TEXT: usize = 40_000;
/// Characters of a title, a commit's message or a name within a line.
const LINE: usize = 200;
/// Characters of a text that is quoted, and its lines.
const QUOTED: usize = 1000;
const QUOTED_LINES: usize = 12;
/// A text is cut at white space if there is some among its last characters.
const LAST: usize = 200;
const CUT: char = '\u{2026}';

/// The text within a number of characters. A longer one ends with an ellipsis, behind a whole line or word if one ends nearby.
pub fn cut(text: &str, most: usize) -> String {
    if text.chars().nth(most).is_none() {
        return text.to_owned();
    }
    let end = text.char_indices().nth(most.saturating_sub(1)).map_or(0, |(at, _)| at);
    let kept = &text[..end];
    let near = kept.char_indices().rev().take(LAST.min(most / 2)).last().map_or(end, |(at, _)| at);
    let at = match kept[near..].rfind('\n').or_else(|| kept[near..].rfind(char::is_whitespace)) {
        Some(at) if !text[end..].starts_with(char::is_whitespace) => near + at,
        _ => end,
    };
    format!("{}{CUT}", kept[..at].trim_end())
}

/// The first line of a text that says something.
pub fn first_line(text: &str) -> String {
    let first = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    cut(&first.split_whitespace().collect::<Vec<_>>().join(" "), LINE)
}

/// A text in bold, unless it is empty.
pub fn bold(text: &str) -> String {
    let text = first_line(text);
    if text.is_empty() { text } else { format!("**{text}**") }
}

/// A text as a quote, without comments and cut to some lines.
pub fn quote(text: &str) -> String {
    let text = without_html_comments(text).replace('\r', "");
    let text = text.trim();
    let mut lines: Vec<_> = text.lines().take(QUOTED_LINES).collect();
    if text.lines().nth(QUOTED_LINES).is_some() {
        lines.push("\u{2026}");
    }
    let text = cut(&lines.join("\n"), QUOTED);
    text.lines().map(|line| format!("> {line}")).collect::<Vec<_>>().join("\n")
}

/// A text without HTML comments, such as the hints of a template for issues. One that doesn't end stays.
fn without_html_comments(text: &str) -> String {
    let (mut shown, mut rest) = (String::new(), text);
    while let Some((before, comment)) = rest.split_once("<!--") {
        let Some((_, after)) = comment.split_once("-->") else { break };
        shown.push_str(before);
        rest = after;
    }
    shown + rest
}

/// Parts that say something, a line for each. No more are asked for when there is enough text for a post.
pub fn one_per_line(parts: impl IntoIterator<Item = String>) -> String {
    let mut parts = parts.into_iter().filter(|part| !part.trim().is_empty());
    let (mut lines, mut characters) = (Vec::new(), 0);
    while characters <= LONGEST_TEXT
        && let Some(part) = parts.next()
    {
        characters += part.chars().count() + 1;
        lines.push(part);
    }
    lines.join("\n")
}

/// A noun with its number.
pub fn counted_noun(number: usize, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_cut_behind_a_word() {
        for (text, most, kept) in [
            ("short", 5, "short"),
            ("", 5, ""),
            ("one two three", 12, "one two\u{2026}"),
            ("one two three", 8, "one two\u{2026}"),
            ("\u{1f389}\u{1f389}\u{1f389}", 2, "\u{1f389}\u{2026}"),
            ("unbroken", 4, "unb\u{2026}"),
            ("a line\nanother line", 12, "a line\u{2026}"),
        ] {
            assert_eq!(cut(text, most), kept);
            assert!(kept.chars().count() <= most);
        }
    }

    #[test]
    fn no_more_lines_are_asked_for_than_a_post_has() {
        let mut asked = 0;
        let line = |_| {
            asked += 1;
            "x".repeat(LONGEST_TEXT / 4 - 1)
        };
        assert_eq!(one_per_line((0..100).map(line)).len(), LONGEST_TEXT / 4 * 5 - 1);
        assert_eq!(asked, 5, "the fourth might have no character behind it");
    }

    #[test]
    fn quotes_are_short() {
        assert_eq!(quote(" one\r\n\ntwo\n"), "> one\n> \n> two");
        assert_eq!(quote(""), "");
        assert_eq!(quote("<!-- a\nhint -->\none <!--> -->two<!---->\n<!-- open"), "> one two\n> <!-- open");
        assert_eq!(quote(&"x\n".repeat(20)).lines().count(), QUOTED_LINES + 1);
        assert!(quote(&"word ".repeat(1000)).chars().count() <= QUOTED + 2);
    }
}
