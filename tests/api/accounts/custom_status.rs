//! What users say that they do now.

use std::time::Duration;

use serde_json::{Value, json};
use tidings::error::Code;

use crate::{
    harness::{Client, Server},
    socket::Socket,
};

const SAYS: &str = "Status updated successfully";

async fn set(client: &Client, body: Value) -> Value {
    client.put("/profile/status", body).await.data(200, SAYS)["custom_status"].take()
}

/// What the reader is shown of a user, in every list that shows users.
async fn shown(reader: &Client, organisation: &str, user: &str) -> Vec<Value> {
    let of = |rows: &Value, id: &str| {
        let found = rows.as_array().unwrap().iter().find(|row| row[id] == user).expect("the user is listed");
        found.get("custom_status").cloned().unwrap_or_default()
    };
    let members = reader.get(&format!("/organisations/{organisation}/users")).await.expect(200);
    let by_id = reader.get(&format!("/organisations/{organisation}/users?ids={user}")).await.expect(200);
    let found = reader.get(&format!("/organisations/{organisation}/users?q=gra")).await.expect(200);
    let general = reader.general(organisation).await;
    let here = reader.get(&format!("/channels/{general}/users")).await.expect(200);
    let directs = reader.get(&format!("/organisations/{organisation}/dms")).await.expect(200);
    let start = reader.get("/start").await.expect(200);
    let alone = reader.get(&format!("/users/{user}/status")).await.expect(200);
    vec![
        of(&members["data"], "id"),
        of(&by_id["data"], "id"),
        of(&found["data"], "id"),
        of(&here["users"], "user_id"),
        of(&directs["data"][0]["participants"], "user_id"),
        of(&start["data"]["direct_messages"][0]["participants"], "user_id"),
        alone["data"]["custom_status"].clone(),
    ]
}

#[tokio::test]
async fn a_status_is_shown_wherever_its_user_is_and_told_to_the_organisations() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    ada.post(&format!("/organisations/{organisation}/dms"), json!({ "user_ids": [grace.user_id] })).await.expect(201);
    assert_eq!(shown(&ada, &organisation, &grace.user_id).await, vec![Value::Null; 7]);
    let own = grace.user_id.clone();
    let mut socket = Socket::listening(&ada, &[&organisation]).await;
    let mut device = Socket::listening(&grace, &[&own]).await;

    let status = json!({ "emoji": "🌴", "text": "On holiday", "until": null });
    assert_eq!(set(&grace, json!({ "emoji": "🌴", "text": " On holiday " })).await, status);
    assert_eq!(shown(&ada, &organisation, &grace.user_id).await, vec![status.clone(); 7]);
    let told = socket.on(&organisation).await;
    assert_eq!([&told["notification_type"], &told["data"]["custom_status"]], [&json!("member_update"), &status]);
    assert_eq!(device.on(&own).await["data"]["custom_status"], status);

    assert_eq!(set(&grace, json!({ "emoji": "🌴", "text": "On holiday" })).await, status, "the same tells nothing");
    assert_eq!(set(&grace, json!({})).await, Value::Null);
    assert_eq!(socket.on(&organisation).await["data"]["custom_status"], Value::Null);
    assert_eq!(device.on(&own).await["data"]["custom_status"], Value::Null);
    assert_eq!(shown(&ada, &organisation, &grace.user_id).await, vec![Value::Null; 7]);
}

