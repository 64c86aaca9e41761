//! Reminders.

use std::time::Duration;

use serde_json::{Value, json};
use tidings::{domain::reminders::MOST, error::Code};

use crate::{
    harness::{Client, PASSWORD, Server, text, unknown_id},
    shapes::assert_shape,
    socket::Socket,
};

const REMINDER: &str = "id:uuid text:text channel_id:uuid? due_at:time is_due:bool created_at:time";

fn in_hours(server: &Server, hours: u64) -> Value {
    json!(server.clock.now() + Duration::from_secs(hours * 3600))
}

async fn make(client: &Client, body: Value) -> Value {
    client.post("/reminders", body).await.data(201, "Reminder created successfully")
}

async fn list(client: &Client) -> Value {
    client.get("/reminders").await.data(200, "Reminders retrieved successfully")
}

/// The next change that the user's devices are told of: what happened, and the reminder.
async fn told(socket: &mut Socket, client: &Client) -> (String, Value) {
    let mut publication = socket.on(&client.user_id).await;
    assert_eq!([&publication["notification_type"], &publication["section"]], ["reminder_update", "account_section"]);
    let mut data = publication["data"].take();
    let action = text(&data.as_object_mut().unwrap().remove("action").unwrap());
    (action, data)
}

#[tokio::test]
async fn a_reminder_is_made_changed_listed_and_deleted() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let general = ada.general(&organisation).await;
    let mut socket = Socket::listening(&ada, &[&ada.user_id]).await;
    assert_eq!(list(&ada).await, json!([]));

    let later = make(&ada, json!({ "text": " Call the dock ", "due_at": in_hours(&server, 3), "channel_id": general })).await;
    assert_shape(&later, REMINDER);
    assert_eq!(
        [&later["text"], &later["channel_id"], &later["is_due"]],
        [&json!("Call the dock"), &json!(general), &json!(false)]
    );
    assert_eq!(told(&mut socket, &ada).await, ("created".into(), later.clone()));
    let sooner = make(&ada, json!({ "text": "Tea", "due_at": in_hours(&server, 1) })).await;
    assert_eq!(sooner["channel_id"], Value::Null);
    assert_eq!(told(&mut socket, &ada).await.1, sooner);
    assert_eq!(list(&ada).await, json!([sooner, later]));

    let path = format!("/reminders/{}", text(&sooner["id"]));
    let due_at = in_hours(&server, 5);
    let changed = ada.patch(&path, json!({ "due_at": due_at })).await.data(200, "Reminder updated successfully");
    assert_eq!([&changed["text"], &changed["due_at"]], [&json!("Tea"), &due_at]);
    assert_eq!(told(&mut socket, &ada).await, ("updated".into(), changed.clone()));
    ada.patch(&path, json!({ "due_at": due_at, "text": "Tea" })).await.expect(200); // the same tells nothing
    let changed = ada.patch(&path, json!({ "text": "Coffee" })).await.expect(200)["data"].take();
    assert_eq!([&changed["text"], &changed["due_at"]], [&json!("Coffee"), &due_at]);
    assert_eq!(told(&mut socket, &ada).await.1, changed);
    assert_eq!(list(&ada).await, json!([later, changed]));

    assert_eq!(list(&grace).await, json!([]), "each for themselves");
    grace.patch(&path, json!({ "text": "Mine" })).await.refused(404, Code::ReminderNotFound);
    grace.delete(&path).await.refused(404, Code::ReminderNotFound);
    ada.delete(&path).await.done(200, "Reminder deleted successfully");
    assert_eq!(told(&mut socket, &ada).await, ("deleted".into(), changed));
    ada.delete(&path).await.refused(404, Code::ReminderNotFound);
    assert_eq!(list(&ada).await, json!([later]));
}

#[tokio::test]
async fn the_user_is_told_when_it_is_due_once_and_again_after_another_time() {
    let server = Server::start().await;
    let ada = server.user("ada").await;
    let made = make(&ada, json!({ "text": "Tea", "due_at": in_hours(&server, 1) })).await;
    let other = make(&ada, json!({ "text": "Dinner", "due_at": in_hours(&server, 9) })).await;
    let mut socket = Socket::listening(&ada, &[&ada.user_id]).await;
    server.clock.advance(Duration::from_secs(3601));
    let (action, due) = told(&mut socket, &ada).await;
    assert_eq!([&json!(action), &due["id"], &due["is_due"]], [&json!("due"), &made["id"], &json!(true)]);
    assert_eq!(list(&ada).await, json!([due, other]), "it stays until it is deleted");

    let path = format!("/reminders/{}", text(&made["id"]));
    let changed = ada.patch(&path, json!({ "text": "Green tea" })).await.expect(200)["data"].take();
    assert_eq!(changed["is_due"], true, "another text doesn't remind again");
    told(&mut socket, &ada).await;
    let snoozed = ada.patch(&path, json!({ "due_at": in_hours(&server, 1) })).await.expect(200)["data"].take();
    assert_eq!(snoozed["is_due"], false);
    told(&mut socket, &ada).await;
    server.clock.advance(Duration::from_secs(3601));
    let (action, due) = told(&mut socket, &ada).await;
    assert_eq!([&json!(action), &due["text"]], ["due", "Green tea"]);
}

