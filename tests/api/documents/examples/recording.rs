//! The OpenAPI document as a text in which each change is a line or two: a line for each operation, parameter, body, success and
//! field. The lines of an operation end with its examples.

use std::{collections::BTreeMap, fmt::Write};

use serde_json::{Map, Value, json};

use super::Example;

/// An example is broken into several lines if it is longer: a record of an account or a channel still stands in one.
const LINE: usize = 800;

/// The text of a document, and of an example for each of its operations. Nothing is left out of it.
pub fn lines(mut document: Value, examples: &BTreeMap<String, Example>) -> String {
    let mut recording = Recording::default();
    let paths = take(&mut document, "paths");
    for (path, methods) in fields(&paths) {
        for (method, operation) in fields(methods) {
            let name = format!("{} {path}", method.to_uppercase());
            recording.operation(&name, operation.clone());
            recording.examples(&examples[&name]);
        }
    }
    let schemas = take(&mut document["components"], "schemas");
    for (name, schema) in fields(&schemas) {
        recording.schema(name, schema.clone());
    }
    let components = take(&mut document, "components");
    for (kind, named) in fields(&components) {
        for (name, component) in fields(named) {
            recording.line(0, &format!("{kind} {name}"), component);
        }
    }
    for (failure, name) in recording.failures.clone() {
        recording.text += &format!("failure {name}: {failure}\n");
    }
    for (name, value) in fields(&document) {
        recording.line(0, name, value);
    }
    recording.text
}

#[derive(Default)]
struct Recording {
    text: String,
    /// The names of failures by what they are.
    failures: BTreeMap<String, String>,
}

impl Recording {
    fn line(&mut self, depth: usize, name: &str, value: &Value) {
        writeln!(self.text, "{:indent$}{name}: {value}", "", indent = 2 * depth).expect("a text takes all");
    }

    fn operation(&mut self, name: &str, mut operation: Value) {
        let [parameters, body, responses] = ["parameters", "requestBody", "responses"].map(|part| take(&mut operation, part));
        self.line(0, name, &operation);
        for parameter in parameters.as_array().into_iter().flatten() {
            self.line(1, parameter["name"].as_str().expect("a parameter has a name"), parameter);
        }
        if !body.is_null() {
            self.line(1, "body", &body);
        }
        let mut failures = Vec::new();
        for (status, response) in fields(&responses) {
            if status.starts_with('2') {
                self.line(1, status, response);
            } else {
                failures.push(self.failure(status, response));
            }
        }
        writeln!(self.text, "  failures: {}", failures.join(" ")).expect("a text takes all");
    }

    fn examples(&mut self, Example { parameters, request, answers, refusals }: &Example) {
        if !parameters.is_empty() {
            self.example("example parameters", &json!(parameters));
        }
        if let Some(request) = request {
            self.example("example request", request);
        }
        for (status, answer) in answers {
            self.example(&format!("example {status}"), answer);
        }
        if !refusals.is_empty() {
            self.example("refusal codes", &json!(refusals));
        }
    }

    fn example(&mut self, name: &str, value: &Value) {
        writeln!(self.text, "  {name}: {}", broken(value, 2)).expect("a text takes all");
    }

    /// The name of a failure, since most operations have the same: that of the component which it refers to, or else its status.
    fn failure(&mut self, status: &str, failure: &Value) -> String {
        if let Some(component) = failure["$ref"].as_str() {
            return component.trim_start_matches("#/components/responses/").to_owned();
        }
        let of_status = self.failures.values().filter(|name| name.split('/').next() == Some(status)).count();
        let name = if of_status == 0 { status.to_owned() } else { format!("{status}/{}", of_status + 1) };
        self.failures.entry(failure.to_string()).or_insert(name).clone()
    }

    fn schema(&mut self, name: &str, mut schema: Value) {
        let properties = take(&mut schema, "properties");
        self.line(0, name, &schema);
        for (field, property) in fields(&properties) {
            self.line(1, field, property);
        }
    }
}

/// JSON in a line; if that is too long, with a line for each field or row, so that a change shows which one it is.
fn broken(value: &Value, indent: usize) -> String {
    let line = value.to_string();
    let below = |value: &Value| broken(value, indent + 2);
    let (open, parts, close): (_, Vec<_>, _) = match value {
        _ if line.len() <= LINE => return line,
        Value::Object(fields) => {
            ('{', fields.iter().map(|(name, value)| format!("{}: {}", json!(name), below(value))).collect(), '}')
        }
        Value::Array(rows) => ('[', rows.iter().map(below).collect(), ']'),
        _ => return line,
    };
    let parts: Vec<_> = parts.iter().map(|part| format!("\n{:indent$}  {part}", "")).collect();
    format!("{open}{}\n{:indent$}{close}", parts.join(","), "")
}

fn fields(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
    value.as_object().into_iter().flatten()
}

/// Takes a field out of an object; null if it has none.
fn take(value: &mut Value, field: &str) -> Value {
    value.as_object_mut().and_then(|fields: &mut Map<_, _>| fields.remove(field)).unwrap_or_default()
}
