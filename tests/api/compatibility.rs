//! What a change of the OpenAPI document breaks for programs that were written for the last release.
//!
//! `released.json` is the document of that release without its prose. See docs/contributing.md, "Make a release".

mod rules;

use std::{collections::BTreeSet, fs};

use serde_json::Value;

use crate::{
    documents::root,
    harness::Server,
    operations::{by_line, document, without},
};

#[tokio::test]
#[allow(clippy::disallowed_methods, reason = "the variable is a setting of the tests, not of the server")]
async fn a_change_that_breaks_clients_stands_in_the_changelog() {
    let server = Server::start().await;
    let now = without(document(&server).await, &PROSE);
    let file = root().join("tests/api/released.json");
    if std::env::var_os("UPDATE_RELEASED").is_some() {
        fs::write(&file, by_line(&now)).unwrap();
    }
    let released: Value = serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap();
    let said = changed(include_str!("../../CHANGELOG.md"));
    let unsaid: Vec<_> =
        breaks(&released, &now).into_iter().filter(|at| !said.contains(&format!("`{}`", at.operation))).collect();
    let list = unsaid.iter().map(|at| format!("{}: {}", at.operation, at.what)).collect::<Vec<_>>().join("\n");
    assert!(list.is_empty(), "name each operation that changed for clients under \"Changed\" in CHANGELOG.md:\n{list}");
}

/// The parts "Changed" and "Removed" of the changelog's newest section, in one line.
fn changed(changelog: &str) -> String {
    let newest = changelog.split("\n## ").nth(1).expect("a section");
    let parts = newest.split("\n### ").filter(|part| part.starts_with("Changed") || part.starts_with("Removed"));
    parts.collect::<String>().replace('\n', " ")
}

/// Parts of the document that generated code does not depend on.
const PROSE: [&str; 8] = ["description", "summary", "example", "examples", "externalDocs", "info", "tags", "servers"];

/// A change that breaks clients.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Break {
    /// `GET /channels/{channel_id}`
    operation: String,
    what: String,
}

/// Who sends what is described.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Sender {
    Client,
    Server,
}

/// Compares two documents.
fn breaks(old: &Value, new: &Value) -> BTreeSet<Break> {
    let mut found = BTreeSet::new();
    for (path, item) in fields(&old["paths"]) {
        let template = template(path);
        let now = fields(&new["paths"]).find(|(path, _)| self::template(path) == template).map(|(_, item)| item);
        for (method, before) in fields(item) {
            let operation = format!("{} {path}", method.to_uppercase());
            let mut comparison = Comparison { old, new, seen: BTreeSet::new(), said: Vec::new() };
            match now.and_then(|item| item.get(method)) {
                None => comparison.said.push("is gone".into()),
                Some(after) => comparison.operation(before, after),
            }
            found.extend(comparison.said.into_iter().map(|what| Break { operation: operation.clone(), what }));
        }
    }
    found
}

/// A path without the names of its parameters, which no client sends.
fn template(path: &str) -> String {
    path.split('/').map(|segment| if segment.starts_with('{') { "{}" } else { segment }).collect::<Vec<_>>().join("/")
}

struct Comparison<'a> {
    old: &'a Value,
    new: &'a Value,
    /// Pairs of named schemas that have been compared: schemas may contain themselves.
    seen: BTreeSet<(Sender, String, String)>,
    said: Vec<String>,
}

