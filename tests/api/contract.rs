//! Every operation of the specification, against the server's own OpenAPI document.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use crate::harness::{Server, unknown_id};

/// What is still to be built. A row that is built leaves this list; none comes back.
const NOT_YET: &[&str] = &[];

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
async fn operations(server: &Server) -> BTreeMap<String, Value> {
    let document = server.anonymous().get("/openapi.json").await.expect(200);
    let mut found = BTreeMap::new();
    for (path, methods) in document["paths"].as_object().expect("paths") {
        for (method, operation) in methods.as_object().unwrap() {
            found.insert(format!("{} {}", method.to_uppercase(), template(path)), operation.clone());
        }
    }
    found
}

/// A path with identifiers that name nothing.
fn filled(path: &str) -> String {
    let segments = path.split('/').map(|segment| if segment.starts_with('{') { unknown_id() } else { segment.to_owned() });
    segments.collect::<Vec<_>>().join("/")
}

#[tokio::test]
async fn the_documented_operations_are_there_but_for_a_shrinking_list() {
    let server = Server::start().await;
    let operations = operations(&server).await;
    let missing: BTreeSet<String> = specification()
        .iter()
        .filter(|row| !operations.contains_key(&format!("{} {}", row.method, template(&row.path))))
        .map(Row::name)
        .collect();
    let expected: BTreeSet<String> = NOT_YET.iter().map(|name| (*name).to_owned()).collect();
    assert_eq!(missing, expected, "built rows leave NOT_YET; nothing is added to it");
}

#[tokio::test]
async fn each_has_its_documented_success_and_no_other() {
    let server = Server::start().await;
    let operations = operations(&server).await;
    for row in specification() {
        let Some(operation) = operations.get(&format!("{} {}", row.method, template(&row.path))) else { continue };
        let statuses = operation["responses"].as_object().unwrap().keys();
        let good: Vec<_> = statuses.filter(|status| status.starts_with('2')).collect();
        assert_eq!(good, [&row.success], "{}", row.name());
    }
}

#[tokio::test]
async fn each_is_described_with_its_failures_and_its_security() {
    let server = Server::start().await;
    let operations = operations(&server).await;
    for row in specification() {
        let Some(operation) = operations.get(&format!("{} {}", row.method, template(&row.path))) else { continue };
        let name = row.name();
        assert!(operation["summary"].as_str().is_some_and(|summary| !summary.is_empty()), "{name}: a summary");
        assert!(operation["tags"].as_array().is_some_and(|tags| !tags.is_empty()), "{name}: a tag");
        assert!(operation["responses"].get("400").is_some(), "{name}: its failures");
        if row.bearer != "no" {
            assert!(operation["security"].as_array().is_some_and(|schemes| !schemes.is_empty()), "{name}: its security");
            assert!(operation["responses"].get("401").is_some(), "{name}: 401");
        }
    }
}

#[tokio::test]
async fn a_protected_one_answers_401_without_a_token() {
    let server = Server::start().await;
    let operations = operations(&server).await;
    let anonymous = server.anonymous();
    for row in specification() {
        let known = operations.contains_key(&format!("{} {}", row.method, template(&row.path)));
        if !known || row.bearer == "no" {
            continue;
        }
        let body = (row.method != "GET" && row.method != "DELETE").then(|| json!({}));
        for client in [&anonymous, &anonymous.with_token("not a token")] {
            client.call(&row.method, &filled(&row.path), body.clone()).await.expect(401);
        }
    }
}

#[tokio::test]
async fn an_open_one_does_not() {
    let server = Server::start().await;
    let operations = operations(&server).await;
    for row in specification() {
        let known = operations.contains_key(&format!("{} {}", row.method, template(&row.path)));
        if !known || row.bearer != "no" {
            continue;
        }
        let body = (row.method != "GET").then(|| json!({}));
        let reply = server.anonymous().call(&row.method, &filled(&row.path), body).await;
        assert_ne!(reply.status, 401, "{}", row.name());
    }
}

#[test]
fn only_the_three_deviations_open_what_the_specification_protects() {
    let opened: Vec<_> = specification().iter().filter(|row| row.auth == "B" && row.bearer != "yes").map(Row::name).collect();
    assert_eq!(opened, ["POST /webhooks/feed/{webhook_slug}", "GET /webhooks/feed/{webhook_slug}", "POST /invite/verify"]);
}
