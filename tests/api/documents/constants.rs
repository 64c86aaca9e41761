//! Reads constants from the text of the sources, many of which are private to their file. A constant is named by the end of
//! its path, as in `pins::MOST`, so that a name goes on holding when a folder moves.

use std::{collections::BTreeMap, fs, path::Path};

use super::{files, root};

pub struct Constants(BTreeMap<String, (String, String)>);

impl Constants {
    /// The type and the expression of every constant of the sources.
    pub fn read() -> Constants {
        let src = root().join("src");
        let mut found = BTreeMap::new();
        for file in files(&src).into_iter().filter(|file| file.extension().is_some_and(|end| end == "rs")) {
            let module = module(file.strip_prefix(&src).unwrap());
            let text = fs::read_to_string(&file).unwrap();
            let code = text.split("#[cfg(test)]").next().unwrap();
            for line in code.lines() {
                if let Some((name, kind, value)) = constant(line).or_else(|| rule(line)) {
                    found.insert(format!("crate::{module}::{name}"), (kind.to_owned(), value.to_owned()));
                }
            }
        }
        Constants(found)
    }

    /// The value for a reader: the characters of a rule, a duration in its largest whole unit, a size in KiB or MiB after `bytes`, a number with
    /// separators otherwise.
    #[track_caller]
    pub fn show(&self, name: &str) -> String {
        let (name, is_size) = name.strip_suffix(" bytes").map_or((name, false), |name| (name, true));
        let (kind, expression) = self.find(name);
        if kind == "Rule" {
            return characters(expression);
        }
        if kind == "Duration" {
            return duration(millis(expression));
        }
        let number = product(expression);
        if is_size { size(number) } else { separated(number) }
    }

    #[track_caller]
    fn find(&self, name: &str) -> (&str, &str) {
        let suffix = format!("::{name}");
        let matches: Vec<_> = self.0.iter().filter(|(path, _)| path.ends_with(&suffix)).collect();
        let [(_, (kind, expression))] = matches[..] else {
            let paths: Vec<_> = matches.iter().map(|(path, _)| path).collect();
            panic!("the documents name the constant {name}; the sources have {paths:?}")
        };
        (kind, expression)
    }
}

#[track_caller]
fn millis(expression: &str) -> u64 {
    let inside = expression.rsplit_once('(').and_then(|(call, rest)| Some((call, rest.strip_suffix(')')?)));
    match inside {
        Some((call, value)) if call.ends_with("from_secs") => product(value) * 1000,
        Some((call, value)) if call.ends_with("from_millis") => product(value),
        _ => panic!("can't read the duration {expression}"),
    }
}

/// A product or shift of whole numbers.
#[track_caller]
fn product(expression: &str) -> u64 {
    let number = |text: &str| {
        let text = text.trim().replace('_', "");
        text.parse::<u64>().unwrap_or_else(|_| panic!("can't read {expression}"))
    };
    match expression.split_once("<<") {
        Some((value, bits)) => number(value) << number(bits),
        None => expression.split('*').map(number).product(),
    }
}

/// `domain/webhooks/delivery/replay.rs` is `domain::webhooks::delivery::replay`, and `api/mod.rs` is `api`.
fn module(path: &Path) -> String {
    let path = path.with_extension("");
    let parts: Vec<_> = path.iter().map(|part| part.to_str().unwrap()).filter(|part| *part != "mod").collect();
    parts.join("::")
}

/// Name, type and expression of a line such as `pub const MOST: u32 = 300;`.
fn constant(line: &str) -> Option<(&str, &str, &str)> {
    let (before, rest) = line.split_once("const ")?;
    let is_declaration = before.trim().is_empty() || before.trim().starts_with("pub");
    let (name, rest) = rest.split_once(": ")?;
    let (kind, rest) = rest.split_once(" = ")?;
    let (value, _) = rest.split_once(';')?;
    let is_name = name.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_');
    (is_declaration && is_name).then(|| (name, kind.rsplit("::").next().unwrap(), value))
}

/// Name and expression of a rule of a text, such as `    pub Password: Rule::secret(128).at_least(8);`.
fn rule(line: &str) -> Option<(&str, &str, &str)> {
    let (name, expression) = line.trim().strip_prefix("pub ")?.split_once(": Rule::")?;
    Some((name, "Rule", expression.strip_suffix(';')?))
}

/// How many characters a rule allows.
#[track_caller]
fn characters(rule: &str) -> String {
    let argument =
        |text: &str| text.split_once('(').and_then(|(_, rest)| rest.split(')').next()).map(|inside| separated(product(inside)));
    let most = argument(rule).unwrap_or_else(|| panic!("can't read {rule}"));
    match rule.split_once(".at_least") {
        Some((_, least)) => format!("{} to {most}", argument(least).unwrap()),
        None => most,
    }
}

fn duration(millis: u64) -> String {
    const UNITS: [(u64, &str); 4] = [(86_400_000, "day"), (3_600_000, "hour"), (60_000, "minute"), (1000, "second")];
    let unit = UNITS.iter().find(|(length, _)| millis >= *length && millis.is_multiple_of(*length));
    match unit {
        Some((length, name)) if millis / length == 1 => format!("1 {name}"),
        Some((length, name)) => format!("{} {name}s", millis / length),
        None => format!("{millis} ms"),
    }
}

fn size(bytes: u64) -> String {
    match bytes {
        _ if bytes.is_multiple_of(1 << 20) => format!("{} MiB", bytes >> 20),
        _ if bytes.is_multiple_of(1 << 10) => format!("{} KiB", bytes >> 10),
        _ => format!("{} bytes", separated(bytes)),
    }
}

pub fn separated(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[test]
fn values_are_shown_with_their_units() {
    assert_eq!(
        constant("pub const WITHIN: std::time::Duration = Duration::from_secs(9); // why"),
        Some(("WITHIN", "Duration", "Duration::from_secs(9)"))
    );
    assert_eq!(constant("    let const_x: u32 = 1;"), None);
    let (_, _, password) = rule("    pub Password: Rule::secret(128).at_least(8);").unwrap();
    assert_eq!([characters(password), characters("text(2000)")], ["8 to 128", "2,000"]);
    assert_eq!([duration(1_500), duration(60_000), duration(7_200_000)], ["1500 ms", "1 minute", "2 hours"]);
    assert_eq!([size(64 << 10), size(1 << 20), size(20_000)], ["64 KiB", "1 MiB", "20,000 bytes"]);
    assert_eq!([separated(7), separated(1000), separated(1_000_000)], ["7", "1,000", "1,000,000"]);
    assert_eq!(module(Path::new("push/server_api/mod.rs")), "push::server_api");
}
