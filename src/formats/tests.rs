//! The bodies in `tests/data/hooks`, and what each becomes.

use std::{collections::BTreeMap, fs, path::PathBuf, sync::LazyLock};

use regex::Regex;
use serde_json::{Value, json};

use super::{Dialect, Post, SendingProgram, Status, with_visible_links};

/// A body with its headers, and what is to become of it.
struct Case {
    program: String,
    value: Value,
}

/// The cases of each file, which has the name of its program.
fn cases() -> Vec<Case> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/hooks");
    let mut files: Vec<_> = fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()).collect();
    files.sort();
    let read = |file: PathBuf| {
        let program = file.file_stem().unwrap().to_str().unwrap().to_owned();
        let cases: Vec<Value> = serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap();
        cases.into_iter().map(move |value| Case { program: program.clone(), value })
    };
    files.into_iter().flat_map(read).collect()
}

impl Case {
    fn dialect(&self) -> Dialect {
        if self.program == "mattermost" { Dialect::Markdown } else { Dialect::Mrkdwn }
    }

    fn sender(&self, body: &Value) -> Option<SendingProgram> {
        SendingProgram::recognise(|name| self.value["headers"].get(name)?.as_str(), body, self.dialect())
    }
}

#[test]
fn bodies_of_other_programs_become_posts() {
    for case in cases() {
        let Value::Object(expected) = &case.value else { panic!("{}: an object", case.program) };
        let body = &expected["body"];
        let sender = case.sender(body).unwrap_or_else(|| panic!("{body} is recognised"));
        assert_eq!(sender.title_in_history(), expected["read_as"], "{body}");
        let post = sender.post(body);
        let said = post.as_ref().map(|post| with_visible_links(&post.text));
        assert_eq!(said.as_deref(), expected["text"].as_str(), "{body}");
        let Some(Post { author, picture, status, .. }) = post else { continue };
        let is_bad = expected["status"] == "error";
        assert_eq!((json!(author), status == Status::Error), (expected["author"].clone(), is_bad), "{body}");
        assert_eq!(json!(picture), expected.get("picture").cloned().unwrap_or(json!("")), "{body}");
    }
}

#[test]
fn a_body_with_a_message_is_this_servers_own() {
    for body in [
        json!({ "message": "done" }),
        json!({ "message": "done", "text": "done", "content": "done", "username": "ci" }),
        json!({ "message": 5, "blocks": [] }),
        json!({}),
        json!([]),
        json!("text"),
        json!({ "title": "done" }),
    ] {
        assert_eq!(SendingProgram::recognise(|_| None, &body, Dialect::Mrkdwn), None, "{body}");
    }
}

/// Random choices, the same for the same seed.
struct Chance(u64);

impl Chance {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % limit.max(1)
    }

    /// Changes one value somewhere in a body.
    fn mutate(&mut self, value: &mut Value, depth: usize) {
        let inner = match value {
            Value::Object(fields) if !fields.is_empty() && self.below(8) > 0 => {
                let at = self.below(fields.len());
                fields.values_mut().nth(at)
            }
            Value::Array(items) if !items.is_empty() && self.below(4) > 0 => {
                let at = self.below(items.len());
                items.get_mut(at)
            }
            _ => None,
        };
        match inner {
            Some(inner) if depth > 0 => self.mutate(inner, depth - 1),
            _ => *value = self.other(value),
        }
    }

    /// What stands in a value's place.
    fn other(&mut self, value: &Value) -> Value {
        const TEXTS: [&str; 14] = [
            "",
            "\u{0}",
            "<",
            "<!channel>",
            "<@U1|@x>",
            "<https://a.example|b.example>",
            "](",
            "[x](https://b.example)",
            "```",
            "\\",
            ">\n> ",
            "\u{202e}abc",
            "\u{1f469}\u{200d}\u{1f680}",
            "*~_`",
        ];
        match self.below(9) {
            0 => Value::Null,
            1 => json!(-1),
            2 => json!(u64::MAX),
            3 => json!([value, value]),
            4 => json!({ "text": value, "type": "section", "title": value, "name": value }),
            5 => json!(
                TEXTS[self.below(TEXTS.len())].repeat([1, 2, 3, 40, 3000][self.below(4) + usize::from(self.below(100) == 0)])
            ),
            6 => json!(true),
            7 => Value::Array(vec![value.clone(); self.below(20)]),
            _ => json!(format!("{}{}", TEXTS[self.below(TEXTS.len())], value.as_str().unwrap_or("@"))),
        }
    }
}

/// The texts of a value, and the names of its fields.
fn texts(value: &Value, found: &mut String) {
    match value {
        Value::String(text) => found.extend([text, "\n"]),
        Value::Array(items) => items.iter().for_each(|item| texts(item, found)),
        Value::Object(fields) => fields.iter().for_each(|(name, value)| {
            found.extend([name, "\n"]);
            texts(value, found);
        }),
        _ => {}
    }
}

/// The names behind `@` in a text.
fn mentioned(text: &str) -> impl Iterator<Item = &str> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-');
    text.split('@')
        .skip(1)
        .map(move |rest| &rest[..rest.find(|c| !is_name(c)).unwrap_or(rest.len())])
        .filter(|name| !name.is_empty())
}

/// The links of a text: what each is called, and where it leads.
fn named_links(text: &str) -> impl Iterator<Item = [&str; 2]> {
    static LINK: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"\[([^\[\]]*)\]\(([^()\s]*)\)").unwrap());
    LINK.captures_iter(text).map(|link| link.extract().1)
}

/// What looks like a host in the label of a link: the host of an address.
fn hosts(label: &str) -> impl Iterator<Item = &str> {
    static HOST: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"https?://([A-Za-z0-9.-]+)").unwrap());
    HOST.captures_iter(label).map(|host| host.extract::<1>().1[0])
}

/// 10,000 changed bodies of each program. None is a fault, none mentions a name that its texts don't have behind an `@`, and no link
/// leads to another host than its label has.
#[test]
fn hostile_bodies_are_no_faults_mention_nobody_by_themselves_and_hide_no_address() {
    let cases = cases();
    let mut by_program: BTreeMap<&str, Vec<&Case>> = BTreeMap::new();
    cases.iter().for_each(|case| by_program.entry(&case.program).or_default().push(case));
    for (program, cases) in by_program {
        let mut chance = Chance(24);
        for n in 0..10_000 {
            let case = cases[chance.below(cases.len())];
            let mut body = case.value["body"].clone();
            (0..=chance.below(4)).for_each(|_| chance.mutate(&mut body, 6));
            let Some(post) = case.sender(&body).and_then(|sender| sender.post(&body)) else { continue };
            let mut said = String::new();
            texts(&body, &mut said);
            let text = with_visible_links(&post.text);
            for [label, address] in named_links(&text) {
                let hidden = hosts(label).find(|host| !address.contains(*host));
                assert_eq!(hidden, None, "{program} {n}: [{label}]({address}) of {body}");
            }
            for name in mentioned(&text) {
                let is_said = said.contains(&format!("@{name}"))
                    || ["channel", "here", "everyone"].iter().any(|everybody| name.starts_with(everybody));
                assert!(is_said, "{program} {n}: @{name} in {:?} of {body}", post.text);
            }
        }
    }
}
