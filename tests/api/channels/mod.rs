//! Channels: making, reading, changing, deleting them, and their lists.

mod archive;
mod direct_messages;
mod members;
mod preferences;
mod purging;
mod reading;
mod shown;

use serde_json::{Value, json};
use tidings::error::Code;

use crate::{
    harness::{Client, Server, blob, text, unknown_id},
    shapes::{CHANNEL, LISTED_CHANNEL, MESSAGE, NEW_CHANNEL, SHORT_CHANNEL, assert_shape},
};

fn ids(channels: &Value, field: &str) -> Vec<String> {
    channels.as_array().unwrap().iter().map(|channel| text(&channel[field])).collect()
}

async fn visible(client: &Client, organisation: &str) -> Vec<String> {
    ids(&client.get(&format!("/organisations/{organisation}/channels")).await.expect(200)["channels"], "channels_id")
}

#[tokio::test]
async fn a_new_channel_has_its_maker_and_the_named_members() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let body = json!({
        "organisation_id": organisation, "name": "news", "description": "What is new", "username": "countess",
        "userIds": [grace.user_id, grace.user_id, ada.user_id]
    });
    let made = ada.post("/channels", body).await.data(201, "Channel created successfully");
    assert_shape(&made, NEW_CHANNEL);
    assert_eq!(made["id"], made["channels_id"]);
    assert_eq!([&made["name"], &made["description"], &made["created_by"]], ["news", "What is new", &ada.user_id]);
    assert_eq!([&made["is_private"], &made["is_dm"]], [false, false]);

    let path = format!("/channels/{}", text(&made["id"]));
    let users = grace.get(&format!("{path}/users")).await.expect(200)["users"].take();
    assert_eq!(users.as_array().unwrap().len(), 2);
    assert_eq!([&users[0]["username"], &users[1]["username"]], ["countess", "grace"]);
    let read = grace.get(&path).await.data(200, "channel retrieved successfully");
    assert_shape(&read, CHANNEL);
    assert_eq!([&read["channels_id"], &read["owner_id"]], [&made["id"], &json!(ada.user_id)]);
    assert_eq!(read["users"], json!([ada.user_id, grace.user_id]));
}

#[tokio::test]
async fn a_channel_is_made_with_up_to_a_hundred_users() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let database = rusqlite::Connection::open(server.folder().join("tidings.db")).unwrap();
    database
        .execute_batch(
            "create temp table k as with recursive k (k) as (select 1 union all select k + 1 from k where k < 99) select k from k;
             insert into users (id, email, username, created_at, updated_at)
               select unhex(printf('%032x', k)), k || '@x.example', 'u' || k, 0, 0 from k;
             insert into organisation_members (organisation_id, user_id, role_id, created_at, updated_at)
               select o.id, unhex(printf('%032x', k)), 4, 0, 0 from k, organisations o;",
        )
        .unwrap();
    let mut users: Vec<String> = (1..=99).map(|k| uuid::Uuid::from_u128(k).to_string()).collect();
    users.push(grace.user_id.clone());
    let post = async |name: &str, users: &[String]| {
        let body = json!({ "organisation_id": organisation, "name": name, "username": "grace", "userIds": users });
        ada.post("/channels", body).await
    };
    let made = post("all", &users).await.expect(201)["data"]["id"].take();
    let members = grace.get(&format!("/channels/{}/users", text(&made))).await.expect(200)["users"].take();
    let name =
        |user: &str| members.as_array().unwrap().iter().find(|member| member["user_id"] == user).unwrap()["username"].clone();
    assert_eq!(members.as_array().unwrap().len(), 101);
    assert_eq!([name(&ada.user_id), name(&grace.user_id)], ["grace", "grace2"], "who makes it chooses first");
    assert_eq!(grace.get(&format!("/channels/{}", text(&made))).await.expect(200)["data"]["user_count"], 101);
    users.push(ada.user_id.clone());
    post("too-many", &users).await.refused(422, Code::TooManyItems);
    let path = format!("/organisations/{organisation}/dms");
    ada.post(&path, json!({ "user_ids": vec![&grace.user_id; 8] })).await.expect(201);
    ada.post(&path, json!({ "user_ids": vec![&grace.user_id; 9] })).await.expect(422);
}

