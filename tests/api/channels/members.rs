//! Members of channels: joining, leaving, names, counts.

use serde_json::{Value, json};
use tidings::error::Code;

use crate::{
    harness::{Client, Reply, Server, blob, unknown_id},
    shapes::{CHANNEL_MEMBER, JOINED, assert_shape},
    socket::Socket,
};

async fn join(client: &Client, channel: &str) -> Reply {
    client.call("POST", &format!("/channels/{channel}/join"), None).await
}

async fn leave(client: &Client, channel: &str) -> Reply {
    client.call("POST", &format!("/channels/{channel}/leave"), None).await
}

async fn rename(client: &Client, channel: &str, name: &str) -> Reply {
    client.patch(&format!("/channels/{channel}/username"), json!({ "username": name })).await
}

async fn count(client: &Client, channel: &str) -> Value {
    client.get(&format!("/channels/{channel}/num-users")).await.expect(200)
}

#[tokio::test]
async fn a_member_joins_a_public_channel_and_leaves_it() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let channel = ada.channel(&organisation, "news", &[]).await;
    assert_eq!(count(&grace, &channel).await, json!({ "user_count": 1 }));

    let joined = join(&grace, &channel).await.data(200, "User joined channel successfully");
    assert_shape(&joined, JOINED);
    assert_eq!([&joined["userId"], &joined["channel_id"], &joined["name"]], [&grace.user_id, &channel, "news"]);
    assert_eq!([&joined["owner_id"], &joined["organisation_id"]], [&ada.user_id, &organisation]);
    assert_eq!(count(&grace, &channel).await, json!({ "user_count": 2 }));
    grace.say(&channel, "hello").await;

    let left = leave(&grace, &channel).await.data(200, "User left channel successfully");
    assert_shape(&left, JOINED);
    assert_eq!(left["created_at"], joined["created_at"], "the membership's");
    assert_eq!(count(&grace, &channel).await, json!({ "user_count": 1 }));
    grace.post(&format!("/channels/{channel}/messages"), json!({ "content": "still here?" })).await.expect(403);
    grace.get(&format!("/channels/{channel}/messages")).await.expect(403);
    leave(&ada, &channel).await.expect(200);
}

#[tokio::test]
async fn joining_a_channel_fails_as_documented() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let (guest, outsider) = (server.member(&ada, &organisation, "guest", "guest").await, server.user("outsider").await);
    let public = ada.channel(&organisation, "public", &[]).await;
    let private = ada.private_channel(&organisation, "private", &[]).await;
    let archived = ada.channel(&organisation, "archived", &[]).await;
    server.sql(&format!("update channels set archived_at = created_at where id = {}", blob(&archived)));

    let unknown = join(&ada, &unknown_id()).await.expect(403);
    assert_eq!(unknown, join(&grace, &private).await.expect(403));
    assert_eq!(unknown, join(&outsider, &public).await.expect(403));
    join(&guest, &public).await.expect(403);
    join(&grace, &archived).await.expect(403);
    join(&grace, "no-uuid").await.expect(400);
    join(&server.anonymous(), &public).await.expect(401);
    join(&grace, &public).await.expect(200);
    join(&grace, &public).await.refused(422, Code::AlreadyAMember);
    join(&ada, &private).await.expect(422);
}

#[tokio::test]
async fn a_member_joins_a_channel_under_a_free_name_only() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let channel = ada.channel(&organisation, "news", &[]).await;
    let path = format!("/channels/{channel}/join");
    grace.post(&path, json!({ "username": "ADA" })).await.expect(422);
    grace.post(&path, json!({ "username": 7 })).await.expect(400);
    grace.call_text("POST", &path, "{").await.expect(400);
    grace.post(&path, json!({ "username": "admiral" })).await.expect(200);
    let users = ada.get(&format!("/channels/{channel}/users")).await.expect(200);
    assert_eq!(users["users"][1]["username"], "admiral");
}

#[tokio::test]
async fn leaving_a_channel_fails_as_documented() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let outsider = server.user("outsider").await;
    let public = ada.channel(&organisation, "public", &[]).await;
    let private = ada.private_channel(&organisation, "private", &[]).await;
    let unknown = leave(&ada, &unknown_id()).await.expect(403);
    assert_eq!(unknown, leave(&grace, &private).await.expect(403));
    assert_eq!(unknown, leave(&outsider, &public).await.expect(403));
    leave(&grace, &public).await.refused(422, Code::NotInChannel);
    leave(&grace, "no-uuid").await.expect(400);
    leave(&server.anonymous(), &public).await.expect(401);
}

