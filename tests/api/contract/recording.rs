//! The OpenAPI document as a text in which each change is a line or two: a line for each operation, parameter, body, success and field.

use std::{collections::BTreeMap, fmt::Write};

use serde_json::{Map, Value};

/// The text of a document. Nothing is left out of it.
pub fn lines(mut document: Value) -> String {
    let mut recording = Recording::default();
    let paths = take(&mut document, "paths");
    for (path, methods) in fields(&paths) {
        for (method, operation) in fields(methods) {
            recording.operation(&format!("{} {path}", method.to_uppercase()), operation.clone());
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

fn fields(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
    value.as_object().into_iter().flatten()
}

/// Takes a field out of an object; null if it has none.
fn take(value: &mut Value, field: &str) -> Value {
    value.as_object_mut().and_then(|fields: &mut Map<_, _>| fields.remove(field)).unwrap_or_default()
}
