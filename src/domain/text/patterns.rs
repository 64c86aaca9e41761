//! The patterns of texts. The API's schema shows their sources.

use std::sync::LazyLock;

use regex::Regex;

use crate::error::Code;

/// A regular expression of the dialect that JSON Schema (ECMA-262) and Rust have in common.
pub struct Pattern {
    pub source: &'static str,
    pub(super) regex: LazyLock<Regex>,
    /// The reason why a text does not match.
    pub(super) code: Code,
    /// The end of a sentence that begins with the field's name.
    pub(super) says: &'static str,
}

macro_rules! pattern {
    ($name:ident, $code:ident, $says:literal, $($source:expr),+) => {
        pub static $name: Pattern = Pattern {
            source: concat!($($source),+),
            regex: LazyLock::new(|| Regex::new(concat!($($source),+)).expect("it is a regular expression")),
            code: Code::$code,
            says: $says,
        };
    };
}

/// Control characters, and those that change the direction of the text around them (Unicode annex 9, section 2).
macro_rules! control {
    () => {
        r"\u0000-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069"
    };
}

/// Characters of scripts in which a word may have one or two: ideographs, kana, bopomofo and Hangul.
macro_rules! ideographs {
    () => {
        r"\u3005-\u3007\u3041-\u312f\u31f0-\u31ff\u3400-\u9fff\uac00-\ud7a3\uf900-\ufaff\uff66-\uff9f"
    };
}

pattern!(SOLID, Empty, "must not be empty", r"\S");
pattern!(
    SHARED_SECRET,
    InvalidValue,
    "must have at least 16 characters, each a letter, a digit or a sign of ASCII",
    "^(?:[!-~]{16,})?$"
);
pattern!(LINE, InvalidCharacters, "must not contain line breaks and other control characters", "^[^", control!(), "]*$");
pattern!(
    SOLID_LINE,
    InvalidCharacters,
    "must have one line with text, without control characters",
    "^[^",
    control!(),
    r"]*[^\s",
    control!(),
    "][^",
    control!(),
    "]*$"
);
pattern!(
    NO_NUMBER,
    InvalidCharacters,
    "must have one line with a letter or symbol other than + and -, without control characters",
    "^[^",
    control!(),
    r"]*[^\s0-9+\-",
    control!(),
    "][^",
    control!(),
    "]*$"
);
pattern!(
    STREAM,
    InvalidValue,
    "must be <channel_id>, <thread_id>, <org_id>, <org_id>/<user_id> or <user_id>",
    "^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12})?$"
);
pattern!(
    IDENTIFIERS,
    InvalidValue,
    "must be up to 100 identifiers, separated by commas",
    "^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}(,[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}){0,99}$"
);
pattern!(USERNAME, InvalidCharacters, "must consist of letters, digits, '_', '.' and '-'", "^[A-Za-z0-9_.-]*$");
pattern!(CODE, InvalidValue, "must be six digits", "^[0-9]{6}$");
pattern!(
    SYMBOL,
    InvalidCharacters,
    "must have a character other than dots, and no slashes, white space and control characters",
    r"^[^\s/",
    control!(),
    r"]*[^\s/.",
    control!(),
    r"][^\s/",
    control!(),
    "]*$"
);
pattern!(
    WEB_ADDRESS,
    InvalidUrl,
    "must be an http or https address without a user name and a password",
    r"^([Hh][Tt][Tt][Pp][Ss]?://[^\s/?#@\\",
    control!(),
    r"]+([/?#][^\s",
    control!(),
    "]*)?)?$"
);
pattern!(
    OWN_PATH,
    InvalidUrl,
    "must be a path on this server, such as /channels",
    r"^(/([^\s/\\",
    control!(),
    r"][^\s\\",
    control!(),
    "]*)?)?$"
);
pattern!(
    QUERY,
    TooShort,
    "must have at least three characters, or two in Chinese, Japanese or Korean, not counting white space around them",
    r"[^\s\u0000-\u001f\u007f-\u009f][\s\S]+[^\s\u0000-\u001f\u007f-\u009f]|[",
    ideographs!(),
    "]{2}"
);

/// Whether the character is of a script in which a word may have one or two: those of `ideographs!`.
pub fn is_ideograph(c: char) -> bool {
    matches!(
        c,
        '\u{3005}'..='\u{3007}'
            | '\u{3041}'..='\u{312f}'
            | '\u{31f0}'..='\u{31ff}'
            | '\u{3400}'..='\u{9fff}'
            | '\u{ac00}'..='\u{d7a3}'
            | '\u{f900}'..='\u{faff}'
            | '\u{ff66}'..='\u{ff9f}'
    )
}