#[tokio::test]
async fn a_member_changes_their_name_in_the_channel() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let channel = ada.channel(&organisation, "news", &[&grace]).await;
    rename(&grace, &channel, "admiral").await.done(200, "Username updated successfully");
    let posted = grace.post(&format!("/channels/{channel}/messages"), json!({ "content": "hello" })).await.expect(201);
    assert_eq!(posted["data"]["username"], "admiral");
    rename(&grace, &channel, "Ada").await.expect(422);
    rename(&grace, &channel, "admiral").await.expect(200);

    let path = format!("/channels/{channel}/username");
    for body in [json!({}), json!({ "username": 7 }), json!({ "username": null })] {
        grace.patch(&path, body).await.expect(400);
    }
    grace.call_text("PATCH", &path, "{").await.expect(400);
    rename(&grace, "no-uuid", "x").await.expect(400);
    rename(&server.anonymous(), &channel, "x").await.expect(401);
    leave(&grace, &channel).await.expect(200);
    rename(&grace, &channel, "x").await.expect(403);
    let unknown = rename(&ada, &unknown_id(), "x").await.expect(403);
    assert_eq!(unknown, rename(&server.user("outsider").await, &channel, "x").await.expect(403));
}

#[tokio::test]
async fn every_member_of_the_organisation_sees_who_is_in_a_public_channel() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let guest = server.member(&ada, &organisation, "guest", "guest").await;
    let channel = ada.channel(&organisation, "news", &[]).await;
    let users = grace.get(&format!("/channels/{channel}/users")).await.expect(200);
    assert_eq!(users.as_object().unwrap().len(), 1, "bare: {users}");
    assert_shape(&users["users"][0], CHANNEL_MEMBER);
    assert_eq!([&users["users"][0]["user_id"], &users["users"][0]["username"]], [&ada.user_id, "ada"]);
    assert_eq!(count(&grace, &channel).await, json!({ "user_count": 1 }));
    for detail in ["", "/users", "/num-users"] {
        guest.get(&format!("/channels/{channel}{detail}")).await.expect(404);
    }
}

#[tokio::test]
async fn the_api_says_whether_a_user_is_in_a_channel() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let channel = ada.channel(&organisation, "news", &[]).await;
    let path = format!("/channels/{channel}/user-exist");
    for parameter in ["userId", "user_id"] {
        let exists = async |user: &str| {
            let reply = grace.get(&format!("{path}?{parameter}={user}")).await.expect(200);
            reply["data"]["exists"].as_bool().unwrap()
        };
        assert!(exists(&ada.user_id).await);
        assert!(!exists(&grace.user_id).await);
        assert!(!exists(&unknown_id()).await);
    }
    let known = grace.get(&format!("{path}?userId={}", ada.user_id)).await.data(200, "User exists in channel");
    assert_eq!(known, json!({ "exists": true }));
    grace.get(&path).await.expect(400);
    grace.get(&format!("{path}?userId=no-uuid")).await.expect(400);
}

#[tokio::test]
async fn two_of_the_same_name_get_different_names_in_a_channel() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let channel = ada.channel(&organisation, "news", &[]).await;
    rename(&ada, &channel, "grace").await.expect(200);
    join(&grace, &channel).await.expect(200);
    let users = ada.get(&format!("/channels/{channel}/users")).await.expect(200)["users"].take();
    assert_eq!(users[0]["username"], "grace");
    assert_ne!(users[1]["username"], "grace");
}

async fn add(client: &Client, channel: &str, users: &[&str]) -> Reply {
    client.post(&format!("/channels/{channel}/users"), json!({ "user_ids": users })).await
}

async fn remove(client: &Client, channel: &str, user: &str) -> Reply {
    client.delete(&format!("/channels/{channel}/users/{user}")).await
}

#[tokio::test]
async fn members_add_members_of_the_organisation() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let (bob, guest) =
        (server.member(&ada, &organisation, "bob", "member").await, server.member(&ada, &organisation, "guest", "guest").await);
    let channel = ada.private_channel(&organisation, "plans", &[&grace]).await;
    ada.say(&channel, "@channel before").await;
    let personal = bob.personal(&organisation);
    let mut his = Socket::listening(&bob, &[&personal]).await;
    let mut hers = Socket::listening(&grace, &[&channel]).await;

    let added = add(&grace, &channel, &[&bob.user_id, &bob.user_id, &ada.user_id]).await;
    let added = added.data(200, "Users added to channel successfully");
    assert_eq!(added.as_array().unwrap().len(), 2);
    assert_shape(&added[0], CHANNEL_MEMBER);
    assert_eq!([&added[0]["user_id"], &added[0]["username"], &added[1]["user_id"]], [&bob.user_id, "bob", &ada.user_id]);
    assert_eq!(count(&bob, &channel).await, json!({ "user_count": 3 }));
    for update in [his.on(&personal).await, hers.on(&channel).await] {
        assert_eq!(update["notification_type"], "channel_update");
        assert_eq!([&update["modification_ids"]["user_id"], &update["data"]["name"]], [&bob.user_id, "plans"]);
    }
    bob.say(&channel, "here").await;
    let body = json!({ "channel_id": channel, "user_ids": [guest.user_id] });
    bob.post("/channels/add-multiple", body).await.data(200, "Users added to channel successfully");
    guest.get(&format!("/channels/{channel}/messages")).await.expect(200);
    assert_eq!(hers.on(&channel).await["content"], "here");
    assert_eq!(hers.on(&channel).await["modification_ids"]["user_id"], guest.user_id, "who was in it is not told of again");
}