#[tokio::test]
async fn a_faulty_channel_is_refused() {
    let server = Server::start().await;
    let (ada, _, organisation) = server.ada_and_grace().await;
    let stranger = server.user("stranger").await;
    let with = |name: Value| json!({ "organisation_id": organisation, "name": name });
    for body in [
        json!({ "organisation_id": organisation }),
        json!({ "name": "news" }),
        json!({ "name": "news", "organisation_id": "no-uuid" }),
        json!({ "name": "news", "organisation_id": organisation, "userIds": ["no-uuid"] }),
        json!({ "name": "news", "organisation_id": organisation, "userIds": "grace" }),
        json!({ "name": "news", "organisation_id": organisation, "is_private": "yes" }),
        with(json!(7)),
    ] {
        ada.post("/channels", body).await.expect(400);
    }
    ada.call_text("POST", "/channels", "{").await.expect(400);
    for name in ["", "   ", &"x".repeat(81)] {
        ada.post("/channels", with(json!(name))).await.expect(422);
    }
    for user in [stranger.user_id, unknown_id()] {
        let mut body = with(json!("news"));
        body["userIds"] = json!([user]);
        let refused = ada.post("/channels", body).await.expect(422);
        assert!(text(&refused["message"]).contains(&user), "it names the user: {refused}");
    }
    ada.post("/channels", with(json!("é".repeat(80)))).await.expect(201);
    ada.post("/channels", with(json!("news"))).await.expect(201);
    server.anonymous().post("/channels", with(json!("news"))).await.expect(401);
}

#[tokio::test]
async fn a_name_is_given_once_among_live_channels() {
    let server = Server::start().await;
    let ada = server.user("ada").await;
    let (engines, looms) = (ada.organisation("Engines").await, ada.organisation("Looms").await);
    let post = async |organisation: &str, name: &str| {
        ada.post("/channels", json!({ "organisation_id": organisation, "name": name })).await
    };
    post(&engines, "general").await.expect(422);
    post(&engines, "General").await.expect(201);
    let news = ada.channel(&engines, "news", &[]).await;
    post(&looms, "news").await.expect(201);
    let other = ada.channel(&engines, "other", &[]).await;
    ada.patch(&format!("/channels/{other}"), json!({ "name": "news" })).await.expect(422);
    ada.delete(&format!("/channels/{news}")).await.expect(204);
    post(&engines, "news").await.expect(201);
}

#[tokio::test]
async fn outsiders_and_guests_make_no_channels() {
    let server = Server::start().await;
    let (ada, _, organisation) = server.ada_and_grace().await;
    let guest = server.member(&ada, &organisation, "guest", "guest").await;
    let outsider = server.user("outsider").await;
    let body = |organisation: &str| json!({ "organisation_id": organisation, "name": "mine" });
    guest.post("/channels", body(&organisation)).await.expect(403);
    let foreign = outsider.post("/channels", body(&organisation)).await.expect(403);
    assert_eq!(foreign, ada.post("/channels", body(&unknown_id())).await.expect(403));
}

#[tokio::test]
async fn private_channels_and_those_of_other_organisations_look_unknown() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let outsider = server.user("outsider").await;
    let private = ada.private_channel(&organisation, "secret", &[]).await;
    let public = ada.channel(&organisation, "open", &[]).await;
    for detail in ["", "/num-users", "/users", "/messages", &format!("/user-exist?userId={}", ada.user_id)] {
        let unknown = ada.get(&format!("/channels/{}{detail}", unknown_id())).await.expect(404);
        assert_eq!(unknown, grace.get(&format!("/channels/{private}{detail}")).await.expect(404));
        assert_eq!(unknown, outsider.get(&format!("/channels/{public}{detail}")).await.expect(404));
        ada.get(&format!("/channels/no-uuid{detail}")).await.expect(400);
        server.anonymous().get(&format!("/channels/{public}{detail}")).await.expect(401);
        ada.get(&format!("/channels/{private}{detail}")).await.expect(200);
    }
    let unknown = ada.get("/channels/name/nothing").await.expect(404);
    assert_eq!(unknown, grace.get("/channels/name/secret").await.expect(404));
    assert_eq!(unknown, outsider.get("/channels/name/open").await.expect(404));
    server.anonymous().get("/channels/name/open").await.expect(401);
}

