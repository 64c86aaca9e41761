//! Direct messages: one for each set of members, and nothing but a conversation.

use serde_json::{Value, json};

use crate::{
    harness::{Client, Reply, Server, text, unknown_id},
    shapes::{LISTED_CHANNEL, assert_shape},
    socket::Socket,
};

const OPENED: &str = "Direct message opened successfully";

async fn open(client: &Client, organisation: &str, others: &[&str]) -> Reply {
    client.post(&format!("/organisations/{organisation}/dms"), json!({ "user_ids": others })).await
}

async fn list(client: &Client, organisation: &str) -> Value {
    client.get(&format!("/organisations/{organisation}/dms")).await.data(200, "Direct messages fetched successfully")
}

#[tokio::test]
async fn the_same_members_have_one_direct_message() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let bob = server.member(&ada, &organisation, "bob", "member").await;
    let personal = grace.personal(&organisation);
    let mut socket = Socket::listening(&grace, &[&personal]).await;

    let made = open(&ada, &organisation, &[&grace.user_id]).await.data(201, OPENED);
    assert_shape(&made, LISTED_CHANNEL);
    assert_eq!([&made["is_dm"], &made["is_private"], &made["user_count"]], [&json!(true), &json!(true), &json!(2)]);
    assert_eq!(made["name"], "ada, grace");
    let dm = text(&made["channels_id"]);
    let told = socket.on(&personal).await;
    assert_eq!([&told["notification_type"], &told["data"]["channels_id"]], ["channel_update", &dm]);
    for others in [&[&*ada.user_id][..], &[&ada.user_id, &grace.user_id, &ada.user_id]] {
        let found = open(&grace, &organisation, others).await.data(200, OPENED);
        assert_eq!(found["channels_id"], dm);
    }
    let wider = open(&ada, &organisation, &[&bob.user_id, &grace.user_id]).await.data(201, OPENED);
    assert_ne!(wider["channels_id"], dm);

    ada.say(&dm, "psst @grace").await;
    let told = socket.on(&personal).await;
    assert_eq!(told["data"]["channels_id"], wider["channels_id"]);
    let counts = loop {
        let told = socket.on(&personal).await;
        if told["notification_type"] == "unread_thread_change" {
            break told;
        }
    };
    assert_eq!([&counts["data"]["channels_id"], &counts["data"]["thread_count"]], [&json!(dm), &json!(1)]);
    let listed = list(&grace, &organisation).await;
    assert_eq!(listed.as_array().unwrap().len(), 2);
    assert_shape(&listed[0], LISTED_CHANNEL);
    assert_eq!(
        [&listed[0]["channels_id"], &listed[0]["thread_count"], &listed[0]["mention_count"]],
        [&json!(dm), &json!(1), &json!(1)]
    );
    assert_eq!(listed[0]["messages"][0]["content"], "psst @grace");
    assert_eq!(list(&bob, &organisation).await.as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn a_direct_message_is_in_no_list_of_channels() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let dm = text(&open(&ada, &organisation, &[&grace.user_id]).await.data(201, OPENED)["channels_id"]);
    ada.say(&dm, "psst").await;
    for list in ["channels", "user-channels", "user-not-channels", "channels/archived"] {
        let body = ada.get(&format!("/organisations/{organisation}/{list}")).await.expect(200);
        assert!(!body.to_string().contains(&dm), "{list}: {body}");
    }
    let body = ada.get("/channels").await.expect(200);
    assert!(!body.to_string().contains(&dm), "{body}");
    ada.get("/channels/name/ada,%20grace").await.expect(404);
    assert_eq!(ada.get(&format!("/organisations/{organisation}")).await.expect(200)["data"]["channels_count"], 1);
    assert_eq!(ada.get(&format!("/channels/{dm}")).await.expect(200)["data"]["is_dm"], true);
}