/// Those whom somebody has left are told no more of what that person does.
#[tokio::test]
async fn a_status_is_not_shown_where_its_user_was_once() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    ada.post(&format!("/organisations/{organisation}/dms"), json!({ "user_ids": [grace.user_id] })).await.expect(201);
    let mut socket = Socket::listening(&ada, &[&organisation]).await;
    set(&grace, json!({ "text": "Looking around" })).await;
    assert_eq!(socket.on(&organisation).await["data"]["action"], "updated");
    ada.delete(&format!("/organisations/{organisation}/users/{}", grace.user_id)).await.expect(200);
    let told = socket.on(&organisation).await["data"].take();
    assert_eq!([&told["action"], &told["custom_status"]], [&json!("removed"), &Value::Null]);
    set(&grace, json!({ "text": "At the new place" })).await;
    ada.get(&format!("/users/{}/status", grace.user_id)).await.refused(404, Code::UserNotFound);
    let directs = ada.get(&format!("/organisations/{organisation}/dms")).await.expect(200);
    let start = ada.get("/start").await.expect(200);
    for people in [&directs["data"][0]["participants"], &start["data"]["direct_messages"][0]["participants"]] {
        let found = people.as_array().unwrap().iter().find(|one| one["user_id"] == grace.user_id).expect("she is still a side");
        assert_eq!(found.get("custom_status"), None);
    }
}

#[tokio::test]
async fn the_server_takes_a_status_away_when_it_ends() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let mut socket = Socket::listening(&ada, &[&organisation]).await;
    let until = tidings::time::Time::now() + Duration::from_secs(3600);
    let status = set(&grace, json!({ "text": "In a meeting", "until": until })).await;
    assert_eq!(status, json!({ "emoji": "", "text": "In a meeting", "until": until }));
    assert_eq!(socket.on(&organisation).await["data"]["custom_status"], status);
    server.clock.advance(Duration::from_secs(3700));
    assert_eq!(socket.on(&organisation).await["data"]["custom_status"], Value::Null);
    assert_eq!(grace.get("/profile").await.expect(200)["data"]["custom_status"], Value::Null);

    // A later status has its own end, or none.
    set(&grace, json!({ "text": "In a meeting", "until": until + Duration::from_secs(3600) })).await;
    set(&grace, json!({ "text": "At the sea" })).await;
    server.clock.advance(Duration::from_secs(7200));
    set(&ada, json!({ "text": "Here", "until": until + Duration::from_secs(4 * 3600) })).await;
    assert_eq!(grace.get("/profile").await.expect(200)["data"]["custom_status"]["text"], "At the sea");
}

/// The time may have come while the server was down.
#[tokio::test]
async fn a_status_that_ended_while_the_server_was_down_is_taken_away() {
    let server = Server::start().await;
    let (_, grace, _) = server.ada_and_grace().await;
    set(&grace, json!({ "text": "In a meeting", "until": tidings::time::Time::now() + Duration::from_secs(3600) })).await;
    server.sql("update users set status_until = 1 where status_until is not null");
    let folder = server.end_and_keep().await;
    let server = Server::on_copy_of(folder.path(), |_| {}).await;
    let grace = server.log_in("grace", crate::harness::PASSWORD).await;
    let mut device = Socket::listening(&grace, &[&grace.user_id]).await;
    while grace.get("/profile").await.expect(200)["data"]["custom_status"] != Value::Null {
        device.on(&grace.user_id).await;
    }
}

#[tokio::test]
async fn a_faulty_status_is_refused_and_changes_nothing() {
    let server = Server::start().await;
    let ada = server.user("ada").await;
    set(&ada, json!({ "emoji": ":sea:", "text": "x".repeat(100) })).await;
    let before = ada.get("/profile").await.expect(200);
    let put = async |body| ada.put("/profile/status", body).await;
    put(json!({ "text": "x".repeat(101) })).await.refused(422, Code::TooLong);
    put(json!({ "text": "a\nb" })).await.refused(422, Code::InvalidCharacters);
    put(json!({ "emoji": "" })).await.refused(422, Code::Empty);
    put(json!({ "emoji": "a/b" })).await.refused(422, Code::InvalidCharacters);
    put(json!({ "emoji": "x".repeat(65) })).await.refused(422, Code::TooLong);
    put(json!({ "text": "Away", "until": server.clock.now() })).await.refused(422, Code::InvalidValue);
    put(json!({ "text": 5 })).await.expect(400);
    put(json!({ "text": "Away", "until": "tomorrow" })).await.expect(400);
    assert_eq!(ada.get("/profile").await.expect(200), before);
}
