//! The operations of the server's own OpenAPI document.

use std::collections::BTreeSet;

use serde_json::Value;
use tidings::domain::scopes::Scope;

use crate::harness::Server;

pub struct Operation {
    /// The method, in capitals.
    pub method: String,
    /// The path's template, relative to `/api/v1`.
    pub path: String,
    pub wants_notification_token: bool,
    /// The operation's object in the document; null where only the name is known.
    pub document: Value,
}

impl Operation {
    /// `GET /channels/{channel_id}`
    pub fn name(&self) -> String {
        format!("{} {}", self.method, self.path)
    }

    pub fn named(name: &str) -> Operation {
        let (method, path) = name.split_once(' ').unwrap_or_else(|| panic!("a method and a path: {name}"));
        let wants_notification_token = path.starts_with("/realtime/");
        Operation { method: method.into(), path: path.into(), wants_notification_token, document: Value::Null }
    }

    pub fn needs_token(&self) -> bool {
        self.document["security"].as_array().is_some_and(|schemes| !schemes.is_empty())
    }

    /// The scope with which the token of a program opens the operation.
    pub fn scope(&self) -> Option<Scope> {
        let named = self.document["x-token-scope"].as_str();
        named.map(|name| Scope::named(name).unwrap_or_else(|| panic!("a scope: {name}")))
    }

    pub fn is_for_some_channels(&self) -> bool {
        self.document["x-token-for-some-channels"] == true
    }

    pub fn has_body(&self) -> bool {
        self.document.get("requestBody").is_some()
    }
}

pub async fn document(server: &Server) -> Value {
    server.anonymous().get("/openapi.json").await.expect(200)
}

pub async fn operations(server: &Server) -> Vec<Operation> {
    let document = document(server).await;
    let mut found = Vec::new();
    for (path, methods) in document["paths"].as_object().expect("paths") {
        for (method, operation) in methods.as_object().unwrap() {
            let named = Operation::named(&format!("{} {path}", method.to_uppercase()));
            found.push(Operation { document: operation.clone(), ..named });
        }
    }
    let names: BTreeSet<_> = found.iter().map(Operation::name).collect();
    assert_eq!(names.len(), found.len());
    found
}

/// The document without the parts of these names.
pub fn without(value: Value, names: &[&str]) -> Value {
    match value {
        Value::Object(fields) => {
            let is_properties = |name: &str| name == "properties" || name == "schemas" || name == "paths";
            let kept = fields.into_iter().filter(|(name, _)| !names.contains(&name.as_str()));
            let shown = kept.map(|(name, value)| match value {
                // Names of fields may be those of parts.
                Value::Object(inner) if is_properties(&name) => {
                    let inner = inner.into_iter().map(|(name, value)| (name, without(value, names)));
                    (name, Value::Object(inner.collect()))
                }
                value => (name, without(value, names)),
            });
            Value::Object(shown.collect())
        }
        Value::Array(values) => values.into_iter().map(|value| without(value, names)).collect(),
        other => other,
    }
}

/// The document with one line for each operation and each component.
pub fn by_line(document: &Value) -> String {
    fn write(value: &Value, depth: usize, text: &mut String) {
        match value {
            Value::Object(fields) if depth < 3 && !fields.is_empty() => {
                let indent = "  ".repeat(depth);
                text.push('{');
                for (n, (name, value)) in fields.iter().enumerate() {
                    *text += &format!("{}\n{indent}  {}: ", if n == 0 { "" } else { "," }, Value::from(name.as_str()));
                    write(value, depth + 1, text);
                }
                *text += &format!("\n{indent}}}");
            }
            other => *text += &other.to_string(),
        }
    }
    let mut text = String::new();
    write(document, 0, &mut text);
    text + "\n"
}