/// Names are unique among all channels of an organisation, so a member who may give names meets those of private channels.
#[tokio::test]
async fn only_members_who_may_name_a_channel_learn_that_a_private_one_has_the_name() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let guest = server.member(&ada, &organisation, "guest", "guest").await;
    let outsider = server.user("outsider").await;
    ada.private_channel(&organisation, "secret", &[]).await;
    let own = grace.channel(&organisation, "own", &[&guest]).await;
    let shared = ada.channel(&organisation, "shared", &[&guest]).await;
    let archived = ada.channel(&organisation, "archived", &[&guest]).await;
    ada.put(&format!("/channels/{archived}/archive"), json!({ "archived": true })).await.expect(200);
    ada.patch(&format!("/channels/{archived}"), json!({ "name": "secret" })).await.expect(200);
    let create = |name: &str| json!({ "organisation_id": organisation, "name": name });
    grace.post("/channels", create("secret")).await.expect(422);
    grace.patch(&format!("/channels/{own}"), json!({ "name": "secret" })).await.expect(422);

    // A guest gets the same refusal for the name of a private channel as for one that nobody has, even as the owner of one.
    server.sql(&format!(
        "update channels set owner_id = {} where id in ({}, {}, {})",
        blob(&guest.user_id),
        blob(&own),
        blob(&shared),
        blob(&archived)
    ));
    let same = async |client: &Client, method: &str, path: &str, body: &dyn Fn(&str) -> Value| {
        let [known, unknown] = ["secret", "no-such-name"].map(|name| client.call(method, path, Some(body(name))));
        assert_eq!(known.await.expect(403), unknown.await.expect(403), "{method} {path}");
    };
    for client in [&guest, &outsider] {
        same(client, "POST", "/channels", &create).await;
        for channel in [&own, &shared, &archived] {
            same(client, "PATCH", &format!("/channels/{channel}"), &|name| json!({ "name": name })).await;
        }
        let reopened = client.put(&format!("/channels/{archived}/archive"), json!({ "archived": false })).await;
        assert!([403, 404].contains(&reopened.status), "{}", reopened.status);
        let known = client.get("/channels/name/secret").await.expect(404);
        assert_eq!(known, client.get("/channels/name/no-such-name").await.expect(404));
    }
}

#[tokio::test]
async fn a_name_finds_the_exact_channel_first() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let (upper, lower) = (ada.channel(&organisation, "News", &[]).await, ada.channel(&organisation, "news", &[]).await);
    let find = async |path: &str| {
        let data = grace.get(&format!("/channels/name/{path}")).await.data(200, "channel name retrieved successfully");
        assert_shape(&data, CHANNEL);
        text(&data["channels_id"])
    };
    assert_eq!(find("News").await, upper);
    assert_eq!(find("news").await, lower);
    assert!([upper, lower].contains(&find("NEWS").await));
    let spaced = ada.channel(&organisation, "a b/c?", &[]).await;
    assert_eq!(find("a%20b%2Fc%3F").await, spaced);
    assert_eq!(find(&format!("a%20b%2Fc%3F?organisation_id={organisation}")).await, spaced);
    let elsewhere = grace.organisation("Looms").await;
    grace.get(&format!("/channels/name/news?organisation_id={elsewhere}")).await.expect(404);
    grace.get("/channels/name/news?organisation_id=no-uuid").await.expect(400);
}

#[tokio::test]
async fn a_channels_owner_and_managers_edit_it() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let bob = server.member(&ada, &organisation, "bob", "member").await;
    let channel = grace.channel(&organisation, "news", &[&bob]).await;
    let path = format!("/channels/{channel}");
    let edited =
        grace.patch(&path, json!({ "name": "olds", "description": "Was new" })).await.data(200, "Channel updated successfully");
    assert_shape(&edited, CHANNEL);
    assert_eq!([&edited["name"], &edited["description"]], ["olds", "Was new"]);
    let cleared = ada.patch(&path, json!({ "description": "" })).await.expect(200)["data"].take();
    assert_eq!([&cleared["name"], &cleared["description"]], ["olds", ""]);
    assert_eq!(ada.patch(&path, json!({})).await.expect(200)["data"]["name"], "olds");

    bob.patch(&path, json!({ "name": "mine" })).await.expect(403);
    for body in [json!({ "name": 7 }), json!({ "description": [] }), json!({ "is_private": "no" })] {
        grace.patch(&path, body).await.expect(400);
    }
    for name in ["", &"x".repeat(81)] {
        grace.patch(&path, json!({ "name": name })).await.expect(422);
    }
    grace.patch("/channels/no-uuid", json!({})).await.expect(400);
    server.anonymous().patch(&path, json!({})).await.expect(401);
    let outsider = server.user("outsider").await;
    let foreign = outsider.patch(&path, json!({ "name": "mine" })).await.expect(403);
    assert_eq!(foreign, ada.patch(&format!("/channels/{}", unknown_id()), json!({ "name": "mine" })).await.expect(403));
    assert_eq!(grace.get(&path).await.expect(200)["data"]["name"], "olds");
}

#[tokio::test]
async fn a_channel_can_become_private() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let channel = ada.channel(&organisation, "news", &[]).await;
    grace.get(&format!("/channels/{channel}")).await.expect(200);
    ada.patch(&format!("/channels/{channel}"), json!({ "is_private": true })).await.expect(200);
    grace.get(&format!("/channels/{channel}")).await.expect(404);
}

