//! What each operation refuses, with which code and in which words, as `tests/api/tables/` says.

mod codes;

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
};

use serde_json::Value;
use tokio::sync::OnceCell;
use url::form_urlencoded;

use crate::{
    documents::is_renewing,
    harness::{Client, Server, unknown_id},
    names::Names,
    operations::{Operation, operations},
    scene::{Answered, CALLERS, Scene},
    tables::{Area, areas, is_row, rows},
};

#[derive(Clone, PartialEq)]
struct Row {
    operation: String,
    /// A kind of [`CALLERS`], or `forged`: one whose tokens nobody issued.
    caller: String,
    /// What differs from the usual parameters, as in `limit=0&channel_id=<unknown>`.
    parameters: String,
    /// JSON with `<names>` of the scene, or another text; empty for none.
    body: String,
    status: String,
    code: String,
    words: String,
}

impl Row {
    fn of(cells: Vec<String>) -> Row {
        let [operation, caller, parameters, body, status, code, words] =
            cells.try_into().unwrap_or_else(|cells| panic!("seven columns: {cells:?}"));
        Row { operation, caller, parameters, body, status, code, words }
    }

    fn shown(&self) -> String {
        let quoted = |text: &str| if text.is_empty() { String::new() } else { format!("`{text}`") };
        let cells = [&self.operation, &self.parameters, &self.body, &self.code].map(|text| quoted(text));
        let [operation, parameters, body, code] = cells;
        format!("| {operation} | {} | {parameters} | {body} | {} | {code} | {} |", self.caller, self.status, self.words)
    }
}

fn table() -> Vec<Row> {
    areas().iter().flat_map(|area| rows(&area.refusals)).map(Row::of).collect()
}

/// What each row's operation answered.
pub struct Run {
    pub names: Names,
    rows: Vec<(Row, Answered)>,
}

impl Run {
    pub fn answers(&self) -> impl Iterator<Item = &Answered> {
        self.rows.iter().map(|(_, answered)| answered)
    }

    /// The run, which is made once for all tests that look at it.
    pub async fn get() -> &'static Run {
        static RUN: OnceCell<Run> = OnceCell::const_new();
        RUN.get_or_init(Run::make).await
    }

    async fn make() -> Run {
        let scene = Scene::make().await;
        let server = scene.server().await;
        let mut rows = Vec::new();
        for row in table() {
            let answered = answer(&scene, &server, &row).await;
            rows.push((row, answered));
        }
        server.stop().await;
        Run { names: scene.names(), rows }
    }
}

async fn answer(scene: &Scene, server: &Server, row: &Row) -> Answered {
    let operation = Operation::named(&row.operation);
    let client = match CALLERS.iter().position(|kind| *kind == row.caller) {
        Some(caller) => scene.callers[caller].clone(),
        None => Client { notification_token: "forged".into(), ..server.anonymous().with_token("forged") },
    };
    let client = Client { origin: server.origin.clone(), ..client };
    let parameters = scene.filled(&row.parameters).replace("<unknown>", &unknown_id());
    let path = changed(&operation.path, &scene.path(&operation.method, &operation.path), &parameters);
    let body = row.body.replace("<unknown>", &unknown_id());
    if !body.is_empty() && serde_json::from_str::<Value>(&scene.filled(&body)).is_err() {
        let reply = client.call_text(&operation.method, &path, &body).await;
        return Answered {
            operation: operation.name(),
            path,
            request: None,
            status: reply.status,
            position: None,
            answer: reply.body,
        };
    }
    Answered::call(&client, &operation, path, scene.body(&body)).await
}

/// The path with these parameters in place of its own; those that the template does not have belong to the query. A name
/// without a value leaves its parameter out.
fn changed(template: &str, path: &str, parameters: &str) -> String {
    let parameters = parameters.split('&').filter(|parameter| !parameter.is_empty());
    let parameters =
        parameters.map(|parameter| parameter.split_once('=').map_or((parameter, None), |(name, value)| (name, Some(value))));
    let parameters: BTreeMap<_, _> = parameters.collect();
    let (path, query) = path.split_once('?').unwrap_or((path, ""));
    let segments = template.split('/').zip(path.split('/')).map(|(name, segment)| {
        let name = name.strip_prefix('{').and_then(|name| name.strip_suffix('}'));
        name.and_then(|name| *parameters.get(name)?).unwrap_or(segment)
    });
    let path = segments.collect::<Vec<_>>().join("/");
    let usual = form_urlencoded::parse(query.as_bytes()).filter(|(name, _)| !parameters.contains_key(&**name));
    let further = parameters.iter().filter(|(name, _)| !template.contains(&format!("{{{name}}}")));
    let further = further.filter_map(|(name, value)| Some((name, (*value)?)));
    let mut query = form_urlencoded::Serializer::new(String::new());
    query.extend_pairs(usual).extend_pairs(further);
    match query.finish() {
        query if query.is_empty() => path,
        query => format!("{path}?{query}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_refusal_has_the_status_the_code_and_the_words_of_its_row() {
    let run = Run::get().await;
    let found = run.rows.iter().map(|(row, answered)| {
        let said = |field: &str| run.names.clone().text(answered.answer[field].as_str().unwrap_or_default(), field);
        let (status, code, words) = (answered.status.to_string(), said("code"), said("message"));
        Row { status, code, words, ..row.clone() }
    });
    let found: Vec<_> = found.collect();
    if is_renewing() {
        renew(&found);
    }
    let differing = table().into_iter().zip(&found).filter(|(row, found)| row != *found);
    let wrong: Vec<_> = differing
        .map(|(row, found)| format!("{}\nbut found {} | {} | {}", row.shown(), found.status, found.code, found.words))
        .collect();
    assert!(wrong.is_empty() || is_renewing(), "{}", wrong.join("\n"));
    assert!(found.iter().all(|row| row.status.starts_with('4')), "only refusals");
}

/// Writes the tables with the statuses, codes and words that were found.
fn renew(found: &[Row]) {
    let mut found = found.iter();
    for Area { path, permissions, refusals } in areas() {
        let lines = refusals.lines().map(|line| match is_row(line) {
            true => found.next().expect("a row for each line").shown() + "\n",
            false => format!("{line}\n"),
        });
        fs::write(path, permissions.clone() + &lines.collect::<String>()).unwrap();
    }
}

#[tokio::test]
async fn every_operation_that_takes_input_has_a_row_of_bad_input() {
    let server = Server::start().await;
    let rows = table();
    let refused: BTreeSet<_> =
        rows.iter().filter(|row| ["400", "422"].contains(&&*row.status)).map(|row| &*row.operation).collect();
    let all = operations(&server).await.into_iter();
    let taking = all.filter(|operation| operation.has_body() || has_typed_parameter(&operation.document));
    let missing: Vec<_> = taking.map(|operation| operation.name()).filter(|name| !refused.contains(&**name)).collect();
    assert!(missing.is_empty(), "no rows of bad input: {missing:?}");
}

/// Whether a parameter may be of the wrong type.
fn has_typed_parameter(operation: &Value) -> bool {
    let parameters = operation["parameters"].as_array().into_iter().flatten();
    parameters.map(|parameter| &parameter["schema"]).any(|schema| schema["type"] == "integer" || schema["format"] == "uuid")
}