impl Comparison<'_> {
    fn says(&mut self, at: &str, what: impl std::fmt::Display) {
        self.said.push(format!("{at} {what}"));
    }

    fn operation(&mut self, old: &Value, new: &Value) {
        if !old["operationId"].is_null() && old["operationId"] != new["operationId"] {
            self.says("operationId", format!("was {}", old["operationId"]));
        }
        let is_open = |operation: &Value| operation["security"].as_array().is_none_or(Vec::is_empty);
        if is_open(old) && !is_open(new) {
            self.says("a token", "is required now");
        }
        self.parameters(items(&old["parameters"]), items(&new["parameters"]));
        if old["requestBody"]["required"] != true && new["requestBody"]["required"] == true {
            self.says("a body", "is required now");
        }
        self.content(&old["requestBody"], &new["requestBody"], Sender::Client, "the body");
        for (status, before) in fields(&old["responses"]).filter(|(status, _)| status.starts_with('2')) {
            match new["responses"].get(status) {
                None => self.says(&format!("the answer {status}"), "is gone"),
                Some(after) => self.content(before, after, Sender::Server, "the answer"),
            }
        }
    }

    fn parameters(&mut self, old: &[Value], new: &[Value]) {
        // Those of a path have no names for clients.
        let of_path = |all: &[Value]| all.iter().filter(|one| one["in"] == "path").cloned().collect::<Vec<_>>();
        for (before, after) in of_path(old).iter().zip(&of_path(new)) {
            self.schema(&before["schema"], &after["schema"], Sender::Client, &label(after));
        }
        let named = |all: &[Value], one: &Value| {
            all.iter().find(|other| ["in", "name"].iter().all(|key| other[key] == one[key])).cloned()
        };
        for before in old.iter().filter(|one| one["in"] != "path") {
            match named(new, before) {
                None => self.says(&label(before), "is gone"),
                Some(after) => self.schema(&before["schema"], &after["schema"], Sender::Client, &label(before)),
            }
        }
        for after in new.iter().filter(|one| one["in"] != "path" && one["required"] == true) {
            if named(old, after).is_none_or(|before| before["required"] != true) {
                self.says(&label(after), "is required now");
            }
        }
    }

    fn content(&mut self, old: &Value, new: &Value, sender: Sender, at: &str) {
        for (kind, before) in fields(&old["content"]) {
            match new["content"].get(kind) {
                None => self.says(at, format!("is no longer {kind}")),
                Some(after) => self.schema(&before["schema"], &after["schema"], sender, at),
            }
        }
    }

    fn schema(&mut self, old: &Value, new: &Value, sender: Sender, at: &str) {
        if let (Some(before), Some(after)) = (old["$ref"].as_str(), new["$ref"].as_str())
            && !self.seen.insert((sender, before.into(), after.into()))
        {
            return;
        }
        let (old, new) = (resolved(self.old, old), resolved(self.new, new));
        let (before, after) = (alternatives(self.old, &old), alternatives(self.new, &new));
        if before.len() == 1 && after.len() == 1 {
            return self.whole(&old, &new, sender, at);
        }
        let (needed, there, what) = match sender {
            Sender::Client => (&before, &after, "no longer takes"),
            Sender::Server => (&after, &before, "answers now also"),
        };
        let fits = |one: &Value, other: &Value| match sender {
            Sender::Client => self.agrees(one, other, sender),
            Sender::Server => self.agrees(other, one, sender),
        };
        let missing: Vec<_> = needed.iter().filter(|one| !there.iter().any(|other| fits(one, other))).collect();
        missing.into_iter().for_each(|one| self.says(at, format!("{what} {one}")));
    }

    /// Whether a schema may take another's place.
    fn agrees(&self, old: &Value, new: &Value, sender: Sender) -> bool {
        let mut trial = Comparison { old: self.old, new: self.new, seen: self.seen.clone(), said: Vec::new() };
        trial.whole(old, new, sender, "it");
        trial.said.is_empty()
    }

    /// Compares schemas without references and alternatives.
    fn whole(&mut self, old: &Value, new: &Value, sender: Sender, at: &str) {
        let wider = match sender {
            Sender::Client => new,
            Sender::Server => old,
        };
        if old["type"] != new["type"] && !wider["type"].is_null() {
            return self.says(at, format!("is {} now, and was {}", new["type"], old["type"]));
        }
        match sender {
            Sender::Client => self.sent(old, new, at),
            Sender::Server => self.answered(old, new, at),
        }
        for (name, before) in fields(&old["properties"]) {
            if let Some(after) = new["properties"].get(name) {
                self.schema(before, after, sender, &format!("{at}/{name}"));
            } else {
                self.says(&format!("{at}/{name}"), "is gone");
            }
        }
        for part in ["items", "additionalProperties"].into_iter().filter(|part| old[part].is_object() && new[part].is_object()) {
            self.schema(&old[part], &new[part], sender, &format!("{at}/*"));
        }
    }

    /// A client may send less than before.
    fn sent(&mut self, old: &Value, new: &Value, at: &str) {
        for name in items(&new["required"]).iter().filter(|name| !items(&old["required"]).contains(name)) {
            self.says(&format!("{at}/{}", name.as_str().unwrap_or_default()), "is required now");
        }
        if old["nullable"] == true && new["nullable"] != true {
            self.says(at, "must not be null now");
        }
        for bound in ["maximum", "maxLength", "maxItems"] {
            if new[bound].as_f64().is_some_and(|now| old[bound].as_f64().is_none_or(|was| now < was)) {
                self.says(at, format!("has the {bound} {} now", new[bound]));
            }
        }
        for bound in ["minimum", "minLength", "minItems"] {
            if new[bound].as_f64().is_some_and(|now| old[bound].as_f64().is_none_or(|was| now > was)) {
                self.says(at, format!("has the {bound} {} now", new[bound]));
            }
        }
        for form in ["pattern", "format"] {
            if !new[form].is_null() && new[form] != old[form] {
                self.says(at, format!("has the {form} {} now", new[form]));
            }
        }
        let (before, after) = (items(&old["enum"]), items(&new["enum"]));
        if !after.is_empty() && (before.is_empty() || before.iter().any(|value| !after.contains(value))) {
            self.says(at, format!("must be one of {} now", new["enum"]));
        }
    }

    /// The server may answer something that it did not answer before.
    fn answered(&mut self, old: &Value, new: &Value, at: &str) {
        for name in items(&old["required"]).iter().filter(|name| !items(&new["required"]).contains(name)) {
            let name = name.as_str().unwrap_or_default();
            if new["properties"].get(name).is_some() {
                self.says(&format!("{at}/{name}"), "may be absent now");
            }
        }
        if old["nullable"] != true && new["nullable"] == true {
            self.says(at, "may be null now");
        }
        // A text with the format `password` is any text: it tells pages to hide what is a secret.
        let form = |schema: &Value| Some(schema["format"].clone()).filter(|form| *form != "password").unwrap_or_default();
        if form(old) != form(new) {
            self.says(at, format!("has the format {} now, and had {}", new["format"], old["format"]));
        }
        let (before, after) = (items(&old["enum"]), items(&new["enum"]));
        for value in after.iter().filter(|value| !before.is_empty() && !before.contains(value)) {
            self.says(at, format!("may be {value} now"));
        }
        if !before.is_empty() && after.is_empty() {
            self.says(at, "has no list of values now");
        }
    }
}

