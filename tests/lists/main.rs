//! Every list at its bounds: no answer has more than 1,000 rows or 1 MB, and the `Link` headers lead through all of it.
//!
//! A binary of its own: the server's bounds on the time of a read hold while no other tests take the processor.

#![allow(dead_code, clippy::too_many_lines, reason = "the harness has more than these tests need")]

mod copies;
mod crowd;
#[path = "../api/harness.rs"]
mod harness;
#[path = "../api/operations.rs"]
mod operations;
#[path = "../api/shapes.rs"]
mod shapes;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use crate::{
    crowd::Crowd,
    harness::{Client, Server},
    operations::{document, operations},
};

const ROWS: usize = 1000;
const BYTES: usize = 1_000_000;

/// Operations that answer one record which contains lists.
const SINGLE: [&str; 7] = [
    "GET /start",
    "GET /channels/{channel_id}",
    "GET /channels/name/{channel_name}",
    "GET /threads/{id}",
    "GET /messages/{message_id}",
    "GET /webhooks/{channel_id}",
    "GET /organisations/{org_id}/load-org-info",
];

/// A list: where it is, and what tells its rows apart.
pub struct Case {
    pub operation: &'static str,
    pub path: String,
    pub rows: &'static str,
    pub key: &'static str,
    /// SQL that counts its rows.
    pub count: String,
}

#[tokio::test(flavor = "multi_thread")]
async fn no_answer_of_a_list_is_larger_than_a_megabyte_or_a_thousand_rows() {
    let crowd = Crowd::make().await;
    let server = Server::on_folder(crowd.folder, |_| {}).await;
    let ada = Client { origin: server.origin.clone(), ..crowd.ada };
    let documented: BTreeSet<String> = {
        let document = document(&server).await;
        let lists = operations(&server).await.into_iter().filter(|operation| operation.method == "GET");
        let lists = lists.filter(|operation| has_array(&document, &operation.document["responses"]["200"]));
        lists.map(|operation| operation.name()).filter(|name| !SINGLE.contains(&name.as_str())).collect()
    };
    let tested = crowd.cases.iter().map(|case| case.operation.to_owned()).collect();
    assert_eq!(documented, tested, "each list of the document is one of the cases");
    let mut sizes = BTreeMap::new();
    for case in &crowd.cases {
        let found = walk(&ada, case).await;
        let wanted = server.number(&case.count) as usize;
        assert_eq!(found.rows.len(), wanted, "{}", case.operation);
        assert_eq!(found.rows.iter().collect::<BTreeSet<_>>().len(), wanted, "{}: a row came twice", case.operation);
        sizes.insert(&case.path, (found.most_rows, found.most_bytes));
    }
    let over: Vec<_> = sizes.iter().filter(|(_, (rows, bytes))| *rows > ROWS || *bytes > BYTES).collect();
    assert!(over.is_empty(), "{over:#?}");
    for path in [format!("/channels/{}", crowd.channel), "/channels/name/big".into()] {
        let (_, body) = fetch(&ada, &path).await;
        assert!(body.len() <= BYTES, "{path}: {} bytes", body.len());
        let channel: Value = serde_json::from_str(&body).unwrap();
        assert_eq!(channel["data"]["users"].as_array().unwrap().len(), ROWS, "the first users are named");
        assert_eq!(channel["data"]["participants"].as_array().unwrap().len(), 200, "the first participants are shown");
    }
}

/// The answers along the links.
#[derive(Default)]
struct Walk {
    rows: Vec<String>,
    most_rows: usize,
    most_bytes: usize,
}

async fn walk(client: &Client, case: &Case) -> Walk {
    let mut walk = Walk::default();
    let mut path = Some(case.path.clone());
    while let Some(place) = path {
        let (next, body) = fetch(client, &place).await;
        let answer: Value = serde_json::from_str(&body).unwrap();
        let rows = answer.pointer(case.rows).and_then(Value::as_array).unwrap_or_else(|| panic!("{place}: {answer}"));
        assert!(!rows.is_empty() || next.is_none(), "{place}: no row, and more");
        walk.rows.extend(rows.iter().map(|row| row[case.key].to_string()));
        walk.most_rows = walk.most_rows.max(rows.len());
        walk.most_bytes = walk.most_bytes.max(body.len());
        path = next;
    }
    walk
}

/// An answer, and the path of the rest of the list.
async fn fetch(client: &Client, path: &str) -> (Option<String>, String) {
    let mut response = client.request("GET", &format!("/api/v1{path}")).send().await.unwrap();
    // A machine that is busy with other tests: the answer says to try again.
    for _ in 0..10 {
        if response.status().as_u16() == 503 {
            response = client.request("GET", &format!("/api/v1{path}")).send().await.unwrap();
        }
    }
    let link = response.headers().get("link").map(|link| link.to_str().unwrap().to_owned());
    let (status, body) = (response.status().as_u16(), response.text().await.unwrap());
    assert_eq!(status, 200, "{path}: {body}");
    let next = link.map(|link| {
        let address = link.strip_prefix('<').and_then(|link| link.strip_suffix(">; rel=\"next\""));
        let path = address.and_then(|address| address.strip_prefix(&format!("{}/api/v1", client.origin)));
        path.unwrap_or_else(|| panic!("{link}")).to_owned()
    });
    (next, body)
}

/// Whether an answer of this schema holds an array anywhere.
fn has_array(document: &Value, schema: &Value) -> bool {
    match schema {
        Value::Object(fields) => fields.iter().any(|(name, value)| match (name.as_str(), value) {
            ("type", Value::String(kind)) => kind == "array",
            ("$ref", Value::String(place)) => {
                has_array(document, document.pointer(place.trim_start_matches('#')).expect("what is referred to"))
            }
            _ => has_array(document, value),
        }),
        Value::Array(items) => items.iter().any(|item| has_array(document, item)),
        _ => false,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_messages_after_a_given_one_come_in_bounded_parts() {
    let server = Server::start().await;
    let (ada, _, organisation) = server.ada_and_grace().await;
    let channel = ada.channel(&organisation, "engines", &[]).await;
    let first = ada.say(&channel, "first").await;
    let mut said = Vec::new();
    for _ in 0..7 {
        said.push(json!(ada.say(&channel, &"\u{1d11e}".repeat(40_000)).await).to_string());
    }
    let case = Case {
        operation: "",
        path: format!("/channels/{channel}/messages?after={first}"),
        rows: "/messages",
        key: "id",
        count: String::new(),
    };
    let found = walk(&ada, &case).await;
    assert!(found.most_bytes <= BYTES && found.most_rows == 3, "{} rows, {} bytes", found.most_rows, found.most_bytes);
    // Each answer has the newest first, and the answers follow one another.
    let mut answers: Vec<Vec<String>> = said.chunks(3).map(<[String]>::to_vec).collect();
    answers.iter_mut().for_each(|answer| answer.reverse());
    assert_eq!(found.rows, answers.concat());
}
