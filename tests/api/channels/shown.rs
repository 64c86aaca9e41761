//! What a channel shows of its members and posts, alone and in lists.

use serde_json::{Value, json};
use tidings::error::Code;

use super::ids;
use crate::{
    harness::{Client, Server, blob, text},
    shapes::{CHANNEL, CHANNEL_DETAILS, MESSAGE, PARTICIPANT, SHORT_CHANNEL, assert_shape},
};

async fn own(client: &Client, organisation: &str, query: &str) -> Value {
    client.get(&format!("/organisations/{organisation}/user-channels{query}")).await.expect(200)["data"].take()
}

fn find<'a>(list: &'a Value, channel: &str) -> &'a Value {
    list.as_array().unwrap().iter().find(|one| one["channels_id"] == channel).expect("the channel")
}

#[tokio::test]
async fn an_organisations_channels_are_listed_twice_with_the_callers_access() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let news = ada.channel(&organisation, "news", &[]).await;
    let both = ada.channel(&organisation, "both", &[&grace]).await;
    let answer = grace.get(&format!("/organisations/{organisation}/channels")).await.expect(200);
    assert_eq!(answer.as_object().unwrap().len(), 2, "bare: {answer}");
    assert_eq!(answer["data"], answer["channels"]);
    let shown = |channel: &str| {
        let channel = find(&answer["data"], channel);
        assert_shape(channel, CHANNEL);
        (channel["access"].clone(), channel["members_count"].clone())
    };
    assert_eq!(shown(&news), (json!(false), json!(1)));
    assert_eq!(shown(&both), (json!(true), json!(2)));
}

#[tokio::test]
async fn a_post_that_fills_half_an_answer_is_left_out_of_the_organisations_list() {
    let server = Server::start().await;
    let ada = server.user("ada").await;
    let organisation = ada.organisation("Engines").await;
    let news = ada.channel(&organisation, "news", &[]).await;
    let path = format!("/organisations/{organisation}/channels");
    let newest = async || {
        let answer = ada.get(&path).await.expect(200);
        assert!(answer.to_string().len() < 1_000_000);
        assert_eq!(answer["data"], answer["channels"]);
        ids(&find(&answer["data"], &news)["messages"], "id")
    };
    let longest = ada.say(&news, &"\u{1d11e}".repeat(40_000)).await;
    assert_eq!(newest().await, [longest.as_str()]);
    // A message object holds its text twice.
    server.sql("update messages set content = hex(zeroblob(130000))");
    assert!(newest().await.is_empty());
    let whole = ada.get(&format!("/channels/{news}")).await.expect(200);
    assert_eq!(ids(&whole["data"]["messages"], "id"), [longest]);
}

#[tokio::test]
async fn a_channel_shows_the_callers_access_and_its_participants() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let bob = server.member(&ada, &organisation, "bob", "member").await;
    let news = ada.channel(&organisation, "news", &[]).await;
    bob.post(&format!("/channels/{news}/join"), json!({ "username": "builder" })).await.expect(200);
    grace.post(&format!("/channels/{news}/join"), json!({})).await.expect(200);
    bob.patch("/profile", json!({ "avatar_url": "https://example.org/bob.png" })).await.expect(200);
    let wanted = json!([
        { "user_id": ada.user_id, "username": "ada", "full_name": "", "avatar_url": "", "user_type": "user" },
        { "user_id": bob.user_id, "username": "builder", "full_name": "", "avatar_url": "https://example.org/bob.png", "user_type": "user" },
        { "user_id": grace.user_id, "username": "grace", "full_name": "", "avatar_url": "", "user_type": "user" },
    ]);
    for path in [format!("/channels/{news}"), "/channels/name/news".into()] {
        let shown = grace.get(&path).await.expect(200)["data"].take();
        assert_shape(&shown, CHANNEL);
        assert_shape(&shown, CHANNEL_DETAILS);
        assert_eq!(shown["owner_name"], "ada");
        shown["participants"].as_array().unwrap().iter().for_each(|one| assert_shape(one, PARTICIPANT));
        assert_eq!((&shown["participants"], &shown["access"]), (&wanted, &json!(true)));
        assert_eq!(ids_of(&shown["users"]), [&ada.user_id, &bob.user_id, &grace.user_id].map(String::as_str));
    }
    grace.post(&format!("/channels/{news}/leave"), json!({})).await.expect(200);
    let shown = grace.get(&format!("/channels/{news}")).await.expect(200)["data"].take();
    assert_eq!((&shown["access"], shown["participants"].as_array().unwrap().len()), (&json!(false), 2));
    server.user("outsider").await.get(&format!("/channels/{news}")).await.expect(404);
}

#[tokio::test]
async fn a_channel_names_its_owner_as_the_channel_knows_them() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let news = ada.channel(&organisation, "news", &[&grace]).await;
    let owner = async || grace.get(&format!("/channels/{news}")).await.expect(200)["data"]["owner_name"].take();
    assert_eq!(owner().await, "ada");
    ada.patch(&format!("/channels/{news}/username"), json!({ "username": "countess" })).await.expect(200);
    assert_eq!(owner().await, "countess");
    // The organisation's owner inherits a private channel without being in it.
    let private = grace.private_channel(&organisation, "private", &[]).await;
    server.sql(&format!(
        "update channels set owner_id = (select id from users where username = 'ada') where id = {}",
        blob(&private)
    ));
    let shown = grace.get(&format!("/channels/{private}")).await.expect(200)["data"].take();
    assert_eq!([&shown["owner_id"], &shown["owner_name"]], [&json!(ada.user_id), &json!("ada")]);
}

