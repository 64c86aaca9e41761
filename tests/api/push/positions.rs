//! A client that fetches and then subscribes from the answer's place in the log has each change exactly once.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::{
    harness::{Client, Reply, Server, text},
    socket::Socket,
};

/// The place that an answer shows, as the epoch and offset of a subscription.
fn place(reply: &Reply) -> (Value, Value) {
    let position = reply.position().expect("a position");
    let (epoch, offset) = position.split_once(':').unwrap();
    (json!(epoch), json!(offset.parse::<u64>().unwrap()))
}

/// The ids of the messages in a list of messages or publications.
fn ids<'a>(list: &'a Value, id: impl Fn(&'a Value) -> &'a Value) -> Vec<String> {
    list.as_array().into_iter().flatten().map(|one| text(id(one))).collect()
}

/// Fetches a channel's newest page and what a subscription recovers from its place.
async fn fetch(client: &Client, path: &str, channel: &str) -> (Vec<String>, Vec<String>) {
    let page = client.get(path).await;
    let (epoch, offset) = place(&page);
    let recovered = Socket::connect(client).await.recover(channel, &epoch, &offset).await;
    assert_eq!(recovered["recovered"], true, "{recovered}");
    let listed = page.expect(200);
    (ids(&listed["messages"], |one| &one["id"]), ids(&recovered["publications"], |one| &one["data"]["id"]))
}

#[tokio::test]
async fn a_subscription_from_an_answers_place_gets_what_came_since_and_nothing_else() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let general = ada.general(&organisation).await;
    for text in ["one", "two"] {
        ada.say(&general, text).await;
    }
    let newest = format!("/channels/{general}/messages");
    let streams = [general.clone(), organisation.clone(), grace.personal(&organisation)];
    // Keyed reads, lists, searches, kept pages and answers without any read.
    let paths = [
        newest.clone(),
        newest.clone(),
        format!("{newest}?limit=1"),
        format!("/channels/{general}"),
        format!("/channels/{general}/users"),
        format!("/organisations/{organisation}/search?q=one"),
        "/users/organisations".to_owned(),
        "/token/connection".to_owned(),
    ];
    for path in &paths {
        let (epoch, offset) = place(&grace.get(path).await);
        let said = ada.say(&general, &format!("since {path}")).await;
        for stream in &streams {
            let result = Socket::connect(&grace).await.recover(stream, &epoch, &offset).await;
            assert_eq!(result["recovered"], true, "{path} {stream}: {result}");
            let none = vec![];
            let missed: Vec<_> = result["publications"].as_array().unwrap_or(&none).iter().map(|one| &one["data"]).collect();
            match stream {
                stream if *stream == general => assert_eq!((missed.len(), &missed[0]["id"]), (1, &json!(said)), "{path}"),
                stream if *stream == organisation => assert!(missed.is_empty(), "{path}: {missed:?}"),
                _ => assert_eq!((missed.len(), &missed[0]["notification_type"]), (1, &json!("unread_thread_change")), "{path}"),
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_that_are_fetched_while_others_post_have_each_message_once() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let general = ada.general(&organisation).await;
    let posting = tokio::spawn({
        let general = general.clone();
        async move {
            let mut said = Vec::new();
            for n in 0..60 {
                said.push(ada.say(&general, &format!("post {n}")).await);
            }
            said
        }
    });
    let mut fetched = Vec::new();
    let mut sizes = (100..=200).cycle(); // some pages are kept, and some are not
    while !posting.is_finished() {
        let path = format!("/channels/{general}/messages?limit={}", sizes.next().unwrap() / 25 * 25);
        fetched.push(fetch(&grace, &path, &general).await);
    }
    let said = posting.await.unwrap();
    assert!(fetched.iter().any(|(listed, _)| !listed.is_empty() && listed.len() < said.len()), "some came between two posts");
    for (listed, recovered) in fetched {
        let both: BTreeSet<_> = listed.iter().chain(&recovered).collect();
        assert_eq!(both.len(), listed.len() + recovered.len(), "none twice");
        let expected: BTreeSet<_> = said.iter().take(both.len()).collect();
        assert_eq!(both, expected, "none is missing");
    }
}

#[tokio::test]
async fn a_refusal_and_an_operation_that_writes_name_no_place() {
    let server = Server::start().await;
    let ada = server.user("ada").await;
    let replies = [
        ada.get("/channels/none").await,
        ada.get("/nowhere").await,
        server.anonymous().get("/users/me").await,
        ada.post("/organisations", json!({ "name": "Engines" })).await,
    ];
    for reply in replies {
        assert_eq!(reply.position(), None, "{}", reply.status);
    }
    let first = place(&ada.get("/users/me").await);
    let server = server.restart().await;
    assert_eq!(place(&ada.get("/users/me").await), first, "the log outlives the server");
    drop(server);
}
