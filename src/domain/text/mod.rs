//! The bounds of texts in requests. Each is a [`Rule`], declared once with [`rules!`]: the API's schema shows it, and
//! `check` enforces it.

mod emails;
pub mod format_characters;
mod patterns;

use self::{
    emails::LABEL,
    patterns::{
        CODE, IDENTIFIERS, LINE, NO_NUMBER, OWN_PATH, Pattern, QUERY, SHARED_SECRET, SOLID, SOLID_LINE, STREAM, SYMBOL, USERNAME,
        WEB_ADDRESS,
    },
};
pub use self::{
    emails::{existing_account_address, normalised_address},
    patterns::is_ideograph,
};
use crate::error::{Code, Refusal};

/// The bounds of a text. They hold for the text as it is sent, before white space around it is removed.
#[derive(Clone, Copy)]
pub struct Rule {
    /// Characters, at least.
    pub min: usize,
    /// Characters, at most.
    pub max: usize,
    pub pattern: Option<&'static Pattern>,
    /// The only texts that are allowed; empty if there are others.
    pub one_of: &'static [&'static str],
    /// Whether an e-mail address is wanted; it is parsed by [`email`].
    pub is_email: bool,
    /// Whether every character shows, where an invisible one would make two texts look the same.
    is_visible: Option<fn(&str) -> bool>,
    /// Whether refusals keep quiet about the text.
    is_secret: bool,
}

/// Characters of a query in most scripts, at least.
const SOLID_QUERY: usize = 3;

/// The text without characters that control a terminal or the direction of writing; line breaks stay.
pub fn printable(text: &str) -> String {
    text.chars().filter(|c| *c == '\n' || !(c.is_control() || steers_direction(*c))).collect()
}