#[tokio::test]
async fn adding_users_to_a_channel_fails_as_documented() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let bob = server.member(&ada, &organisation, "bob", "member").await;
    let guest = server.member(&ada, &organisation, "guest", "guest").await;
    let outsider = server.user("outsider").await;
    let public = ada.channel(&organisation, "public", &[&guest]).await;
    let private = ada.private_channel(&organisation, "private", &[]).await;
    let archived = ada.channel(&organisation, "archived", &[]).await;
    ada.put(&format!("/channels/{archived}/archive"), json!({ "archived": true })).await.expect(200);

    let unknown = add(&ada, &unknown_id(), &[&bob.user_id]).await.expect(404);
    assert_eq!(unknown, add(&grace, &private, &[&grace.user_id]).await.expect(404));
    assert_eq!(unknown, add(&outsider, &public, &[&outsider.user_id]).await.expect(404));
    let body = json!({ "channel_id": private, "user_ids": [grace.user_id] });
    assert_eq!(unknown, grace.post("/channels/add-multiple", body).await.expect(404));
    add(&grace, &public, &[&bob.user_id]).await.expect(403);
    add(&guest, &public, &[&bob.user_id]).await.expect(403);
    add(&ada, &archived, &[&bob.user_id]).await.expect(403);
    add(&server.anonymous(), &public, &[&bob.user_id]).await.expect(401);
    for stranger in [outsider.user_id.clone(), unknown_id()] {
        let refused = add(&ada, &public, &[&bob.user_id, &stranger]).await.expect(422);
        assert!(refused["message"].as_str().unwrap().contains(&stranger), "{refused}");
    }
    add(&ada, &public, &[]).await.expect(422);
    add(&ada, &public, &vec![bob.user_id.as_str(); 101]).await.expect(422);
    add(&ada, &public, &["no-uuid"]).await.expect(400);
    ada.post(&format!("/channels/{public}/users"), json!({})).await.expect(400);
    ada.post("/channels/add-multiple", json!({ "user_ids": [bob.user_id] })).await.expect(400);
    assert_eq!(count(&ada, &public).await, json!({ "user_count": 2 }), "nobody was added");
    add(&ada, &public, &vec![bob.user_id.as_str(); 100]).await.expect(200);
}

#[tokio::test]
async fn the_channels_owner_and_a_manager_remove_its_members() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let bob = server.member(&ada, &organisation, "bob", "member").await;
    let manager = server.member(&ada, &organisation, "manager", "manager").await;
    let outsider = server.user("outsider").await;
    let channel = grace.channel(&organisation, "news", &[&ada, &bob]).await;
    let private = grace.private_channel(&organisation, "private", &[&ada]).await;
    let mut his = Socket::listening(&bob, &[&channel]).await;

    remove(&bob, &channel, &ada.user_id).await.expect(403);
    let unknown = remove(&ada, &unknown_id(), &bob.user_id).await.expect(404);
    assert_eq!(unknown, remove(&outsider, &channel, &bob.user_id).await.expect(404));
    assert_eq!(unknown, remove(&manager, &private, &ada.user_id).await.expect(404));
    for stranger in [&manager.user_id, &outsider.user_id, &unknown_id()] {
        remove(&grace, &channel, stranger).await.expect(404);
    }
    remove(&grace, &channel, "no-uuid").await.expect(400);
    remove(&server.anonymous(), &channel, &bob.user_id).await.expect(401);
    assert_eq!(count(&ada, &channel).await, json!({ "user_count": 3 }));

    remove(&grace, &channel, &bob.user_id).await.expect(200);
    assert_eq!(his.unsubscribed(&channel).await, 2000);
    bob.get(&format!("/channels/{channel}/messages")).await.expect(403);
    remove(&manager, &channel, &ada.user_id).await.expect(200);
    assert_eq!(count(&ada, &channel).await, json!({ "user_count": 1 }));
    remove(&grace, &channel, &bob.user_id).await.expect(404);
}

#[tokio::test]
async fn a_changed_name_in_a_channel_is_pushed_once() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let channel = ada.channel(&organisation, "news", &[&grace]).await;
    let personal = grace.personal(&organisation);
    let mut others = Socket::listening(&ada, &[&channel]).await;
    let mut own = Socket::listening(&grace, &[&personal]).await;
    for _ in 0..2 {
        rename(&grace, &channel, "admiral").await.expect(200);
    }
    for told in [others.on(&channel).await, own.on(&personal).await] {
        assert_eq!([&told["notification_type"], &told["data"]["action"]], ["channel_update", "renamed"]);
        assert_eq!([&told["data"]["user_id"], &told["data"]["username"]], [&grace.user_id, "admiral"]);
    }
    ada.say(&channel, "marker").await;
    assert_eq!(others.on(&channel).await["content"], "marker");
}
