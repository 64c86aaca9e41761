//! Gives what differs from run to run the same values in each: identifiers, times, secrets and addresses. An identifier's value comes
//! from its role, so that what a run makes besides does not change it.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use uuid::Uuid;

const TIME: &str = "2027-01-05T17:06:40.123456Z";
const SECONDS: &str = "1799168800";
/// Six digits of a mail.
const CODE: &str = "170640";
const ORIGIN: &str = "https://chat.example.org";
const TOKEN: &str = "eyJhbGciOiJIUzI1NiJ9.e30.c2lnbmF0dXJl";
const SECRET: &str = "c2VjcmV0LW9mLXRoaXMtZXhhbXBsZQ";

/// Identifiers by their roles.
#[derive(Clone, Default)]
pub struct Names(BTreeMap<String, String>);

impl Names {
    /// Knows these identifiers by their roles. Of several roles of one, the first counts.
    pub fn of<'a>(known: impl IntoIterator<Item = (&'a str, &'a str)>) -> Names {
        let mut names = Names::default();
        known.into_iter().filter(|(_, id)| Uuid::parse_str(id).is_ok()).for_each(|(role, id)| _ = names.identifier(id, role));
        names
    }

    /// An unknown identifier gets the role of its place: `role`, and the names of the fields around it.
    pub fn replace(&mut self, value: Value, role: &str) -> Value {
        match value {
            Value::String(text) => json!(self.text(&text, role)),
            Value::Array(values) => values.into_iter().map(|value| self.replace(value, role)).collect(),
            Value::Object(fields) => {
                let replaced = fields.into_iter().map(|(name, value)| match &*name {
                    "latency_ms" => (name, json!(12)),
                    // It changes with each file of the web client.
                    "client_build" => (name, json!("q7Rk2xWv0cTd")),
                    _ => {
                        let value = self.replace(value, &format!("{role} {name}"));
                        (name, value)
                    }
                });
                replaced.collect()
            }
            other => other,
        }
    }

    pub fn text(&mut self, text: &str, role: &str) -> String {
        let is_digits = text.bytes().all(|byte| byte.is_ascii_digit());
        match text {
            _ if text.len() == 27 && text.ends_with('Z') && text.starts_with('2') => TIME.into(),
            _ if text.len() == 10 && is_digits => SECONDS.into(),
            _ if text.len() == 6 && is_digits => CODE.into(),
            _ if text.starts_with("eyJ") && text.matches('.').count() == 2 => TOKEN.into(),
            _ if text.starts_with("whsec_") => format!("whsec_{SECRET}AA="),
            _ => self.parts(&without_port(text), role),
        }
    }

    /// Replaces identifiers and secrets that stand in a text, such as those of an address.
    fn parts(&mut self, text: &str, role: &str) -> String {
        let is_of_part = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
        let mut replaced = String::new();
        let mut rest = text;
        while !rest.is_empty() {
            let length = rest.find(|c| !is_of_part(c)).unwrap_or(rest.len());
            let (part, after) = rest.split_at(length);
            let between = after.find(is_of_part).unwrap_or(after.len());
            replaced += &self.part(part, role);
            replaced += &after[..between];
            rest = &after[between..];
        }
        replaced
    }

    fn part(&mut self, part: &str, role: &str) -> String {
        let has = |of_kind: fn(&char) -> bool| part.chars().any(|c| of_kind(&c));
        let is_random = part.len() >= 22 && has(char::is_ascii_uppercase) && has(char::is_ascii_lowercase);
        match part {
            _ if part.len() == 36 && Uuid::parse_str(part).is_ok() => self.identifier(part, role),
            _ if is_random => SECRET.into(),
            _ => part.into(),
        }
    }

    fn identifier(&mut self, id: &str, role: &str) -> String {
        if let Some(known) = self.0.get(id) {
            return known.clone();
        }
        let same = (1..).map(|n| identifier_of(&format!("{role} {n}")));
        let name = same.into_iter().find(|name| self.0.values().all(|other| other != name)).expect("numbers don't end");
        self.0.insert(id.to_owned(), name.clone());
        name
    }
}

/// An identifier whose end is the hash of a role (FNV-1a, of which 48 bits are taken).
fn identifier_of(role: &str) -> String {
    let hash = role.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    format!("01a2e6d1-0000-7000-8000-{:012x}", hash >> 16)
}

/// The text with a public address in place of a server's own.
fn without_port(text: &str) -> String {
    let Some((before, after)) = text.split_once("http://127.0.0.1:") else { return text.to_owned() };
    format!("{before}{ORIGIN}{}", after.trim_start_matches(|c: char| c.is_ascii_digit()))
}

#[test]
fn what_differs_from_run_to_run_is_replaced() {
    let id = Uuid::now_v7().to_string();
    let mut names = Names::of([("channel", &*id)]);
    let address = format!("http://127.0.0.1:8080/a/{id}?token=aB3-aB3_aB3aB3aB3aB3aB3");
    let replaced = names.replace(json!({ "id": id, "url": address, "n": 1 }), "");
    let channel = identifier_of("channel 1");
    assert_eq!(replaced, json!({ "id": channel, "url": format!("{ORIGIN}/a/{channel}?token={SECRET}"), "n": 1 }));
    assert_eq!(names.text("2026-01-05T17:06:40.000001Z", ""), TIME);
    assert_eq!(names.text("0001-01-01T00:00:00Z", ""), "0001-01-01T00:00:00Z");
    assert_eq!(names.text("a sentence, with words-and-hyphens", ""), "a sentence, with words-and-hyphens");
}

#[test]
fn an_identifier_is_named_by_its_role_and_not_by_what_comes_before_it() {
    let named = |value: &dyn Fn(&str, &str) -> Value| {
        let (one, other) = (Uuid::now_v7().to_string(), Uuid::now_v7().to_string());
        Names::default().replace(value(&one, &other), "answer")
    };
    let alone = named(&|one, _| json!({ "channel": { "id": one } }));
    let beside = named(&|one, other| json!({ "author": { "id": other }, "channel": { "id": one } }));
    assert_eq!(alone["channel"], beside["channel"]);
    assert_ne!(beside["author"]["id"], beside["channel"]["id"]);
    let rows = named(&|one, other| json!([{ "id": one }, { "id": other }]));
    assert_ne!(rows[0], rows[1]);
}