/// Whether the server was down when the time came, or the user was away.
#[tokio::test]
async fn a_reminder_survives_a_restart_and_is_told_to_who_comes_back() {
    let server = Server::start().await;
    let ada = server.user("ada").await;
    make(&ada, json!({ "text": "Tea", "due_at": in_hours(&server, 1) })).await;
    server.sql("update reminders set due_at = 1");
    let folder = server.end_and_keep().await;
    let server = Server::on_copy_of(folder.path(), |_| {}).await;
    let ada = server.log_in("ada", PASSWORD).await;
    let mut socket = Socket::listening(&ada, &[&ada.user_id]).await;
    while list(&ada).await[0]["is_due"] == false {
        told(&mut socket, &ada).await;
    }
    let mut away = Socket::connect(&ada).await;
    let start = away.subscribe(&ada.user_id).await;
    drop(away);
    make(&ada, json!({ "text": "Dinner", "due_at": in_hours(&server, 1) })).await;
    server.clock.advance(Duration::from_secs(3601));
    while list(&ada).await[1]["is_due"] == false {
        told(&mut socket, &ada).await;
    }
    let recovered = Socket::connect(&ada).await.recover(&ada.user_id, &start["epoch"], &start["offset"]).await;
    let actions: Vec<_> =
        recovered["publications"].as_array().unwrap().iter().map(|one| &one["data"]["data"]["action"]).collect();
    assert_eq!(actions, ["created", "due"]);
}

#[tokio::test]
async fn a_faulty_reminder_is_refused() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let due_at = in_hours(&server, 1);
    let private = json!({ "name": "plans", "organisation_id": organisation, "is_private": true });
    let private = ada.post("/channels", private).await.expect(201)["data"]["id"].take();
    let post = async |body| grace.post("/reminders", body).await;
    post(json!({ "text": "x", "due_at": server.clock.now() })).await.refused(422, Code::InvalidValue);
    post(json!({ "text": " ", "due_at": due_at })).await.refused(422, Code::Empty);
    post(json!({ "text": "x".repeat(501), "due_at": due_at })).await.refused(422, Code::TooLong);
    post(json!({ "due_at": due_at })).await.refused(400, Code::Required);
    post(json!({ "text": "x", "due_at": "soon" })).await.refused(400, Code::InvalidValue);
    for channel in [private, json!(unknown_id())] {
        post(json!({ "text": "x", "due_at": due_at, "channel_id": channel })).await.refused(404, Code::ChannelNotFound);
    }
    assert_eq!(list(&grace).await, json!([]));
    let made = make(&grace, json!({ "text": "x".repeat(500), "due_at": due_at })).await;
    let path = format!("/reminders/{}", text(&made["id"]));
    grace.patch(&path, json!({ "due_at": server.clock.now() })).await.refused(422, Code::InvalidValue);
    grace.patch(&path, json!({ "text": "" })).await.refused(422, Code::Empty);
    assert_eq!(list(&grace).await, json!([made]));
}

#[tokio::test]
async fn a_user_has_at_most_200_reminders() {
    let server = Server::start().await;
    let ada = server.user("ada").await;
    for _ in 0..MOST {
        make(&ada, json!({ "text": "Tea", "due_at": in_hours(&server, 1) })).await;
    }
    let over = json!({ "text": "Tea", "due_at": in_hours(&server, 1) });
    let refused = ada.post("/reminders", over.clone()).await.refused(422, Code::LimitReached);
    assert_eq!(refused["limit"], MOST);
    let first = text(&list(&ada).await[0]["id"]);
    ada.delete(&format!("/reminders/{first}")).await.expect(200);
    make(&ada, over).await;
}

#[tokio::test]
async fn a_reminder_outlives_its_channel() {
    let server = Server::start().await;
    let (ada, _, organisation) = server.ada_and_grace().await;
    let channel = ada.channel(&organisation, "news", &[]).await;
    let made = make(&ada, json!({ "text": "Tea", "due_at": in_hours(&server, 1), "channel_id": channel })).await;
    ada.delete(&format!("/channels/{channel}")).await.expect(204);
    let tomorrow = tidings::time::Time::now() + Duration::from_secs(24 * 3600);
    while server.write(|tx| tidings::domain::channel_purging::purge(tx, tomorrow, 200)).unwrap() > 0 {}
    let left = list(&ada).await[0].take();
    assert_eq!([&left["id"], &left["channel_id"]], [&made["id"], &Value::Null]);
}
