//! Tables of the fields that a JSON schema describes, for the pages.

use std::{collections::BTreeSet, fmt::Write};

use serde_json::{Map, Value};

/// The section of the page that describes the message object.
const MESSAGE: &str = "Message";

/// Describes fields. A type that several schemas use is described once, and the tables link to it; the fields of other types
/// are rows of the table in which they are used.
pub struct Fields<'a> {
    schemas: &'a Map<String, Value>,
    /// Types that the tables link to.
    linked: BTreeSet<&'a str>,
}

impl<'a> Fields<'a> {
    pub fn new(schemas: &'a Map<String, Value>) -> Fields<'a> {
        Fields { schemas, linked: BTreeSet::new() }
    }

    /// The table of a message's payload.
    pub fn table(&mut self, message: &'a Value) -> String {
        let schema = &self.schemas[name(message["payload"]["$ref"].as_str().expect("it refers to a component"))];
        match schema["description"].as_str() {
            Some(described) if schema["properties"].is_null() => format!("{described}\n\n"),
            _ => self.of(schema),
        }
    }

    /// The table of a schema.
    pub fn of(&mut self, schema: &'a Value) -> String {
        let mut rows = String::from("| Field | Type | Meaning |\n|---|---|---|\n");
        self.rows(schema, "", &mut rows);
        rows + "\n"
    }

    /// The sections of the types that the tables link to, except the message object, which has one of its own.
    pub fn types(&mut self) -> String {
        let (mut text, mut done) = (String::new(), BTreeSet::from([MESSAGE]));
        while let Some(next) = self.linked.iter().find(|name| !done.contains(*name)).copied() {
            done.insert(next);
            let schema = &self.schemas[next];
            let meaning = schema["description"].as_str().unwrap_or_default();
            let table = self.of(schema);
            _ = write!(text, "### {next}\n\n{meaning}\n\n{table}");
        }
        text
    }

    fn rows(&mut self, schema: &'a Value, above: &str, rows: &mut String) {
        let Some(properties) = schema["properties"].as_object() else { return };
        let required = |field: &String| schema["required"].as_array().is_some_and(|names| names.contains(&field.as_str().into()));
        for (field, property) in properties {
            let optional = if required(field) { "" } else { ", optional" };
            let named = reference(property).map(name);
            let described = named.map_or(property, |name| &self.schemas[name]);
            let meaning = property["description"]
                .as_str()
                .or(described["description"].as_str())
                .unwrap_or_default()
                .replace('\n', " ")
                .replace('|', "\\|");
            match named {
                Some(own) if !self.is_shared(own) => self.rows(described, &format!("{above}{field}."), rows),
                _ => _ = writeln!(rows, "| `{above}{field}` | {}{optional} | {meaning} |", self.kind(property)),
            }
        }
    }

    /// Whether several schemas refer to the type.
    fn is_shared(&self, name: &str) -> bool {
        let reference = format!("\"#/components/schemas/{name}\"");
        name == MESSAGE || self.schemas.values().map(|schema| schema.to_string().matches(&reference).count()).sum::<usize>() > 1
    }

    fn kind(&mut self, schema: &'a Value) -> String {
        if let Some(reference) = reference(schema) {
            self.linked.insert(name(reference));
            let or_null = if schema["anyOf"].is_null() { "" } else { " or null" };
            return link(name(reference)) + or_null;
        }
        if let Some(values) = schema["enum"].as_array() {
            return values.iter().map(code).collect::<Vec<_>>().join(", ");
        }
        match (schema["type"].as_str(), schema["format"].as_str()) {
            _ if !schema["const"].is_null() => code(&schema["const"]),
            (_, Some("uuid")) => "UUID".into(),
            (_, Some("date-time")) => "time".into(),
            (Some("array"), _) if schema["items"].is_object() => format!("array of {}", self.kind(&schema["items"])),
            (Some("object"), _) if schema["additionalProperties"].is_object() => {
                format!("object of {}", self.kind(&schema["additionalProperties"]))
            }
            (Some(kind), _) => kind.to_owned(),
            (None, _) => "any".into(),
        }
    }
}

/// The type that a schema refers to. One that may be null stands in `anyOf`.
fn reference(schema: &Value) -> Option<&str> {
    schema["$ref"].as_str().or(schema["anyOf"][0]["$ref"].as_str())
}

/// The name in a reference.
fn name(reference: &str) -> &str {
    reference.rsplit('/').next().unwrap_or(reference)
}

fn code(value: &Value) -> String {
    format!("`{}`", value.as_str().map_or_else(|| value.to_string(), str::to_owned))
}

fn link(name: &str) -> String {
    if name == MESSAGE { "[message object](#the-message-object)".into() } else { format!("[{name}](#{})", name.to_lowercase()) }
}