fn steers_direction(c: char) -> bool {
    matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

impl Rule {
    /// Any text.
    pub const fn any() -> Rule {
        Rule::text(usize::MAX)
    }

    /// A text of so many characters at most.
    pub const fn text(max: usize) -> Rule {
        Rule { min: 0, max, pattern: None, one_of: &[], is_email: false, is_visible: None, is_secret: false }
    }

    /// A text that is not only white space.
    pub const fn non_blank_text(max: usize) -> Rule {
        Rule { min: 1, pattern: Some(&SOLID), ..Rule::text(max) }
    }

    /// A text on one line: it goes into mails, beside other texts.
    pub const fn line(max: usize) -> Rule {
        Rule { pattern: Some(&LINE), ..Rule::text(max) }
    }

    /// A line that is not only white space, and names something.
    pub const fn name(max: usize) -> Rule {
        Rule { min: 1, pattern: Some(&SOLID_LINE), ..Rule::text(max) }.visible()
    }

    /// Without invisible characters, as names are.
    pub const fn visible(self) -> Rule {
        Rule { is_visible: Some(format_characters::has_no_hidden_characters), ..self }
    }

    pub const fn username(max: usize) -> Rule {
        Rule { min: 1, pattern: Some(&USERNAME), ..Rule::text(max) }
    }

    /// A line that is no number, with or without a sign.
    pub const fn not_a_number(max: usize) -> Rule {
        Rule { pattern: Some(&NO_NUMBER), ..Rule::name(max) }
    }

    /// Identifiers of one or two records, in lower case.
    pub const fn stream() -> Rule {
        Rule { pattern: Some(&STREAM), ..Rule::text(73) }
    }

    /// An emoji or its name. It is a segment of paths, of which `.` and `..` would lead elsewhere.
    pub const fn emoji_or_name(max: usize) -> Rule {
        Rule { min: 1, pattern: Some(&SYMBOL), is_visible: Some(format_characters::has_only_emoji_joiners), ..Rule::text(max) }
    }

    /// An http or https address with a host, and without a user name or a password; or no text.
    pub const fn web_address(max: usize) -> Rule {
        Rule { pattern: Some(&WEB_ADDRESS), ..Rule::text(max) }
    }

    /// A path on this server, with a query and a fragment; or no text.
    pub const fn own_path(max: usize) -> Rule {
        Rule { pattern: Some(&OWN_PATH), ..Rule::text(max) }
    }

    pub const fn email(max: usize) -> Rule {
        Rule { min: 1, is_email: true, ..Rule::text(max) }
    }

    pub const fn one_of(texts: &'static [&'static str]) -> Rule {
        Rule { one_of: texts, ..Rule::any() }
    }

    /// A password, a token or the like.
    pub const fn secret(max: usize) -> Rule {
        Rule { min: 1, is_secret: true, ..Rule::text(max) }
    }

    /// A secret that another program has, too; or no text.
    pub const fn shared_secret(max: usize) -> Rule {
        Rule { min: 0, pattern: Some(&SHARED_SECRET), ..Rule::secret(max) }
    }

    /// A code of six digits in a mail.
    pub const fn six_digit_code() -> Rule {
        Rule { min: 6, pattern: Some(&CODE), ..Rule::secret(6) }
    }

    /// A search query: at least three characters, or two ideographs, not counting white space around them.
    pub const fn query(max: usize) -> Rule {
        Rule { min: 2, pattern: Some(&QUERY), ..Rule::text(max) }
    }

    /// One to 100 identifiers, separated by commas.
    pub const fn identifier_list() -> Rule {
        Rule { min: 1, pattern: Some(&IDENTIFIERS), ..Rule::text(100 * 37 - 1) }
    }

    pub const fn not_blank(self) -> Rule {
        Rule { pattern: Some(&SOLID), ..self }
    }

    pub const fn at_least(self, min: usize) -> Rule {
        Rule { min, ..self }
    }

    /// Checks a text. Returns it without the white space around it, or what is wrong with it.
    pub fn check<'a>(&self, text: &'a str, field: &str) -> Result<&'a str, Refusal> {
        let length = text.chars().count();
        if !self.one_of.is_empty() && !self.one_of.contains(&text) {
            return Err(self.refusal(text, field, Code::InvalidValue, &format!("must be one of {}", self.one_of.join(", "))));
        }
        if length > self.max {
            let says = format!("{field} has {length} characters, at most {} are allowed", self.max);
            return Err(Code::TooLong.says(says).at(field).with_limit(self.max));
        }
        if length < self.min {
            let refusal = match self.min {
                1 => Code::Empty.says(format!("{field} must not be empty")),
                min => {
                    Code::TooShort.says(format!("{field} has {length} characters, at least {min} are required")).with_limit(min)
                }
            };
            return Err(refusal.at(field));
        }
        if let Some(pattern) = self.pattern.filter(|pattern| !pattern.regex.is_match(text)) {
            let refusal = self.refusal(text, field, pattern.code, pattern.says);
            return Err(if pattern.code == Code::TooShort { refusal.with_limit(SOLID_QUERY) } else { refusal });
        }
        if self.is_visible.is_some_and(|is_visible| !is_visible(text)) {
            return Err(self.refusal(text, field, Code::InvalidCharacters, "must not contain invisible characters"));
        }
        Ok(text.trim())
    }

    /// The refusal with the text that is refused, unless that is long or a secret.
    fn refusal(&self, text: &str, field: &str, code: Code, says: &str) -> Refusal {
        let is_short = text.chars().count() <= 64;
        let shown = if is_short && !self.is_secret { format!(", not {text:?}") } else { String::new() };
        code.says(format!("{field} {says}{shown}")).at(field)
    }
}

/// A type that stands for a [`Rule`], by which the API's types name it.
pub trait Ruled: Send + Sync + 'static {
    const RULE: Rule;
}

/// Declares rules, each as a type with a function `check`: `rules! { pub Name: Rule::name(80); }`
macro_rules! rules {
    ($($(#[$doc:meta])* pub $name:ident: $rule:expr;)+) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct $name;

        impl $crate::domain::text::Ruled for $name {
            const RULE: $crate::domain::text::Rule = $rule;
        }

        impl $name {
            /// Checks a text as [`Rule::check`](crate::domain::text::Rule::check) does.
            pub fn check<'a>(text: &'a str, field: &str) -> Result<&'a str, $crate::error::Refusal> {
                <$name as $crate::domain::text::Ruled>::RULE.check(text, field)
            }
        }
    )+};
}
pub(crate) use rules;

rules! {
    /// RFC 5321's limits allow 254 octets at most.
    pub Email: Rule::email(254);
    pub EmailIfAny: Rule::email(254).at_least(0);
    pub WebAddress: Rule::web_address(2000);
    /// An emoji. The sequences of flags and families are long, and so are names such as `:slightly_smiling_face:`.
    pub Emoji: Rule::emoji_or_name(64);
}

