//! What people may take for an address in a text: `https://`, or a dot between a letter and two more.
//!
//! Unicode has too many characters that look like a full stop to list them. So the list is of those that don't: each sign that is
//! neither a letter nor one of ordinary writing counts as a dot. The web client has the same rule (`text/addresses.js`), and
//! `tests/data/links.json` has examples of it.

use icu_normalizer::DecomposingNormalizerBorrowed;
use icu_properties::{
    CodePointMapData, CodePointSetData,
    props::{DefaultIgnorableCodePoint, GeneralCategory, GeneralCategoryGroup},
};

/// Signs of ordinary writing beside those of ASCII, in their compatibility forms. They stand between letters without spaces, and look
/// like no full stop.
const SIGNS: &str = "¡§©®°±¶×÷¿‐‒–—―‘’‚‛“”„‟†‡‰′‹›«»←↑→↓↔⇒−≤≥≈\
    ՚՛՜՝՞՟֊־׳״،؛؟।॥፡、〈〉《》「」『』【】〔〕〜・";

/// A search for what people may take for an address. It reads a text in pieces, and sees each character once.
#[derive(Default)]
pub struct SoughtAddress {
    pub is_found: bool,
    name: Name,
    scheme: Scheme,
    /// `name` and `scheme` before the space that the last character is: a mark on a space looks like a sign of its own.
    before_space: Option<(Name, Scheme)>,
    /// Whether the last characters are Arabic digits, and one of them is no zero.
    is_in_number: bool,
}

/// How much of `name.tld` the last characters are.
#[derive(Clone, Copy, Default, PartialEq)]
enum Name {
    #[default]
    None,
    Letter,
    /// The letter l, behind which Catalan writes a dot: `col·lecció`.
    L,
    Dots(Dots),
    /// The first letter, or digit outside of ASCII, behind the dots.
    First(Kind),
}

/// Dots behind a letter.
#[derive(Clone, Copy, PartialEq)]
enum Dots {
    /// The number of full stops at the end. Three are an ellipsis.
    Row(u8),
    Zeros,
    Catalan,
}

/// How much of `://a` the last characters are.
#[derive(Clone, Copy, Default, PartialEq)]
enum Scheme {
    #[default]
    None,
    Colon,
    ColonSlash,
    Slash,
    Slashes,
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Letter,
    /// A digit that is neither of ASCII nor Arabic.
    Digit,
}

impl SoughtAddress {
    pub fn read(&mut self, text: &str) {
        if text.is_ascii() {
            return text.chars().filter(|c| !is_unseen_ascii(*c)).for_each(|c| self.plain(c));
        }
        // The compatibility form of this apostrophe is a mark on a space, which may look like a full stop.
        let seen = text.chars().filter(|c| !is_unseen(*c)).map(|c| if c == '´' { '\'' } else { c });
        for c in DecomposingNormalizerBorrowed::new_nfkd().normalize_iter(seen) {
            if c.is_ascii() { self.plain(c) } else { self.other(c) }
        }
    }

    fn plain(&mut self, c: char) {
        match c {
            'a'..='z' | 'A'..='Z' => self.letter(Some(Kind::Letter), c),
            '0'..='9' => self.letter(None, c),
            '.' => self.full_stop(),
            '/' => self.slash(),
            ':' => self.sign(Scheme::Colon),
            ' ' => {
                let before = (self.name, self.scheme);
                self.sign(Scheme::None);
                self.before_space = Some(before);
            }
            _ => self.sign(Scheme::None),
        }
    }

    fn other(&mut self, c: char) {
        let category = CodePointMapData::<GeneralCategory>::new().get(c);
        match c {
            '\u{660}'..='\u{669}' | '\u{6f0}'..='\u{6f9}' => self.arabic_digit(c),
            // Of the tone letters of Lisu, most look like full stops.
            '\u{a4f8}'..='\u{a4fd}' => self.dot(),
            // A mark of music that looks like one.
            '\u{1d16d}' => {
                self.mark();
                self.dot();
            }
            '⁄' | '∕' | '⧸' | '╱' | '⟋' | '᜵' | '⁁' | '〳' | '㇓' | '𝈺' => self.slash(),
            '⫽' => {
                self.slash();
                self.slash();
            }
            '·' if self.name == Name::L => self.dots(Dots::Catalan),
            _ if GeneralCategoryGroup::Mark.contains(category) => self.mark(),
            _ if category == GeneralCategory::DecimalNumber => self.letter(Some(Kind::Digit), c),
            _ if is_letter_or_number(category) => self.letter(Some(Kind::Letter), c),
            _ if category == GeneralCategory::CurrencySymbol || SIGNS.contains(c) => self.sign(Scheme::None),
            _ => self.dot(),
        }
    }

