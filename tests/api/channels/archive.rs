//! Archived channels, and the lists that leave them out.

use serde_json::{Value, json};
use tidings::error::Code;

use crate::{
    harness::{Client, Reply, Server, text, unknown_id},
    shapes::{ARCHIVED_CHANNEL, CHANNEL, OPEN_CHANNEL, assert_shape},
    socket::Socket,
};

async fn archive(client: &Client, channel: &str, archived: bool) -> Reply {
    client.put(&format!("/channels/{channel}/archive"), json!({ "archived": archived })).await
}

async fn archived(client: &Client, organisation: &str) -> Value {
    let reply = client.get(&format!("/organisations/{organisation}/channels/archived")).await;
    reply.data(200, "Archived channels retrieved successfully")
}

async fn open(client: &Client, organisation: &str) -> Value {
    let reply = client.get(&format!("/organisations/{organisation}/user-not-channels")).await;
    reply.data(200, "Channels user does not belong fetched successfully")
}

fn names(list: &Value) -> Vec<String> {
    list.as_array().unwrap().iter().map(|channel| text(&channel["name"])).collect()
}

#[tokio::test]
async fn an_archived_channel_stays_readable_and_refuses_writes() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let bob = server.member(&ada, &organisation, "bob", "member").await;
    let channel = ada.channel(&organisation, "old", &[&grace]).await;
    let post = ada.say(&channel, "kept").await;

    let done = archive(&ada, &channel, true).await.data(200, "Channel archived successfully");
    assert_shape(&done, CHANNEL);
    assert_eq!(done["archived"], true);
    let listed = archived(&bob, &organisation).await;
    assert_eq!(listed.as_array().unwrap().len(), 1);
    assert_shape(&listed[0], ARCHIVED_CHANNEL);
    assert_eq!([&listed[0]["channels_id"], &listed[0]["owner_id"]], [&channel, &ada.user_id]);
    assert_eq!(listed[0]["users"], json!([ada.user_id, grace.user_id]));
    assert_eq!(
        [&listed[0]["archived"], &listed[0]["user_count"], &listed[0]["message_count"]],
        [&json!(true), &json!(2), &json!(1)]
    );
    assert!(listed[0]["group_id"].is_null() && listed[0]["threads"].is_null());

    for body in [json!({ "content": "no" }), json!({ "content": "no", "thread_id": post })] {
        grace.post(&format!("/channels/{channel}/messages"), body).await.refused(403, Code::ChannelArchived);
    }
    grace.put(&format!("/channels/{channel}/messages"), json!({ "content": "no" })).await.expect(403);
    bob.call("POST", &format!("/channels/{channel}/join"), None).await.expect(403);
    let body = grace.get(&format!("/channels/{channel}/messages")).await.expect(200);
    assert_eq!(body["messages"][0]["content"], "kept");
    let live = grace.get(&format!("/organisations/{organisation}/channels")).await.expect(200);
    assert_eq!(names(&live["channels"]), ["general"]);
    assert_eq!(names(&open(&bob, &organisation).await), [""; 0]);

    archive(&ada, &channel, false).await.data(200, "Channel unarchived successfully");
    grace.say(&channel, "again").await;
    assert_eq!(archived(&bob, &organisation).await, json!([]));
}

#[tokio::test]
async fn the_name_of_an_archived_channel_is_free_until_the_channel_is_opened_again() {
    let server = Server::start().await;
    let ada = server.user("ada").await;
    let organisation = ada.organisation("Engines").await;
    let first = ada.channel(&organisation, "news", &[]).await;
    archive(&ada, &first, true).await.expect(200);
    let second = ada.channel(&organisation, "news", &[]).await;
    archive(&ada, &first, false).await.expect(422);
    assert_eq!(names(&archived(&ada, &organisation).await), ["news"]);
    ada.patch(&format!("/channels/{second}"), json!({ "name": "other" })).await.expect(200);
    archive(&ada, &first, false).await.expect(200);
}