#[tokio::test]
async fn a_channels_owner_and_managers_delete_it() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let outsider = server.user("outsider").await;
    let (hers, mine) = (ada.channel(&organisation, "hers", &[&grace]).await, grace.channel(&organisation, "mine", &[&ada]).await);
    let path = format!("/channels/{hers}");
    grace.delete(&path).await.expect(403);
    let foreign = outsider.delete(&path).await.expect(404);
    assert_eq!(foreign, ada.delete(&format!("/channels/{}", unknown_id())).await.expect(404));
    ada.delete("/channels/no-uuid").await.expect(400);
    server.anonymous().delete(&path).await.expect(401);
    ada.delete(&format!("/channels/{}", ada.general(&organisation).await)).await.refused(403, Code::ChannelIsDefault);

    assert_eq!(ada.delete(&path).await.expect(204), "");
    ada.delete(&format!("/channels/{mine}")).await.expect(204);
    for gone in [hers, mine] {
        ada.get(&format!("/channels/{gone}")).await.expect(404);
        ada.get(&format!("/channels/{gone}/messages")).await.expect(404);
        ada.post(&format!("/channels/{gone}/messages"), json!({ "content": "hello?" })).await.expect(403);
        ada.delete(&format!("/channels/{gone}")).await.expect(404);
    }
    assert_eq!(visible(&ada, &organisation).await.len(), 1);
}

#[tokio::test]
async fn the_callers_channels_are_those_that_the_caller_is_in() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let news = ada.channel(&organisation, "news", &[&grace]).await;
    ada.channel(&organisation, "other", &[]).await;
    let thread = ada.say(&news, "first").await;
    ada.reply(&news, &thread, "reply").await;
    let newest = ada.say(&news, "second").await;

    let listed = grace.get("/channels").await.expect(200);
    assert_eq!(listed.as_object().unwrap().len(), 1, "bare: {listed}");
    let channels = listed["channels"].as_array().unwrap();
    channels.iter().for_each(|channel| assert_shape(channel, LISTED_CHANNEL));
    assert_eq!(channels.len(), 2);
    let listed = channels.iter().find(|channel| channel["channels_id"] == news).unwrap();
    assert_eq!([&listed["user_count"], &listed["message_count"]], [2, 3]);
    assert_eq!(ids(&listed["messages"], "id"), [newest]);
    assert_shape(&listed["messages"][0], MESSAGE);
    let general = channels.iter().find(|channel| channel["name"] == "general").unwrap();
    assert_eq!([&general["messages"], &general["webhook_url"]], [&json!([]), &json!("")]);
    let outsider = server.user("outsider").await;
    assert_eq!(outsider.get("/channels").await.expect(200), json!({ "channels": [] }));
    server.anonymous().get("/channels").await.expect(401);
}

#[tokio::test]
async fn an_organisations_list_has_the_channels_that_the_caller_may_see() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let guest = server.member(&ada, &organisation, "guest", "guest").await;
    let general = ada.general(&organisation).await;
    let public = ada.channel(&organisation, "public", &[]).await;
    let private = ada.private_channel(&organisation, "private", &[&guest]).await;
    let archived = ada.channel(&organisation, "archived", &[&grace]).await;
    server.sql(&format!("update channels set archived_at = created_at where id = {}", blob(&archived)));
    let sorted = async |client: &Client| {
        let mut ids = visible(client, &organisation).await;
        ids.sort(); // time-ordered
        ids
    };
    assert_eq!(sorted(&ada).await, [&general, &public, &private].map(String::as_str));
    assert_eq!(sorted(&grace).await, [&general, &public].map(String::as_str));
    assert_eq!(sorted(&guest).await, [&general, &private].map(String::as_str));
    let outsider = server.user("outsider").await;
    let path = |organisation: &str| format!("/organisations/{organisation}/channels");
    let foreign = outsider.get(&path(&organisation)).await.expect(404);
    assert_eq!(foreign, ada.get(&path(&unknown_id())).await.expect(404));
    ada.get(&path("no-uuid")).await.expect(400);
    server.anonymous().get(&path(&organisation)).await.expect(401);
}

#[tokio::test]
async fn user_channels_are_the_callers_live_ones() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let news = ada.channel(&organisation, "news", &[&grace]).await;
    ada.channel(&organisation, "not-hers", &[]).await;
    let archived = ada.channel(&organisation, "archived", &[&grace]).await;
    server.sql(&format!("update channels set archived_at = created_at where id = {}", blob(&archived)));
    let path = |organisation: &str| format!("/organisations/{organisation}/user-channels");
    let data = grace.get(&path(&organisation)).await.data(200, "User channels fetched successfully");
    data.as_array().unwrap().iter().for_each(|channel| assert_shape(channel, SHORT_CHANNEL));
    let mut found = ids(&data, "id");
    found.sort();
    assert_eq!(found, [ada.general(&organisation).await, news]);
    let outsider = server.user("outsider").await;
    let foreign = outsider.get(&path(&organisation)).await.expect(404);
    assert_eq!(foreign, ada.get(&path(&unknown_id())).await.expect(404));
    ada.get(&path("no-uuid")).await.expect(400);
    server.anonymous().get(&path(&organisation)).await.expect(401);
}