fn fields(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
    value.as_object().into_iter().flatten()
}

fn items(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn label(parameter: &Value) -> String {
    format!("the parameter {}", parameter["name"].as_str().unwrap_or_default())
}

/// A schema without references: with the fields of the schema that it names, and of those that it joins by `allOf`.
fn resolved(document: &Value, schema: &Value) -> Value {
    let named = schema["$ref"].as_str().and_then(|name| document.pointer(name.trim_start_matches('#')));
    let parts = items(&schema["allOf"]).iter().chain(named).map(|part| resolved(document, part));
    let mut whole = schema.clone();
    for part in parts.collect::<Vec<_>>() {
        fields(&part).for_each(|(name, value)| whole[name] = value.clone());
    }
    whole
}

/// The schemas of which one holds, each with the fields that hold for all; the schema itself if it has no alternatives.
fn alternatives(document: &Value, schema: &Value) -> Vec<Value> {
    let Some(word) = ["oneOf", "anyOf"].into_iter().find(|word| schema[*word].is_array()) else { return vec![schema.clone()] };
    let mut shared = schema.clone();
    let Value::Array(several) = shared[word].take() else { unreachable!("it is an array") };
    shared.as_object_mut().expect("it has fields").remove(word);
    let merged = several.iter().map(|one| {
        let mut whole = shared.clone();
        fields(&resolved(document, one)).for_each(|(name, value)| whole[name] = value.clone());
        whole
    });
    merged.collect()
}