#[tokio::test]
async fn archiving_fails_as_documented() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let (outsider, elsewhere) = (server.user("outsider").await, ada.organisation("Elsewhere").await);
    let manager = server.member(&ada, &organisation, "manager", "manager").await;
    let public = ada.channel(&organisation, "public", &[&grace]).await;
    let private = ada.private_channel(&organisation, "private", &[]).await;
    let general = ada.general(&organisation).await;
    let path = format!("/organisations/{organisation}/archive-channel");
    let body = |channel: &str| json!({ "channel_id": channel, "archived": true });

    archive(&ada, &general, true).await.expect(403);
    archive(&grace, &public, true).await.expect(403);
    grace.put(&path, body(&public)).await.expect(403);
    let unknown = archive(&ada, &unknown_id(), true).await.expect(404);
    assert_eq!(unknown, archive(&outsider, &public, true).await.expect(404));
    assert_eq!(unknown, archive(&grace, &private, true).await.expect(404));
    assert_eq!(unknown, archive(&manager, &private, true).await.expect(404));
    assert_eq!(unknown, grace.put(&path, body(&private)).await.expect(404));
    assert_eq!(unknown, ada.put(&format!("/organisations/{elsewhere}/archive-channel"), body(&public)).await.expect(404));
    outsider.put(&path, body(&public)).await.expect(404);
    archive(&ada, "no-uuid", true).await.expect(400);
    for faulty in [json!({}), json!({ "archived": "yes" }), json!({ "archived": null })] {
        ada.put(&format!("/channels/{public}/archive"), faulty).await.expect(400);
    }
    ada.put(&path, json!({ "archived": true })).await.expect(400);
    archive(&server.anonymous(), &public, true).await.expect(401);
    server.anonymous().put(&path, body(&public)).await.expect(401);
    assert_eq!(archived(&ada, &organisation).await, json!([]));

    manager.put(&path, body(&public)).await.data(200, "Channel archived successfully");
    assert_eq!(names(&archived(&ada, &organisation).await), ["public"]);
}

#[tokio::test]
async fn archiving_a_channel_twice_is_pushed_once() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let channel = ada.channel(&organisation, "old", &[&grace]).await;
    let personal = grace.personal(&organisation);
    let mut socket = Socket::listening(&grace, &[&channel, &personal]).await;
    for change in [true, true, false] {
        archive(&ada, &channel, change).await.expect(200);
    }
    for expected in [true, false] {
        for stream in [&channel, &personal] {
            let update = socket.on(stream).await;
            assert_eq!(update["notification_type"], "channel_update");
            assert_eq!([&update["data"]["archived"], &update["data"]["channels_id"]], [&json!(expected), &json!(channel)]);
        }
    }
}

#[tokio::test]
async fn members_list_the_public_channels_that_they_are_not_in() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let guest = server.member(&ada, &organisation, "guest", "guest").await;
    let (news, plans) = (ada.channel(&organisation, "news", &[]).await, ada.channel(&organisation, "plans", &[]).await);
    ada.private_channel(&organisation, "private", &[]).await;
    let listed = open(&grace, &organisation).await;
    assert_eq!(names(&listed), ["news", "plans"]);
    assert_shape(&listed[0], OPEN_CHANNEL);
    assert_eq!(listed[0]["id"], news);
    grace.call("POST", &format!("/channels/{plans}/join"), None).await.expect(200);
    assert_eq!(names(&open(&grace, &organisation).await), ["news"]);
    assert_eq!(open(&guest, &organisation).await, json!([]), "a guest can't join");
}

#[tokio::test]
async fn outsiders_list_no_archived_channels_and_guests_only_their_own() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let guest = server.member(&ada, &organisation, "guest", "guest").await;
    let outsider = server.user("outsider").await;
    for (name, others) in [("public", &[][..]), ("shared", &[&guest][..])] {
        let channel = ada.channel(&organisation, name, others).await;
        archive(&ada, &channel, true).await.expect(200);
    }
    let private = ada.private_channel(&organisation, "private", &[]).await;
    archive(&ada, &private, true).await.expect(200);
    assert_eq!(names(&archived(&ada, &organisation).await), ["private", "public", "shared"]);
    assert_eq!(names(&archived(&grace, &organisation).await), ["public", "shared"]);
    assert_eq!(names(&archived(&guest, &organisation).await), ["shared"]);
    for list in ["channels/archived", "user-not-channels"] {
        let unknown = outsider.get(&format!("/organisations/{}/{list}", unknown_id())).await.expect(404);
        assert_eq!(unknown, outsider.get(&format!("/organisations/{organisation}/{list}")).await.expect(404));
        ada.get(&format!("/organisations/no-uuid/{list}")).await.expect(400);
        server.anonymous().get(&format!("/organisations/{organisation}/{list}")).await.expect(401);
    }
}
