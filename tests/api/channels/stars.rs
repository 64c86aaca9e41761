//! Stars: a member's own mark on a channel.

use serde_json::{Value, json};

use crate::{
    harness::{Client, Reply, Server, text, unknown_id},
    shapes::{PUSHED, assert_shape},
    socket::Socket,
};

async fn star(client: &Client, channel: &str) -> Reply {
    client.call("POST", &format!("/channels/{channel}/star"), None).await
}

async fn unstar(client: &Client, channel: &str) -> Reply {
    client.delete(&format!("/channels/{channel}/star")).await
}

/// `is_starred` of a channel in one of the caller's lists, and where the channel is read alone.
async fn shown(client: &Client, organisation: &str, list: &str, channel: &str) -> bool {
    let data = client.get(&format!("/organisations/{organisation}/{list}")).await.expect(200)["data"].take();
    let listed = data.as_array().unwrap().iter().find(|listed| listed["id"] == channel).expect("it is listed");
    let alone = client.get(&format!("/channels/{channel}")).await.expect(200);
    assert_eq!(listed["is_starred"], alone["data"]["is_starred"]);
    listed["is_starred"].as_bool().unwrap()
}

/// The stars that a client missed on its personal stream: the channel, and whether it has one now.
async fn missed(client: &Client, organisation: &str, start: &Value) -> Vec<(String, bool)> {
    let mut socket = Socket::connect(client).await;
    let result = socket.recover(&client.personal(organisation), &start["epoch"], &start["offset"]).await;
    assert_eq!(result["recovered"], true, "{result}");
    let publications = result["publications"].as_array().cloned().unwrap_or_default();
    let stars = publications.iter().map(|publication| &publication["data"]);
    let stars = stars.filter(|data| data["notification_type"] == "channel_star").map(|data| &data["data"]);
    stars.map(|data| (text(&data["channels_id"]), data["is_starred"].as_bool().unwrap())).collect()
}

#[tokio::test]
async fn a_star_is_shown_to_its_member_alone_and_given_once() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let channel = ada.channel(&organisation, "news", &[&grace]).await;
    let general = ada.general(&organisation).await;
    let list = "user-channels";
    assert!(!shown(&grace, &organisation, list, &channel).await);
    for _ in 0..2 {
        let data = star(&grace, &channel).await.data(200, "Channel starred successfully");
        assert_eq!(data, json!({ "channels_id": channel, "is_starred": true }));
        assert!(shown(&grace, &organisation, list, &channel).await);
    }
    assert!(!shown(&grace, &organisation, list, &general).await, "each channel for itself");
    assert!(!shown(&ada, &organisation, list, &channel).await, "each member for themselves");
    ada.patch(&format!("/channels/{channel}"), json!({ "topic": "Engines" })).await.expect(200);
    assert!(shown(&grace, &organisation, list, &channel).await, "changes of the channel leave it");
    for _ in 0..2 {
        let data = unstar(&grace, &channel).await.data(200, "Channel unstarred successfully");
        assert_eq!(data, json!({ "channels_id": channel, "is_starred": false }));
        assert!(!shown(&grace, &organisation, list, &channel).await);
    }
}

#[tokio::test]
async fn guests_star_channels_and_everybody_direct_messages_and_archived_channels() {
    let server = Server::start().await;
    let (ada, _, organisation) = server.ada_and_grace().await;
    let gus = server.member(&ada, &organisation, "gus", "guest").await;
    let channel = ada.channel(&organisation, "news", &[&gus]).await;
    star(&gus, &channel).await.expect(200);
    assert!(shown(&gus, &organisation, "user-channels", &channel).await);

    let body = json!({ "user_ids": [gus.user_id] });
    let direct = text(&ada.post(&format!("/organisations/{organisation}/dms"), body).await.expect(201)["data"]["id"]);
    star(&gus, &direct).await.expect(200);
    assert!(shown(&gus, &organisation, "dms", &direct).await);
    assert!(!shown(&ada, &organisation, "dms", &direct).await);

    let archived = ada.put(&format!("/channels/{channel}/archive"), json!({ "archived": true })).await.expect(200);
    assert_eq!(archived["data"]["is_starred"], false, "as its reader sees it");
    unstar(&gus, &channel).await.expect(200);
    star(&gus, &channel).await.expect(200);
    ada.put(&format!("/channels/{channel}/archive"), json!({ "archived": false })).await.expect(200);
    assert!(shown(&gus, &organisation, "user-channels", &channel).await);
}