fn ids_of(users: &Value) -> Vec<String> {
    users.as_array().unwrap().iter().map(text).collect()
}

#[tokio::test]
async fn the_callers_channels_show_up_to_three_of_their_latest_posts() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let news = ada.channel(&organisation, "news", &[&grace]).await;
    ada.channel(&organisation, "not-hers", &[]).await;
    let mut said = Vec::new();
    for n in 0..4 {
        said.insert(0, ada.say(&news, &format!("post {n}")).await);
    }
    ada.reply(&news, &said[3], "a reply is no post").await;
    for (query, number) in [("", 0), ("?preview=0", 0), ("?preview=1", 1), ("?preview=3", 3)] {
        let listed = own(&grace, &organisation, query).await;
        listed.as_array().unwrap().iter().for_each(|channel| assert_shape(channel, SHORT_CHANNEL));
        let shown = find(&listed, &news);
        assert_eq!(ids(&shown["preview_thread"], "id"), said[..number], "{query}");
        shown["preview_thread"].as_array().unwrap().iter().for_each(|post| assert_shape(post, MESSAGE));
        assert_eq!((&shown["id"], &shown["access"], &shown["archived"]), (&json!(news), &json!(true), &json!(false)));
        assert_eq!(listed.as_array().unwrap().len(), 2, "only those that she is in");
        assert_eq!(find(&listed, &ada.general(&organisation).await)["preview_thread"], json!([]));
    }
    let listed = grace.get(&format!("/channels/{news}/messages?limit=3")).await.expect(200)["messages"].take();
    assert_eq!(find(&own(&grace, &organisation, "?preview=3").await, &news)["preview_thread"], listed);
    let path = format!("/organisations/{organisation}/user-channels");
    for wrong in ["4", "-1", "x", "1.5", "4294967296"] {
        grace.get(&format!("{path}?preview={wrong}")).await.expect(400);
    }
    let outsider = server.user("outsider").await;
    outsider.get(&format!("{path}?preview=3")).await.expect(404);
    server.anonymous().get(&format!("{path}?preview=3")).await.expect(401);
}

#[tokio::test]
async fn channels_to_join_are_found_by_a_part_of_their_name_or_topic() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    for name in ["Größe", "engines", "looms"] {
        ada.channel(&organisation, name, &[]).await;
    }
    ada.private_channel(&organisation, "secret engines", &[]).await;
    let looms = ada.get("/channels/name/looms").await.expect(200)["data"]["channels_id"].take();
    ada.patch(&format!("/channels/{}", looms.as_str().unwrap()), json!({ "topic": "Beside the ENGINES" })).await.expect(200);
    for (query, expected) in [
        ("q=engine", vec!["engines", "looms"]),
        ("q=GR%C3%96SSE", vec!["Größe"]),
        ("q=secret", vec![]),
        ("q=engine&limit=1&offset=1", vec!["looms"]),
        ("q=", vec!["engines", "Größe", "looms"]),
    ] {
        let path = format!("/organisations/{organisation}/user-not-channels?{query}");
        assert_eq!(ids(&grace.get(&path).await.expect(200)["data"], "name"), expected, "{query}");
    }
    let path = |q: &str| format!("/organisations/{organisation}/user-not-channels?q={q}");
    grace.get(&path(&"x".repeat(256))).await.expect(200);
    grace.get(&path(&"x".repeat(257))).await.refused(400, Code::TooLong);
}

#[tokio::test]
async fn the_ids_of_members_are_left_out_on_request_and_nothing_else_is() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let (news, old) = (ada.channel(&organisation, "news", &[&grace]).await, ada.channel(&organisation, "old", &[&grace]).await);
    ada.put(&format!("/channels/{old}/archive"), json!({ "archived": true })).await.expect(200);
    for path in [
        "/channels".to_owned(),
        format!("/organisations/{organisation}/channels"),
        format!("/organisations/{organisation}/channels/archived"),
        format!("/channels/{news}"),
        "/channels/name/news".to_owned(),
    ] {
        let (whole, asked) = (ada.get(&path).await.expect(200), ada.get(&format!("{path}?users=1")).await.expect(200));
        assert_eq!(asked, whole, "{path}");
        assert!(whole.to_string().contains(&format!(r#""users":["{}""#, ada.user_id)), "the premise, {path}: {whole:#}");
        assert_eq!(ada.get(&format!("{path}?users=0")).await.expect(200), without_users(whole), "{path}");
        for wrong in ["2", "-1", "x", "true", ""] {
            ada.get(&format!("{path}?users={wrong}")).await.expect(400);
        }
    }
}

/// The same answer with every list `users` empty.
fn without_users(mut answer: Value) -> Value {
    match &mut answer {
        Value::Object(fields) => {
            for (name, value) in fields {
                *value = if name == "users" { json!([]) } else { without_users(value.take()) };
            }
        }
        Value::Array(rows) => rows.iter_mut().for_each(|row| *row = without_users(row.take())),
        _ => {}
    }
    answer
}