    /// Reads a letter or number. Those of no kind end no address: they stand behind dots in versions and dates.
    fn letter(&mut self, kind: Option<Kind>, c: char) {
        let is_l = matches!(c, 'l' | 'L');
        let name = match (self.name, kind) {
            (Name::Dots(Dots::Catalan), _) if is_l => Name::L,
            (Name::Dots(_), Some(kind)) => Name::First(kind),
            _ if is_l => Name::L,
            _ => Name::Letter,
        };
        if let (Name::First(first), Some(second)) = (self.name, kind) {
            self.is_found |= first == Kind::Letter || second == Kind::Letter;
        }
        self.is_found |= self.scheme == Scheme::Slashes;
        self.sign(Scheme::None);
        self.name = name;
    }

    fn arabic_digit(&mut self, c: char) {
        self.is_found |= self.scheme == Scheme::Slashes;
        let is_zero = matches!(c, '\u{660}' | '\u{6f0}');
        if is_zero && !self.is_in_number {
            return self.dots(Dots::Zeros);
        }
        // Zeros before it were no dots.
        self.name = Name::None;
        self.letter(None, c);
        self.is_in_number = true;
    }

    fn full_stop(&mut self) {
        match self.name {
            Name::Dots(Dots::Row(2)) => self.sign(Scheme::None),
            Name::Dots(Dots::Row(before)) => self.dots(Dots::Row(before + 1)),
            _ => self.dots(Dots::Row(1)),
        }
    }

    fn dots(&mut self, dots: Dots) {
        let name = if self.name == Name::None { Name::None } else { Name::Dots(dots) };
        self.sign(Scheme::None);
        self.name = name;
    }

    /// Reads a sign that counts as a dot and is none of ASCII.
    fn dot(&mut self) {
        self.is_found |= self.scheme == Scheme::Slashes;
        self.dots(Dots::Row(0));
    }

    fn mark(&mut self) {
        if let Some(before) = self.before_space.take() {
            (self.name, self.scheme) = before;
            self.dot();
        }
    }

    fn slash(&mut self) {
        self.is_found |= self.scheme == Scheme::ColonSlash;
        self.sign(match self.scheme {
            Scheme::None => Scheme::Slash,
            Scheme::Colon => Scheme::ColonSlash,
            _ => Scheme::Slashes,
        });
    }

    /// Reads what stands between words.
    fn sign(&mut self, scheme: Scheme) {
        *self = SoughtAddress { is_found: self.is_found, scheme, ..SoughtAddress::default() };
    }
}

pub fn is_like_address(text: &str) -> bool {
    let mut sought = SoughtAddress::default();
    sought.read(text);
    sought.is_found
}

/// White space that people see as such. Narrower spaces are as good as nothing.
pub fn is_space(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n' | '\r' | '\u{a0}' | '\u{3000}')
}

fn is_letter_or_number(category: GeneralCategory) -> bool {
    [GeneralCategoryGroup::Letter, GeneralCategoryGroup::Number].iter().any(|group| group.contains(category))
}

/// Signs that Markdown takes away, and those that nobody sees.
fn is_unseen(c: char) -> bool {
    if c.is_ascii() {
        return is_unseen_ascii(c);
    }
    c == '\u{fffc}'
        || c.is_whitespace() && !is_space(c)
        || matches!(CodePointMapData::<GeneralCategory>::new().get(c), GeneralCategory::Format | GeneralCategory::Control)
        || CodePointSetData::new::<DefaultIgnorableCodePoint>().contains(c)
}

fn is_unseen_ascii(c: char) -> bool {
    matches!(c, '*' | '_' | '~' | '`' | '\\') || c.is_ascii_control() && !is_space(c)
}