#[tokio::test]
async fn only_the_members_own_devices_are_told_and_only_of_changes() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let channel = ada.channel(&organisation, "news", &[&grace]).await;
    let personal = grace.personal(&organisation);
    let mut own = Socket::listening(&grace, &[&personal]).await;
    let mut other = Socket::listening(&ada, &[&channel, &organisation, &ada.personal(&organisation)]).await;
    star(&grace, &channel).await.expect(200);
    star(&grace, &channel).await.expect(200);
    unstar(&grace, &channel).await.expect(200);
    unstar(&grace, &channel).await.expect(200);
    for is_starred in [true, false] {
        let told = own.on(&personal).await;
        assert_shape(&told, PUSHED);
        assert_eq!([&told["notification_type"], &told["section"]], ["channel_star", "channels_section"]);
        let data = json!({ "channels_id": channel, "organisation_id": organisation, "is_starred": is_starred });
        assert_eq!(told["data"], data);
    }
    ada.say(&channel, "marker").await;
    assert_eq!(own.on(&personal).await["notification_type"], "unread_thread_change", "the same again tells nothing");
    assert_eq!(other.next().await.1["content"], "marker", "nobody else is told");
}

#[tokio::test]
async fn a_device_that_was_away_learns_of_stars_also_after_a_restart() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let (one, two) = (ada.channel(&organisation, "one", &[&grace]).await, ada.channel(&organisation, "two", &[&grace]).await);
    let start = Socket::connect(&grace).await.subscribe(&grace.personal(&organisation)).await;
    let hers = Socket::connect(&ada).await.subscribe(&ada.personal(&organisation)).await;
    star(&grace, &one).await.expect(200);
    star(&grace, &two).await.expect(200);
    unstar(&grace, &one).await.expect(200);
    let stars = vec![(one.clone(), true), (two.clone(), true), (one.clone(), false)];
    assert_eq!(missed(&grace, &organisation, &start).await, stars);

    let server = server.restart().await;
    assert_eq!(missed(&grace, &organisation, &start).await, stars);
    assert_eq!(missed(&ada, &organisation, &hers).await, [], "they are not hers");
    assert!(shown(&grace, &organisation, "user-channels", &two).await);
    assert!(!shown(&grace, &organisation, "user-channels", &one).await);
    server.stop().await;
}

#[tokio::test]
async fn a_star_ends_with_the_membership() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let channel = ada.channel(&organisation, "news", &[&grace]).await;
    let start = Socket::connect(&grace).await.subscribe(&grace.personal(&organisation)).await;
    star(&grace, &channel).await.expect(200);
    assert_eq!(missed(&grace, &organisation, &start).await, [(channel.clone(), true)]);
    grace.call("POST", &format!("/channels/{channel}/leave"), None).await.expect(200);
    assert_eq!(missed(&grace, &organisation, &start).await, [], "what she was told in a channel ends with it");
    let seen = grace.get(&format!("/channels/{channel}")).await.expect(200);
    assert_eq!(seen["data"]["is_starred"], false);
    ada.post(&format!("/channels/{channel}/users"), json!({ "user_ids": [grace.user_id] })).await.expect(200);
    assert!(!shown(&grace, &organisation, "user-channels", &channel).await);

    star(&grace, &channel).await.expect(200);
    ada.delete(&format!("/channels/{channel}/users/{}", grace.user_id)).await.expect(200);
    grace.call("POST", &format!("/channels/{channel}/join"), None).await.expect(200);
    assert!(!shown(&grace, &organisation, "user-channels", &channel).await);
}

#[tokio::test]
async fn starring_fails_as_documented_and_changes_nothing() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let outsider = server.user("outsider").await;
    let (public, private) =
        (ada.channel(&organisation, "public", &[]).await, ada.private_channel(&organisation, "private", &[]).await);
    star(&ada, &private).await.expect(200);
    for method in ["POST", "DELETE"] {
        let call = async |client: &Client, id: &str| client.call(method, &format!("/channels/{id}/star"), None).await;
        call(&grace, "no-uuid").await.expect(400);
        call(&grace, &public).await.expect(403);
        let unknown = call(&ada, &unknown_id()).await.expect(404);
        assert_eq!(unknown, call(&grace, &private).await.expect(404));
        assert_eq!(unknown, call(&outsider, &public).await.expect(404));
        call(&server.anonymous(), &public).await.expect(401);
    }
    assert!(shown(&ada, &organisation, "user-channels", &private).await);
    let gone = ada.channel(&organisation, "gone", &[]).await;
    ada.delete(&format!("/channels/{gone}")).await.expect(204);
    star(&ada, &gone).await.expect(404);
}
