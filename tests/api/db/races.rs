//! Concurrent requests: constraints decide, and exactly one request wins.

use futures_util::future::join_all;
use serde_json::{Value, json};

use crate::{
    harness::{PASSWORD, Reply, Server, text, unknown_id},
    socket::Socket,
};

const RIVALS: usize = 8;

/// Exactly one answer has the first status, all others the second.
#[track_caller]
fn one_wins(replies: Vec<Reply>, won: u16, lost: u16) {
    let mut statuses: Vec<_> = replies.iter().map(|reply| reply.status).collect();
    statuses.sort_by_key(|status| *status != won);
    let mut expected = vec![lost; RIVALS];
    expected[0] = won;
    assert_eq!(statuses, expected);
}

#[tokio::test]
async fn of_concurrent_registrations_of_an_address_one_succeeds() {
    let server = Server::start().await;
    let client = server.anonymous();
    let body = json!({ "email": "ada@example.org", "password": PASSWORD });
    one_wins(join_all((0..RIVALS).map(|_| client.post("/auth/register", body.clone()))).await, 201, 422);
}

#[tokio::test]
async fn of_concurrent_channels_of_one_name_one_is_made() {
    let server = Server::start().await;
    let ada = server.user("ada").await;
    let organisation = ada.organisation("Engines").await;
    let body = json!({ "organisation_id": organisation, "name": "news" });
    one_wins(join_all((0..RIVALS).map(|_| ada.post("/channels", body.clone()))).await, 201, 422);
}

#[tokio::test]
async fn of_concurrent_joins_and_leaves_one_each_takes_effect() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let channel = ada.channel(&organisation, "news", &[]).await;
    for step in ["join", "leave"] {
        let path = format!("/channels/{channel}/{step}");
        one_wins(join_all((0..RIVALS).map(|_| grace.call("POST", &path, None))).await, 200, 422);
    }
}

#[tokio::test]
async fn of_concurrent_acceptances_of_an_invitation_one_succeeds() {
    let server = Server::start().await;
    let (ada, grace) = (server.user("ada").await, server.user("grace").await);
    let organisation = ada.organisation("Engines").await;
    let body = json!({ "token": ada.invite(&organisation, &grace.email, "member").await });
    one_wins(join_all((0..RIVALS).map(|_| grace.post("/invite/verify", body.clone()))).await, 200, 422);

    let body = json!({ "token": ada.invite(&organisation, "new@example.org", "member").await });
    let client = server.anonymous();
    let replies = join_all((0..RIVALS).map(|_| client.post("/invite/verify", body.clone()))).await;
    assert_eq!(replies.iter().filter(|reply| reply.status == 200).count(), 1);
    let members = ada.get(&format!("/organisations/{organisation}/users")).await.expect(200);
    assert_eq!(members["pagination"]["total_items"], 3);
}

#[tokio::test]
async fn of_concurrent_invitations_of_an_address_one_is_made() {
    let server = Server::start().await;
    let ada = server.user("ada").await;
    let organisation = ada.organisation("Engines").await;
    let body = json!({ "org_id": organisation, "emails": ["new@example.org"] });
    let replies = join_all((0..RIVALS).map(|_| ada.post("/invite", body.clone()))).await;
    let made: usize = replies.into_iter().map(|reply| reply.expect(201)["data"]["invitations"].as_array().unwrap().len()).sum();
    assert_eq!(made, 1);
}

#[tokio::test]
async fn a_post_repeated_concurrently_is_posted_and_pushed_once() {
    let server = Server::start().await;
    let ada = server.user("ada").await;
    let channel = ada.general(&ada.organisation("Engines").await).await;
    let mut socket = Socket::listening(&ada, &[&channel]).await;
    let path = format!("/channels/{channel}/messages");
    let body = json!({ "id": unknown_id(), "content": "once" });
    let replies = join_all((0..RIVALS).map(|_| ada.post(&path, body.clone()))).await;
    let answers: Vec<Value> = replies.into_iter().map(|reply| reply.expect(201)).collect();
    assert!(answers.iter().all(|answer| *answer == answers[0]));
    ada.say(&channel, "marker").await;
    assert_eq!([text(&socket.on(&channel).await["content"]), text(&socket.on(&channel).await["content"])], ["once", "marker"]);
    assert_eq!(ada.get(&path).await.expect(200)["messages"].as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn a_list_that_follows_an_answered_post_contains_it() {
    let server = Server::start().await;
    let ada = server.user("ada").await;
    let channel = ada.general(&ada.organisation("Engines").await).await;
    let post_and_read = async |number: usize| {
        let id = ada.say(&channel, &number.to_string()).await;
        let listed = ada.get(&format!("/channels/{channel}/messages?limit=200")).await.expect(200);
        assert!(listed["messages"].as_array().unwrap().iter().any(|message| message["id"] == id));
    };
    join_all((0..32).map(post_and_read)).await;
    let threads = ada.get(&format!("/threads/channels/{channel}")).await.expect(200);
    assert_eq!(threads["data"].as_array().unwrap().len(), 32);
    assert_eq!(ada.get("/channels").await.expect(200)["channels"][0]["message_count"], 32);
}
