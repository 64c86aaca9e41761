//! Every operation of the specification, against the server's own OpenAPI document.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use crate::{
    harness::{Server, unknown_id},
    operations::{document, operations},
    permissions,
};

struct Row {
    method: String,
    path: String,
    auth: String,
    bearer: String,
    success: String,
}

impl Row {
    fn name(&self) -> String {
        format!("{} {}", self.method, self.path)
    }
}

fn specification() -> Vec<Row> {
    let table = include_str!("specification.md").lines().filter(|line| line.starts_with("| ") && line.contains("| /"));
    let rows: Vec<Row> = table
        .map(|line| {
            let cells: Vec<_> = line.trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect();
            let [method, path, auth, bearer, success] = cells.try_into().unwrap_or_else(|_| panic!("five columns: {line}"));
            Row { method, path, auth, bearer, success }
        })
        .collect();
    assert_eq!(rows.len(), 72);
    rows
}

/// The path without the names of its parameters.
fn template(path: &str) -> String {
    let path = path.strip_prefix("/api/v1").unwrap_or(path);
    let segments = path.split('/').map(|segment| if segment.starts_with(['{', ':']) { "{}" } else { segment });
    segments.collect::<Vec<_>>().join("/")
}

/// The document's operations by method and template.
async fn documented(server: &Server) -> BTreeMap<String, Value> {
    let operations = operations(server).await.into_iter();
    operations.map(|operation| (format!("{} {}", operation.method, template(&operation.path)), operation.document)).collect()
}

fn find<'a>(operations: &'a BTreeMap<String, Value>, row: &Row) -> &'a Value {
    let found = operations.get(&format!("{} {}", row.method, template(&row.path)));
    found.unwrap_or_else(|| panic!("{} is not documented", row.name()))
}

/// A path with identifiers that name nothing.
fn filled(path: &str) -> String {
    let segments = path.split('/').map(|segment| if segment.starts_with('{') { unknown_id() } else { segment.to_owned() });
    segments.collect::<Vec<_>>().join("/")
}

#[tokio::test]
async fn every_row_of_the_specification_is_documented() {
    let server = Server::start().await;
    let documented: BTreeSet<_> = documented(&server).await.into_keys().collect();
    let wanted: BTreeSet<_> = specification().iter().map(|row| format!("{} {}", row.method, template(&row.path))).collect();
    let missing: Vec<_> = wanted.difference(&documented).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

/// A served operation answers that neither its route nor its method is unknown.
#[tokio::test]
async fn every_row_of_the_specification_is_served() {
    let server = Server::start().await;
    for row in specification() {
        let reply = server.anonymous().call(&row.method, &filled(&row.path), None).await;
        assert_ne!(reply.status, 405, "{}", row.name());
        assert_ne!(reply.body["message"], "Route not found", "{}", row.name());
    }
}

#[tokio::test]
async fn each_operation_documents_its_success_and_no_other() {
    let server = Server::start().await;
    let operations = documented(&server).await;
    for row in specification() {
        let operation = find(&operations, &row);
        let statuses = operation["responses"].as_object().unwrap().keys();
        let good: Vec<_> = statuses.filter(|status| status.starts_with('2')).collect();
        assert_eq!(good, [&row.success], "{}", row.name());
    }
}

#[tokio::test]
async fn each_operation_documents_its_summary_failures_and_security() {
    let server = Server::start().await;
    let operations = documented(&server).await;
    for row in specification() {
        let operation = find(&operations, &row);
        let name = row.name();
        assert!(operation["summary"].as_str().is_some_and(|summary| !summary.is_empty()), "{name}: a summary");
        assert!(operation["tags"].as_array().is_some_and(|tags| !tags.is_empty()), "{name}: a tag");
        assert!(operation["responses"].get("429").is_some(), "{name}: its failures");
        if row.bearer != "no" {
            assert!(operation["security"].as_array().is_some_and(|schemes| !schemes.is_empty()), "{name}: its security");
            assert!(operation["responses"].get("401").is_some(), "{name}: 401");
        }
    }
}

/// What anybody without a token is answered, the table of permissions has for each operation.
#[test]
fn an_operation_needs_a_session_where_the_specification_says_so() {
    let rows = permissions::table().into_iter().filter(permissions::Row::needs_session);
    let needing: BTreeSet<_> = rows
        .map(|row| {
            let (method, path) = row.operation.split_once(' ').unwrap();
            format!("{method} {}", template(path))
        })
        .collect();
    for row in specification() {
        let name = format!("{} {}", row.method, template(&row.path));
        assert_eq!(row.bearer != "no", needing.contains(&name), "{}", row.name());
    }
}

#[tokio::test]
async fn a_protected_operation_answers_401_to_a_wrong_token() {
    let server = Server::start().await;
    let client = server.anonymous().with_token("not a token");
    for row in specification().iter().filter(|row| row.bearer != "no") {
        let body = (row.method != "GET" && row.method != "DELETE").then(|| json!({}));
        client.call(&row.method, &filled(&row.path), body).await.expect(401);
    }
}

#[test]
fn only_the_three_deviations_open_what_the_specification_protects() {
    // Their callers have no account yet, and a secret of their own.
    let deviations = [
        ("POST /webhooks/feed/{webhook_slug}", "a program feeds by the secret address alone"),
        ("GET /webhooks/feed/{webhook_slug}", "a program feeds by the secret address alone"),
        ("POST /invite/verify", "an invitation makes the account that its token is for"),
    ];
    let opened: Vec<_> = specification().iter().filter(|row| row.auth == "B" && row.bearer != "yes").map(Row::name).collect();
    assert_eq!(opened, deviations.map(|(name, _)| name));
}

#[tokio::test]
async fn a_time_that_is_no_rfc_3339_says_what_it_is() {
    let server = Server::start().await;
    let document = document(&server).await;
    let schemas = document["components"]["schemas"].as_object().unwrap();
    let fields = schemas.iter().flat_map(|(name, schema)| {
        let properties = schema["properties"].as_object().into_iter().flatten();
        properties.map(move |(field, property)| (format!("{name}.{field}"), property))
    });
    let times = fields.filter(|(name, property)| name.ends_with("_at") && property["type"] == "string");
    let (seconds, rfc_3339): (Vec<_>, Vec<_>) = times.partition(|(_, property)| property["format"] != "date-time");
    for (name, property) in &seconds {
        let said = property["description"].as_str().unwrap_or_default();
        assert!(said.contains("Unix seconds as a text"), "{name}: {said}");
    }
    assert!(rfc_3339.len() > 20 && seconds.iter().any(|(name, _)| name == "User.created_at"));
}
