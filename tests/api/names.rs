//! Gives what differs from run to run the same values in each: identifiers, times, secrets and addresses.

use serde_json::{Value, json};
use uuid::Uuid;

const TIME: &str = "2027-01-05T17:06:40.123456Z";
const SECONDS: &str = "1799168800";
/// Six digits of a mail.
const CODE: &str = "170640";
const ORIGIN: &str = "https://chat.example.org";
const TOKEN: &str = "eyJhbGciOiJIUzI1NiJ9.e30.c2lnbmF0dXJl";
const SECRET: &str = "c2VjcmV0LW9mLXRoaXMtZXhhbXBsZQ";

#[derive(Clone, Default)]
pub struct Names(Vec<String>);

impl Names {
    /// Numbers these identifiers first, in this order.
    pub fn beginning_with(ids: impl IntoIterator<Item = String>) -> Names {
        let mut names = Names::default();
        ids.into_iter().for_each(|id| _ = names.numbered(&id));
        names
    }

    pub fn replace(&mut self, value: Value) -> Value {
        match value {
            Value::String(text) => json!(self.text(&text)),
            Value::Array(values) => values.into_iter().map(|value| self.replace(value)).collect(),
            Value::Object(fields) => {
                let replaced = fields.into_iter().map(|(name, value)| match &*name {
                    "latency_ms" => (name, json!(12)),
                    // It changes with each file of the web client.
                    "client_build" => (name, json!("q7Rk2xWv0cTd")),
                    _ => (name, self.replace(value)),
                });
                replaced.collect()
            }
            other => other,
        }
    }

    pub fn text(&mut self, text: &str) -> String {
        let is_digits = text.bytes().all(|byte| byte.is_ascii_digit());
        match text {
            _ if text.len() == 27 && text.ends_with('Z') && text.starts_with('2') => TIME.into(),
            _ if text.len() == 10 && is_digits => SECONDS.into(),
            _ if text.len() == 6 && is_digits => CODE.into(),
            _ if text.starts_with("eyJ") && text.matches('.').count() == 2 => TOKEN.into(),
            _ if text.starts_with("whsec_") => format!("whsec_{SECRET}AA="),
            _ => self.parts(&without_port(text)),
        }
    }

    /// Replaces identifiers and secrets that stand in a text, such as those of an address.
    fn parts(&mut self, text: &str) -> String {
        let is_of_part = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
        let mut replaced = String::new();
        let mut rest = text;
        while !rest.is_empty() {
            let length = rest.find(|c| !is_of_part(c)).unwrap_or(rest.len());
            let (part, after) = rest.split_at(length);
            let between = after.find(is_of_part).unwrap_or(after.len());
            replaced += &self.part(part);
            replaced += &after[..between];
            rest = &after[between..];
        }
        replaced
    }

    fn part(&mut self, part: &str) -> String {
        let has = |of_kind: fn(&char) -> bool| part.chars().any(|c| of_kind(&c));
        let is_random = part.len() >= 22 && has(char::is_ascii_uppercase) && has(char::is_ascii_lowercase);
        match part {
            _ if part.len() == 36 && Uuid::parse_str(part).is_ok() => self.numbered(part),
            _ if is_random => SECRET.into(),
            _ => part.into(),
        }
    }

    fn numbered(&mut self, id: &str) -> String {
        let known = self.0.iter().position(|name| name == id);
        let number = known.unwrap_or_else(|| {
            self.0.push(id.to_owned());
            self.0.len() - 1
        });
        format!("01a2e6d1-0000-7000-8000-{:012}", number + 1)
    }
}

/// The text with a public address in place of a server's own.
fn without_port(text: &str) -> String {
    let Some((before, after)) = text.split_once("http://127.0.0.1:") else { return text.to_owned() };
    format!("{before}{ORIGIN}{}", after.trim_start_matches(|c: char| c.is_ascii_digit()))
}

#[test]
fn what_differs_from_run_to_run_is_replaced() {
    let mut names = Names::default();
    let id = Uuid::now_v7().to_string();
    let replaced =
        names.replace(json!({ "id": id, "url": format!("http://127.0.0.1:8080/a/{id}?token=aB3-aB3_aB3aB3aB3aB3aB3"), "n": 1 }));
    let number = "01a2e6d1-0000-7000-8000-000000000001";
    assert_eq!(replaced, json!({ "id": number, "url": format!("{ORIGIN}/a/{number}?token={SECRET}"), "n": 1 }));
    assert_eq!(names.text("2026-01-05T17:06:40.000001Z"), TIME);
    assert_eq!(names.text("0001-01-01T00:00:00Z"), "0001-01-01T00:00:00Z");
    assert_eq!(names.text("a sentence, with words-and-hyphens"), "a sentence, with words-and-hyphens");
}
