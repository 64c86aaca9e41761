//! Messages of Slack: their [`plain_text`], [`blocks`] and [`attachments`] as text, and the [`message`] that a program posts.

pub mod attachments;
pub mod blocks;
mod emphasis;
pub mod message;
pub mod plain_text;

use self::plain_text::Mentioned;

/// The text of a message and what its blocks say, once if one of them has all words of the other in their order: Slack writes
/// the text from the blocks, programs write a summary of them.
pub fn said_once(text: (String, Vec<Mentioned>), blocks: (String, Vec<Mentioned>)) -> (String, Vec<Mentioned>) {
    if blocks.0.trim().is_empty() || !text.0.trim().is_empty() && says(&text.0, &blocks.0) {
        return text;
    }
    if says(&blocks.0, &text.0) {
        return blocks;
    }
    (format!("{}\n{}", text.0, blocks.0), [text.1, blocks.1].concat())
}

/// Whether a text has all words of another one in their order.
fn says(text: &str, other: &str) -> bool {
    let words = |text| str::split(text, |c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    let mut left = words(text);
    words(other).all(|word| left.any(|found| found == word))
}

#[cfg(test)]
mod tests {
    use super::said_once;

    #[test]
    fn what_text_and_blocks_both_say_is_said_once() {
        for (text, blocks, said) in [
            ("", "", ""),
            ("hello", "", "hello"),
            ("", "hello", "hello"),
            ("", "\u{1f389}", "\u{1f389}"),
            ("a *bold* word\n\u{2022} one", "a bold word\n\u{2022} one", "a *bold* word\n\u{2022} one"),
            ("Build passed", "Build 7 passed\nin 3 minutes", "Build 7 passed\nin 3 minutes"),
            ("A summary", "The whole", "A summary\nThe whole"),
            ("one two", "two one", "one two\ntwo one"),
        ] {
            let (found, _) = said_once((text.into(), Vec::new()), (blocks.into(), Vec::new()));
            assert_eq!(found, said, "{text:?} and {blocks:?}");
        }
    }
}
