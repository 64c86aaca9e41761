//! A chat client, screen by screen: the calls that each makes, what it reads of the answers, and what it keeps current by
//! what is pushed.

mod chat;

use std::collections::BTreeMap;

use serde_json::json;

use crate::{
    harness::{Client, PASSWORD, Server, text},
    messages::search::indexed,
    shapes::assert_shape,
};

/// What a screen does and reads: a row of `screens.md`.
struct Row<'a> {
    who: &'a str,
    method: &'a str,
    path: &'a str,
    body: &'a str,
    reads: &'a str,
    gives: &'a str,
}

/// The screens in their order.
fn screens() -> impl Iterator<Item = (&'static str, Vec<Row<'static>>)> {
    include_str!("screens.md").split("\n## ").skip(1).map(|section| {
        let rows = section.lines().filter(|line| line.starts_with("| ") && line.contains('`'));
        (section.lines().next().unwrap(), rows.map(row).collect())
    })
}

fn row(line: &str) -> Row<'_> {
    let cells: Vec<_> = line.split('|').map(str::trim).collect();
    let ["", who, operation, body, reads, gives, ""] = cells[..] else { panic!("five cells: {line}") };
    let (method, path) = operation.trim_matches('`').split_once(' ').unwrap_or_else(|| panic!("a method and a path: {line}"));
    Row { who, method, path, body: body.trim_matches('`'), reads, gives }
}

#[tokio::test]
async fn each_screen_of_a_chat_client_finds_what_it_reads() {
    let server = Server::start().await;
    let (mut names, clients) = scene(&server).await;
    for (screen, rows) in screens() {
        assert!(!rows.is_empty(), "{screen}");
        for row in rows {
            let filled =
                |text: &str| names.iter().fold(text.to_owned(), |text, (name, value)| text.replace(&format!("<{name}>"), value));
            let body = (!row.body.is_empty()).then(|| serde_json::from_str(&filled(row.body)).unwrap());
            let reply = clients[row.who].call(row.method, &filled(row.path), body).await;
            let what = format!("{screen}: {} {}", row.method, row.path);
            assert!((200..300).contains(&reply.status), "{what}: {} {}", reply.status, reply.body);
            for part in filled(row.reads).split("; ").filter(|part| !part.is_empty()) {
                let (place, shape) = part.split_once(' ').unwrap_or_else(|| panic!("a place and a shape: {part}"));
                let found = reply.body.pointer(place).unwrap_or_else(|| panic!("{what}: no {place} in {:#}", reply.body));
                assert_shape(found, shape);
            }
            if let Some((name, place)) = row.gives.split_once(" = ") {
                let value = reply.body.pointer(place).unwrap_or_else(|| panic!("{what}: no {place} in {:#}", reply.body));
                names.insert(name.to_owned(), value.as_str().map_or_else(|| value.to_string(), str::to_owned));
            }
        }
    }
}

/// An organisation with something on each screen.
async fn scene(server: &Server) -> (BTreeMap<String, String>, BTreeMap<&'static str, Client>) {
    let ada = server.user("ada").await;
    let org = ada.organisation("Harbour").await;
    let grace = server.member(&ada, &org, "grace", "manager").await;
    let bob = server.member(&ada, &org, "bob", "member").await;
    let channel = ada.channel(&org, "pilots", &[&grace]).await;
    ada.channel(&org, "engines", &[]).await;
    let old = ada.channel(&org, "sails", &[&grace]).await;
    ada.put(&format!("/channels/{old}/archive"), json!({ "archived": true })).await.expect(200);
    ada.post(&format!("/organisations/{org}/dms"), json!({ "user_ids": [grace.user_id] })).await.expect(201);
    let thread = ada.say(&channel, "The Fram arrives at six, @grace").await;
    ada.reply(&channel, &thread, "Who takes her in?").await;
    let message = format!("/channels/{channel}/messages/{thread}");
    ada.call("PUT", &format!("{message}/reactions/tada"), None).await.expect(200);
    ada.call("PUT", &format!("{message}/pin"), None).await.expect(200);
    ada.invite(&org, "alan@example.org", "member").await;
    indexed(&ada, &org).await;
    let names = [
        ("org", org),
        ("grace", grace.user_id.clone()),
        ("bob", text(&json!(bob.user_id))),
        ("channel", channel),
        ("thread", thread),
        ("password", PASSWORD.to_owned()),
    ];
    let names = names.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    (names, BTreeMap::from([("nobody", server.anonymous()), ("ada", ada), ("grace", grace)]))
}
