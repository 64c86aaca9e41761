//! Single messages.

use serde_json::json;

use crate::harness::{Server, unknown_id};

#[tokio::test]
async fn a_message_is_read_with_its_channel() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let channel = ada.private_channel(&organisation, "engines", &[&grace]).await;
    let post = ada.say(&channel, "post").await;
    let reply = grace.reply(&channel, &post, "reply").await;
    ada.put(&format!("/channels/{channel}/messages/{post}/reactions/tada"), json!({})).await.expect(200);
    let listed = ada.get(&format!("/channels/{channel}/messages")).await.expect(200)["messages"][0].take();
    let replied = ada.get(&format!("/threads/{post}/channels/{channel}")).await.expect(200)["data"][0].take();
    for (id, mut wanted) in [(&post, listed), (&reply, replied)] {
        wanted["channel"] = json!({ "id": channel, "name": "engines", "is_private": true, "is_dm": false });
        assert_eq!(grace.get(&format!("/messages/{id}")).await.data(200, "Data retrieved successfully"), wanted);
    }
    let direct = ada.post(&format!("/organisations/{organisation}/dms"), json!({ "user_ids": [grace.user_id] })).await;
    let direct = crate::harness::text(&direct.expect(201)["data"]["id"]);
    let said = ada.say(&direct, "between us").await;
    assert_eq!(grace.get(&format!("/messages/{said}")).await.expect(200)["data"]["channel"]["is_dm"], true);
}

#[tokio::test]
async fn a_message_that_one_may_not_see_is_as_one_that_is_not_there() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let channel = ada.private_channel(&organisation, "secret", &[]).await;
    let (post, gone) = (ada.say(&channel, "post").await, ada.say(&channel, "gone").await);
    let read = async |client: &crate::harness::Client, id: &str| client.get(&format!("/messages/{id}")).await;
    let unknown = read(&ada, &unknown_id()).await.expect(404);
    assert_eq!(read(&grace, &post).await.expect(404), unknown);
    assert_eq!(read(&server.user("outsider").await, &post).await.expect(404), unknown);
    read(&ada, "no-uuid").await.expect(400);
    read(&server.anonymous(), &post).await.expect(401);

    ada.reply(&channel, &post, "it stays for this").await;
    for message in [&post, &gone] {
        ada.call("DELETE", &format!("/channels/{channel}/messages/{message}"), None).await.expect(200);
    }
    let kept = read(&ada, &post).await.data(200, "Data retrieved successfully");
    assert_eq!((&kept["content"], &kept["message_count"]), (&json!(""), &json!(1)));
    assert_eq!(read(&ada, &gone).await.expect(404), unknown);
}