#[tokio::test]
async fn a_direct_message_is_not_joined_left_edited_archived_or_deleted() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let bob = server.member(&ada, &organisation, "bob", "member").await;
    let dm = text(&open(&ada, &organisation, &[&grace.user_id]).await.data(201, OPENED)["channels_id"]);
    let theirs = text(&open(&grace, &organisation, &[&bob.user_id]).await.data(201, OPENED)["channels_id"]);
    let path = |rest: &str| format!("/channels/{dm}{rest}");
    ada.call("POST", &path("/join"), None).await.expect(403);
    ada.call("POST", &path("/leave"), None).await.expect(403);
    ada.patch(&path(""), json!({ "name": "x" })).await.expect(403);
    ada.patch(&path(""), json!({ "is_private": false })).await.expect(403);
    ada.delete(&path("")).await.expect(403);
    ada.put(&path("/archive"), json!({ "archived": true })).await.expect(403);
    let body = json!({ "channel_id": dm, "archived": true });
    ada.put(&format!("/organisations/{organisation}/archive-channel"), body).await.expect(403);
    ada.post(&path("/users"), json!({ "user_ids": [bob.user_id] })).await.expect(403);
    ada.delete(&path(&format!("/users/{}", grace.user_id))).await.expect(403);
    let hers = grace.say(&dm, "mine").await;
    ada.delete(&path(&format!("/messages/{hers}"))).await.expect(403); // though she owns it, and the organisation
    grace.delete(&path(&format!("/messages/{hers}"))).await.expect(200);

    // Others are told nothing, not even the organisation's owner.
    let hidden = ada.get(&format!("/channels/{theirs}")).await.expect(404);
    assert_eq!(hidden, ada.get(&format!("/channels/{}", unknown_id())).await.expect(404));
    ada.get(&format!("/channels/{theirs}/messages")).await.expect(404);
    ada.post(&format!("/channels/{theirs}/messages"), json!({ "content": "x" })).await.expect(403);
    ada.post("/token/subscription", json!({ "channel": theirs })).await.expect(403);
}

#[tokio::test]
async fn opening_a_direct_message_fails_as_documented() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let (guest, outsider) = (server.member(&ada, &organisation, "guest", "guest").await, server.user("outsider").await);
    let unknown = open(&ada, &unknown_id(), &[&grace.user_id]).await.expect(404);
    assert_eq!(unknown, open(&outsider, &organisation, &[&ada.user_id]).await.expect(404));
    outsider.get(&format!("/organisations/{organisation}/dms")).await.expect(404);
    open(&guest, &organisation, &[&ada.user_id]).await.expect(403);
    for stranger in [outsider.user_id.clone(), unknown_id()] {
        let refused = open(&ada, &organisation, &[&grace.user_id, &stranger]).await.expect(422);
        assert!(refused["message"].as_str().unwrap().contains(&stranger), "{refused}");
    }
    for nobody in [&[][..], &[&*ada.user_id]] {
        open(&ada, &organisation, nobody).await.expect(422);
    }
    open(&ada, &organisation, &["no-uuid"]).await.expect(400);
    ada.post(&format!("/organisations/{organisation}/dms"), json!({})).await.expect(400);
    open(&ada, "no-uuid", &[&grace.user_id]).await.expect(400);
    open(&server.anonymous(), &organisation, &[&grace.user_id]).await.expect(401);
    server.anonymous().get(&format!("/organisations/{organisation}/dms")).await.expect(401);
    assert_eq!(list(&ada, &organisation).await, json!([]));
    let listed = text(&open(&ada, &organisation, &[&guest.user_id]).await.data(201, OPENED)["channels_id"]);
    assert_eq!(list(&guest, &organisation).await[0]["channels_id"], listed);
}

#[tokio::test]
async fn a_direct_message_takes_eight_other_members_and_refuses_nine() {
    let server = Server::start().await;
    let ada = server.user("ada").await;
    let organisation = ada.organisation("Engines").await;
    let mut others = Vec::new();
    for number in 0..9 {
        others.push(server.member(&ada, &organisation, &format!("user{number}"), "member").await.user_id);
    }
    let others: Vec<&str> = others.iter().map(String::as_str).collect();
    open(&ada, &organisation, &others).await.expect(422);
    let made = open(&ada, &organisation, &others[..8]).await.data(201, OPENED);
    assert_eq!(made["user_count"], 9);
}
