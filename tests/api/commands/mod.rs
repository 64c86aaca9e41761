//! Commands of organisations: how they are managed. Below: calling them.

mod calling;
mod clicking;

use serde_json::{Value, json};
use tidings::error::Code;

use crate::{
    harness::{Client, Server, text},
    shapes::assert_shape,
};

async fn list(client: &Client, organisation: &str) -> Value {
    client.get(&format!("/organisations/{organisation}/commands")).await.data(200, "Commands retrieved successfully")
}

#[tokio::test]
async fn a_command_is_made_listed_changed_and_deleted() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let commands = format!("/organisations/{organisation}/commands");
    let body = json!({
        "name": "Deploy", "description": "Deploys the main branch", "hint": "[environment]", "url": "https://ci.example/deploy",
    });
    let made = ada.post(&commands, body).await.data(201, "Command created successfully");
    assert_shape(
        &made,
        "secret:text id:uuid organisation_id:uuid owner_id:uuid name:text description:text hint:text url:text form:text \
         created_at:time updated_at:time",
    );
    assert_eq!([&made["name"], &made["form"], &made["url"]], ["deploy", "json", "https://ci.example/deploy"]);
    let secret = text(&made["secret"]);
    assert!(secret.starts_with("whsec_") && !server.stores(&secret), "{secret}");

    let seen = list(&grace, &organisation).await;
    assert_eq!((&seen[0]["name"], &seen[0]["url"]), (&json!("deploy"), &Value::Null), "members don't see where it leads");
    assert_eq!(list(&ada, &organisation).await[0]["url"], "https://ci.example/deploy");

    let path = format!("{commands}/{}", text(&made["id"]));
    let edited = ada.patch(&path, json!({ "hint": "", "form": "slack" })).await.data(200, "Command updated successfully");
    assert_eq!([&edited["secret"], &edited["hint"], &edited["form"]], [&Value::Null, &json!(""), &json!("slack")]);
    let renewed = ada.patch(&path, json!({ "new_secret": true })).await.expect(200)["data"]["secret"].take();
    assert_ne!(text(&renewed), secret);
    ada.delete(&path).await.done(200, "Command deleted successfully");
    ada.delete(&path).await.refused(404, Code::CommandNotFound);
    assert_eq!(list(&ada, &organisation).await, json!([]));
}

#[tokio::test]
async fn a_faulty_command_is_refused_and_changes_nothing() {
    let server = Server::start().await;
    let (ada, _, organisation) = server.ada_and_grace().await;
    let commands = format!("/organisations/{organisation}/commands");
    let good = json!({ "name": "deploy", "url": "https://ci.example/" });
    let id = text(&ada.post(&commands, good.clone()).await.expect(201)["data"]["id"]);
    for (field, value, code) in [
        ("name", json!("DEPLOY"), Code::NameTaken),
        ("name", json!("topic"), Code::Reserved),
        ("name", json!("x".repeat(33)), Code::TooLong),
        ("description", json!("x".repeat(201)), Code::TooLong),
        ("hint", json!("x".repeat(81)), Code::TooLong),
        ("form", json!("xml"), Code::InvalidValue),
        ("url", json!("http://127.0.0.1/"), Code::UrlNotAllowed),
        ("url", json!(""), Code::Empty),
    ] {
        let mut body = json!({ "name": "other", "url": "https://ci.example/" });
        body[field] = value.clone();
        ada.post(&commands, body).await.refused(422, code);
    }
    let other = json!({ "name": "other", "url": "https://ci.example/" });
    let other = text(&ada.post(&commands, other).await.expect(201)["data"]["id"]);
    ada.patch(&format!("{commands}/{other}"), json!({ "name": "deploy", "hint": "new" })).await.refused(422, Code::NameTaken);
    let longest = json!({ "name": "x".repeat(32), "description": "x".repeat(200), "hint": "x".repeat(80) });
    ada.patch(&format!("{commands}/{id}"), longest).await.expect(200);
    let listed = list(&ada, &organisation).await;
    assert_eq!((&listed[0]["name"], &listed[0]["hint"]), (&json!("other"), &json!("")));
}

#[tokio::test]
async fn an_organisation_has_a_hundred_commands_and_not_one_more() {
    let server = Server::start().await;
    let (ada, _, organisation) = server.ada_and_grace().await;
    let commands = format!("/organisations/{organisation}/commands");
    let make = async |n: usize| ada.post(&commands, json!({ "name": format!("c{n}"), "url": "https://ci.example/" })).await;
    for n in 0..100 {
        make(n).await.expect(201);
    }
    assert_eq!(make(100).await.refused(422, Code::LimitReached)["limit"], 100);
}
