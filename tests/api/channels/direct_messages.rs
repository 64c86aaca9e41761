//! Direct messages: one for each set of members, and nothing but a conversation.

use serde_json::{Value, json};
use tidings::error::Code;

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
    let told = socket.push(|push| push["pub"]["data"]["data"]["channels_id"] == wider["channels_id"]).await;
    assert_eq!(told["channel"], personal);
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
    ada.call("POST", &path("/join"), None).await.refused(403, Code::ChannelIsDirect);
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

#[tokio::test]
async fn a_direct_message_shows_its_participants_under_the_names_that_they_have_now() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let bob = server.member(&ada, &organisation, "bob", "member").await;
    let made = open(&ada, &organisation, &[&grace.user_id, &bob.user_id]).await.data(201, OPENED);
    assert_eq!((&made["name"], made["participants"].as_array().unwrap().len()), (&json!("ada, bob, grace"), 3));
    let dm = text(&made["channels_id"]);
    let between = text(&open(&ada, &organisation, &[&bob.user_id]).await.data(201, OPENED)["channels_id"]);
    let mut socket = Socket::listening(&bob, &[&bob.personal(&organisation)]).await;

    let edit =
        json!({ "username": "amazing", "first_name": "Grace", "last_name": "Hopper", "avatar_url": "https://x.example/g.png" });
    grace.patch("/profile", edit).await.expect(200);
    server.deferred_work_done().await;
    let told = socket.on(&bob.personal(&organisation)).await;
    assert_eq!([&told["data"]["channels_id"], &told["data"]["name"]], [&json!(dm), &json!("ada, amazing, bob")]);
    assert_eq!([&told["data"]["action"], &told["data"]["username"]], ["renamed", "amazing"]);
    let wanted = json!([
        { "user_id": ada.user_id, "username": "ada", "full_name": "", "avatar_url": "", "user_type": "user" },
        { "user_id": grace.user_id, "username": "amazing", "full_name": "Grace Hopper", "avatar_url": "https://x.example/g.png", "user_type": "user" },
        { "user_id": bob.user_id, "username": "bob", "full_name": "", "avatar_url": "", "user_type": "user" },
    ]);
    let listed = list(&bob, &organisation).await;
    let listed = listed.as_array().unwrap().iter().find(|one| one["channels_id"] == dm).unwrap();
    assert_eq!((&listed["name"], &listed["participants"]), (&json!("ada, amazing, bob"), &wanted));
    let shown = bob.get(&format!("/channels/{dm}")).await.expect(200)["data"].take();
    assert_eq!((&shown["name"], &shown["participants"]), (&json!("ada, amazing, bob"), &wanted));

    // Nobody is told of a direct message that she is not in, and nothing is told where nothing changed.
    grace.patch("/profile", json!({ "phone": "7" })).await.expect(200);
    server.deferred_work_done().await;
    ada.say(&between, "psst").await;
    let told = socket.on(&bob.personal(&organisation)).await;
    assert_eq!([&told["notification_type"], &told["data"]["channels_id"]], [&json!("unread_thread_change"), &json!(between)]);

    // One who leaves stays a side of it.
    ada.delete(&format!("/organisations/{organisation}/users/{}", grace.user_id)).await.expect(200);
    let shown = bob.get(&format!("/channels/{dm}")).await.expect(200)["data"].take();
    assert_eq!((&shown["name"], shown["participants"].as_array().unwrap().len()), (&json!("ada, amazing, bob"), 3));
}

#[tokio::test]
async fn a_name_that_another_chose_in_a_direct_message_is_left_to_them() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let dm = text(&open(&ada, &organisation, &[&grace.user_id]).await.data(201, OPENED)["channels_id"]);
    ada.patch(&format!("/channels/{dm}/username"), json!({ "username": "amazing" })).await.expect(200);
    grace.patch("/profile", json!({ "username": "amazing" })).await.expect(200);
    server.deferred_work_done().await;
    let users = grace.get(&format!("/channels/{dm}/users")).await.expect(200)["users"].take();
    assert_eq!([&users[0]["username"], &users[1]["username"]], ["amazing", "grace"], "ada's, and the one that she had");
    assert_eq!(list(&grace, &organisation).await[0]["name"], "ada, amazing", "the accounts' names");
}

#[tokio::test]
async fn lists_of_ones_own_channels_say_when_the_last_message_was_written() {
    const NEVER: &str = "0001-01-01T00:00:00Z";
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let dm = text(&open(&ada, &organisation, &[&grace.user_id]).await.data(201, OPENED)["channels_id"]);
    let news = ada.channel(&organisation, "news", &[&grace]).await;
    let last = async |list: &str, channel: &str| {
        let listed = grace.get(&format!("/organisations/{organisation}/{list}")).await.expect(200)["data"].take();
        let found = listed.as_array().unwrap().iter().find(|one| one["channels_id"] == channel).unwrap();
        text(&found["last_message_at"])
    };
    let personal = grace.personal(&organisation);
    let mut socket = Socket::listening(&grace, &[&personal]).await;
    for (list, channel) in [("dms", &dm), ("user-channels", &news)] {
        assert_eq!(last(list, channel).await, NEVER);
        let post = ada.post(&format!("/channels/{channel}/messages"), json!({ "content": "one" })).await.expect(201);
        assert_eq!(last(list, channel).await, text(&post["data"]["created_at"]));
        assert_eq!(socket.on(&personal).await["data"]["last_message_at"], post["data"]["created_at"]);
        let reply = json!({ "content": "a reply", "thread_id": post["data"]["id"] });
        let reply = ada.post(&format!("/channels/{channel}/messages"), reply).await.expect(201);
        assert_eq!(last(list, channel).await, text(&reply["data"]["created_at"]));
        assert_eq!(socket.on(&personal).await["data"]["last_message_at"], reply["data"]["created_at"]);
        ada.delete(&format!("/channels/{channel}/messages/{}", text(&reply["data"]["id"]))).await.expect(200);
        assert_eq!(last(list, channel).await, text(&reply["data"]["created_at"]), "it was written then");
    }
}
