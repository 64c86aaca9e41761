//! The operations of the server's own OpenAPI document.

use std::collections::BTreeSet;

use serde_json::Value;

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
