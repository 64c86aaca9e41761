//! Format characters (Unicode category Cf) in names and symbols: nobody sees them, so that two names could look the same. The
//! two joiners stay where writing needs them: Persian and other scripts between letters, families of emoji between those.

use std::sync::LazyLock;

use regex::Regex;
use serde::{Deserialize, Deserializer};

static FORMAT: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"\p{Cf}").expect("it is a regular expression"));
/// A letter with its marks, or an emoji with its colour and variation.
static JOINABLE: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"[\p{L}\p{M}\p{Extended_Pictographic}\p{Emoji_Modifier}]").expect("it is a regular expression"));

/// A flag of a part of a country, such as Scotland's: its tags are format characters.
static TAGGED_FLAG: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"\x{1f3f4}[\x{e0030}-\x{e0039}\x{e0061}-\x{e007a}]{3,6}\x{e007f}").expect("it is a regular expression")
});

pub fn has_format_characters(text: &str) -> bool {
    !text.is_ascii() && FORMAT.is_match(text)
}

/// Whether a name has no format characters but joiners between letters or emoji.
pub fn has_no_hidden_characters(name: &str) -> bool {
    !has_format_characters(name) || without_format_characters(name) == name
}

/// Whether a symbol has no format characters but those joiners, and the tags of flags.
pub fn has_only_emoji_joiners(symbol: &str) -> bool {
    !has_format_characters(symbol) || has_no_hidden_characters(&TAGGED_FLAG.replace_all(symbol, "🏴"))
}

/// The name without format characters but joiners between letters or emoji.
pub fn without_format_characters(name: &str) -> String {
    if !has_format_characters(name) {
        return name.to_owned();
    }
    let is = |pattern: &Regex, c: char| pattern.is_match(c.encode_utf8(&mut [0; 4]));
    let stays = |before: Option<char>, c: char, after: Option<char>| {
        let is_joined = || [before, after].iter().all(|c| c.is_some_and(|c| is(&JOINABLE, c)));
        !is(&FORMAT, c) || (matches!(c, '\u{200c}' | '\u{200d}') && is_joined())
    };
    let chars: Vec<char> = name.chars().collect();
    let at = |place: Option<usize>| place.and_then(|place| chars.get(place)).copied();
    let kept = chars.iter().enumerate().filter(|(n, c)| stays(at(n.checked_sub(1)), **c, at(n.checked_add(1))));
    kept.map(|(_, c)| *c).collect()
}

/// Reads a name of a file that may have been written before such names were refused.
pub fn deserialize_legacy_name<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    String::deserialize(deserializer).map(|name| without_format_characters(&name))
}

#[cfg(test)]
mod tests {
    use super::{has_no_hidden_characters, without_format_characters};

    #[test]
    fn joiners_stand_between_letters_or_emoji_only() {
        for good in [
            "Ada",
            "José",
            "\u{645}\u{6cc}\u{200c}\u{62e}\u{648}\u{627}\u{647}\u{645}",
            "क्\u{200d}ष",
            "👨\u{200d}👩\u{200d}👧 team",
            "❤\u{fe0f}\u{200d}🔥",
        ] {
            assert!(has_no_hidden_characters(good), "{good:?}");
            assert_eq!(without_format_characters(good), good);
        }
        for (bad, shown) in [
            ("A\u{200b}da", "Ada"),
            ("\u{feff}Ada", "Ada"),
            ("Ada\u{200d}", "Ada"),
            ("\u{200c}Ada", "Ada"),
            ("a\u{200d}\u{200d}b", "ab"),
            ("1\u{200c}2", "12"),
            ("So\u{ad}fort", "Sofort"),
            ("x\u{2060}y", "xy"),
        ] {
            assert!(!has_no_hidden_characters(bad), "{bad:?}");
            assert_eq!(without_format_characters(bad), shown);
        }
    }
}
