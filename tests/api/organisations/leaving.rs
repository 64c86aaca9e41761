//! Leaving an organisation, and being removed from it: what ends, and what is left to others.

use serde_json::{Value, json};
use tidings::error::Code;

use crate::{
    harness::{Client, PASSWORD, Server, unknown_id},
    socket::Socket,
};

fn member(organisation: &str, user: &Client) -> String {
    format!("/organisations/{organisation}/users/{}", user.user_id)
}

async fn channel(client: &Client, id: &str) -> Value {
    client.get(&format!("/channels/{id}")).await.expect(200)["data"].take()
}

#[tokio::test]
async fn an_invitation_that_was_not_needed_lets_nobody_in_again() {
    let server = Server::start().await;
    let ada = server.user("ada").await;
    let organisation = ada.organisation("Engines").await;
    let token = ada.invite(&organisation, "grace@example.org", "admin").await;
    let link = ada.post(&format!("/organisations/{organisation}/join-links"), json!({})).await.expect(201);
    let grace = server.user("grace").await;
    grace.post("/join", json!({ "token": link["data"]["token"] })).await.expect(200);
    ada.delete(&member(&organisation, &grace)).await.expect(200);
    grace.post("/invite/verify", json!({ "token": token })).await.refused(400, Code::LinkInvalid);
}

#[tokio::test]
async fn a_removed_member_is_an_outsider() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let news = ada.channel(&organisation, "news", &[&grace]).await;
    grace.say(&news, "hello").await;
    let data = ada.delete(&member(&organisation, &grace)).await.data(200, "success");
    assert_eq!(data, "Member removed successfully");

    grace.get(&format!("/organisations/{organisation}")).await.expect(404);
    grace.get(&format!("/channels/{news}/messages")).await.expect(404);
    assert_eq!(grace.get("/users/organisations").await.expect(200)["data"], json!([]));
    let body = json!({ "email": grace.email, "password": PASSWORD });
    assert_eq!(grace.post("/auth/login", body).await.expect(200)["data"]["user"]["current_org"], Value::Null);
    let list = ada.get(&format!("/organisations/{organisation}/users")).await.expect(200);
    assert_eq!(list["pagination"]["total_items"], 1);
    for id in [&news, &ada.general(&organisation).await] {
        let channel = channel(&ada, id).await;
        assert_eq!((&channel["users"], &channel["user_count"]), (&json!([ada.user_id]), &json!(1)));
    }
    let messages = ada.get(&format!("/channels/{news}/messages")).await.expect(200);
    assert_eq!(messages["messages"][0]["content"], "hello", "what they wrote stays");
    ada.delete(&member(&organisation, &grace)).await.expect(404);
}

#[tokio::test]
async fn a_member_leaves_by_removing_themselves() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let guest = server.member(&ada, &organisation, "guest", "guest").await;
    let other = grace.organisation("Other").await;
    for leaver in [&grace, &guest] {
        leaver.delete(&member(&organisation, leaver)).await.expect(200);
        leaver.get(&format!("/organisations/{organisation}")).await.expect(404);
    }
    let body = json!({ "email": grace.email, "password": PASSWORD });
    let current = grace.post("/auth/login", body).await.expect(200)["data"]["user"]["current_org"].take();
    assert_eq!(current, other, "another organisation stays the current one");
}

#[tokio::test]
async fn only_members_with_the_right_to_remove_remove_others() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let admin = server.member(&ada, &organisation, "admin", "admin").await;
    let lead = server.member(&ada, &organisation, "lead", "project-lead").await;
    let outsider = server.user("outsider").await;
    outsider.organisation("Elsewhere").await;

    server.anonymous().delete(&member(&organisation, &grace)).await.expect(401);
    let foreign = outsider.delete(&member(&organisation, &grace)).await.expect(403);
    assert_eq!(foreign, ada.delete(&member(&unknown_id(), &grace)).await.expect(403));
    grace.delete(&member(&organisation, &lead)).await.expect(403);
    lead.delete(&member(&organisation, &admin)).await.expect(403);
    for client in [&ada, &admin] {
        client.delete(&member(&organisation, &ada)).await.refused(403, Code::OwnerProtected);
    }
    ada.delete(&member(&organisation, &outsider)).await.expect(404);
    ada.delete(&format!("/organisations/{organisation}/users/{}", unknown_id())).await.expect(404);
    ada.delete(&format!("/organisations/{organisation}/users/no-uuid")).await.expect(400);
    ada.delete(&format!("/organisations/no-uuid/users/{}", grace.user_id)).await.expect(400);
    assert_eq!(ada.get(&format!("/organisations/{organisation}/users")).await.expect(200)["pagination"]["total_items"], 4);
    lead.delete(&member(&organisation, &grace)).await.expect(200);
    admin.delete(&member(&organisation, &lead)).await.expect(200);
}