/// Parses a web address that is not empty, with its host.
pub fn web_address(text: &str, field: &str) -> Result<url::Url, Refusal> {
    let text = WebAddress::check(text, field)?;
    // The parser takes a time that grows with the square of a label's length.
    let host = text.split("://").nth(1).and_then(|rest| rest.split(['/', '?', '#']).next()).unwrap_or_default();
    if host.split('.').any(|label| label.chars().count() > LABEL) {
        let says = format!("{field} is not an address: a part of its host has more than {LABEL} characters");
        return Err(Code::InvalidUrl.says(says).at(field));
    }
    url::Url::parse(text).map_err(|err| Code::InvalidUrl.says(format!("{field} is not an address: {err}")).at(field))
}

/// Checks a text that is empty or a [`web_address`].
pub fn web_address_if_any<'a>(text: &'a str, field: &str) -> Result<&'a str, Refusal> {
    if text.is_empty() { Ok("") } else { web_address(text, field).map(|_| text) }
}

/// An e-mail address in the form that is stored and compared.
pub fn email(text: &str, field: &str) -> Result<String, Refusal> {
    checked_email(text, field, normalised_address)
}

/// The address of an account that may be there already, as [`existing_account_address`] has it.
pub fn existing_account_email(text: &str, field: &str) -> Result<String, Refusal> {
    checked_email(text, field, existing_account_address)
}

fn checked_email(text: &str, field: &str, parse: fn(&str) -> Option<String>) -> Result<String, Refusal> {
    let rule = Email::RULE;
    rule.check(text, field)?;
    parse(text).ok_or_else(|| rule.refusal(text, field, Code::InvalidEmail, emails::fault(text)))
}

/// Folds case for comparisons. It maps to upper case first, so that ß matches SS, and a final ς matches σ.
pub fn folded(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase(); // the same, and many times faster
    }
    text.to_uppercase().chars().flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::{Rule, email, folded, web_address};

    #[test]
    fn case_is_folded() {
        assert_eq!(folded("Straße ΟΔΟΣ"), folded("STRASSE οδος"));
        assert_eq!(folded("100%_"), "100%_");
    }

    #[test]
    fn a_host_is_parsed_only_if_its_parts_are_short() {
        let host = |length| format!("https://{}.example/{}", "é".repeat(length), "c".repeat(100));
        assert!(web_address(&host(59), "url").is_ok(), "with its prefix in ASCII, the part has 63 characters");
        assert!(web_address(&host(64), "url").unwrap_err().says.contains("more than 63 characters"));
    }

    #[test]
    fn a_refusal_shows_what_hides_in_an_address() {
        let refused = email("ada@exam\u{200b}ple.org", "email").unwrap_err();
        assert_eq!(
            refused.says,
            "email must be an e-mail address without invisible characters, not \"ada@exam\\u{200b}ple.org\""
        );
        let mixed = "that doesn't mix Latin letters with Cyrillic or Greek ones, which look alike";
        for address in ["\u{430}da@example.org", "ad\u{391}@example.org"] {
            assert_eq!(
                email(address, "email").unwrap_err().says,
                format!("email must be an e-mail address {mixed}, not {address:?}")
            );
        }
        for address in ["ada@xn--example.org", "\u{430}da"] {
            assert_eq!(email(address, "email").unwrap_err().says, format!("email must be an e-mail address, not {address:?}"));
        }
    }

    #[test]
    fn names_show_each_of_their_characters() {
        assert_eq!(Rule::name(80).check("Ada", "name"), Ok("Ada"));
        let refused = Rule::name(80).check("A\u{200b}da", "name").unwrap_err();
        assert_eq!(refused.says, "name must not contain invisible characters, not \"A\\u{200b}da\"");
        assert!(Rule::line(80).check("A\u{200b}da", "text").is_ok(), "no name");
    }

    #[test]
    fn a_symbol_is_a_visible_segment_of_a_path() {
        let scotland = "🏴\u{e0067}\u{e0062}\u{e0073}\u{e0063}\u{e0074}\u{e007f}";
        for good in [
            "👍",
            "+1",
            ":+1:",
            "thumbsup",
            ":a.b:",
            "...x",
            "❤\u{fe0f}\u{200d}🔥",
            "👩🏽\u{200d}🚀",
            "1\u{fe0f}\u{20e3}",
            scotland,
        ] {
            assert!(Rule::emoji_or_name(64).check(good, "emoji").is_ok(), "{good:?}");
        }
        let hidden = "👍\u{e0067}\u{e007f}";
        for bad in
            [".", "..", "...", "a/b", "/", "a b", "👍\u{200b}", "👍\u{200d}", "\u{feff}👍", "a\u{ad}b", "\u{202e}👍", hidden]
        {
            assert!(Rule::emoji_or_name(64).check(bad, "emoji").is_err(), "{bad:?}");
        }
    }
}