#[tokio::test]
async fn a_removed_member_receives_no_more_pushes() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let news = ada.channel(&organisation, "news", &[&grace]).await;
    let thread = ada.say(&news, "post").await;
    let elsewhere = grace.general(&grace.organisation("Other").await).await;
    let personal = grace.personal(&organisation);
    let streams = [news.as_str(), &thread, &organisation, &personal];
    let mut hers = Socket::listening(&grace, &streams).await;
    hers.subscribe(&elsewhere).await;
    let mut others = Socket::listening(&ada, &[&news, &organisation]).await;

    ada.delete(&member(&organisation, &grace)).await.expect(200);
    for stream in streams {
        assert_eq!(hers.unsubscribed(stream).await, 2000);
    }
    ada.say(&news, "@grace not for her").await;
    ada.reply(&news, &thread, "nor this").await;
    grace.say(&elsewhere, "marker").await;
    loop {
        let (stream, data) = hers.next().await;
        if stream == elsewhere {
            break assert_eq!(data["content"], "marker");
        }
        let kind = data["notification_type"].as_str().unwrap_or_default();
        assert!(["member_update", "channel_update"].contains(&kind), "her going is the last that she hears: {data}");
    }

    let told = others.on(&organisation).await;
    assert_eq!([&told["notification_type"], &told["data"]["action"]], ["member_update", "removed"]);
    assert_eq!(told["modification_ids"], json!({ "org_id": organisation, "user_id": grace.user_id }));
    let told = others.on(&news).await;
    assert_eq!([&told["notification_type"], &told["data"]["action"]], ["channel_update", "left"]);
    assert_eq!((&told["data"]["user_id"], &told["data"]["user_count"]), (&json!(grace.user_id), &json!(1)));
}

#[tokio::test]
async fn a_leavers_channels_pass_to_the_longest_standing_member_or_the_owner() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let (bob, cyd) =
        (server.member(&ada, &organisation, "bob", "member").await, server.member(&ada, &organisation, "cyd", "member").await);
    let shared = grace.channel(&organisation, "shared", &[]).await;
    for member in [&cyd, &bob] {
        member.call("POST", &format!("/channels/{shared}/join"), None).await.expect(200);
    }
    let alone = grace.channel(&organisation, "alone", &[]).await;
    let left = grace.channel(&organisation, "left", &[&bob]).await;
    let asleep = grace.channel(&organisation, "asleep", &[&cyd]).await;
    let foreign = grace.channel(&grace.organisation("Other").await, "mine", &[]).await;
    let hook = json!({ "webhook_name": "hook" });
    let webhook = grace.post(&format!("/webhooks/{shared}"), hook).await.expect(201)["data"].take();
    let mut socket = Socket::listening(&bob, &[&shared, &left]).await;

    grace.call("POST", &format!("/channels/{left}/leave"), None).await.expect(200);
    grace.delete(&member(&organisation, &grace)).await.expect(200);

    let owner = async |id: &str| channel(&ada, id).await["owner_id"].take();
    assert_eq!(owner(&shared).await, cyd.user_id);
    assert_eq!(owner(&alone).await, ada.user_id);
    assert_eq!(owner(&left).await, bob.user_id);
    assert_eq!(owner(&asleep).await, cyd.user_id);
    assert_eq!(channel(&grace, &foreign).await["owner_id"], grace.user_id, "another organisation's stays theirs");
    server.followed().await;
    assert_eq!(channel(&cyd, &shared).await["webhook_url"], webhook["feed_url"]);
    assert_eq!(cyd.get(&format!("/webhooks/{shared}")).await.expect(200)["data"]["owner_id"], cyd.user_id);
    for (channel, heir, action) in
        [(&left, &bob, "left"), (&left, &bob, "updated"), (&shared, &cyd, "left"), (&shared, &cyd, "updated")]
    {
        let told = socket.on(channel).await;
        assert_eq!([&told["data"]["action"], &told["data"]["owner_id"]], [action, heir.user_id.as_str()]);
    }
}

#[tokio::test]
async fn a_deactivated_member_inherits_no_channel() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let bob = server.member(&ada, &organisation, "bob", "member").await;
    let shared = grace.channel(&organisation, "shared", &[&bob]).await;
    ada.put(&member(&organisation, &bob), json!({ "status": "deactivated" })).await.expect(200);
    grace.delete(&member(&organisation, &grace)).await.expect(200);
    assert_eq!(channel(&ada, &shared).await["owner_id"], ada.user_id);
}

#[tokio::test]
async fn a_removed_member_can_be_invited_again() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let news = ada.channel(&organisation, "news", &[&grace]).await;
    ada.say(&news, "@grace hello").await;
    ada.delete(&member(&organisation, &grace)).await.expect(200);
    let token = ada.invite(&organisation, &grace.email, "member").await;
    grace.post("/invite/verify", json!({ "token": token })).await.expect(200);
    grace.say(&ada.general(&organisation).await, "back").await;
    grace.get(&format!("/channels/{news}/messages")).await.expect(403);
    grace.call("POST", &format!("/channels/{news}/join"), None).await.expect(200);
    let own = grace.get(&format!("/organisations/{organisation}/user-channels")).await.expect(200)["data"].take();
    let news = own.as_array().unwrap().iter().find(|channel| channel["name"] == "news").unwrap();
    assert_eq!((&news["thread_count"], &news["mention_count"]), (&json!(0), &json!(0)));
}
