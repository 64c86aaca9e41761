//! Which passwords are allowed, and changing them.

use serde_json::{Value, json};

use crate::harness::{Client, PASSWORD, Reply, Server};

const NEW: &str = "a quite different one";

async fn change(client: &Client, old: &str, new: &str) -> Reply {
    client.put("/auth/change-password", json!({ "old_password": old, "new_password": new })).await
}

fn registration(password: &str) -> Value {
    json!({ "email": "ada@example.org", "username": "ada.lovelace", "password": password })
}

/// Passwords that are refused for ada@example.org with the username ada.lovelace.
fn bad_passwords() -> Vec<String> {
    let mut bad: Vec<_> =
        ["", "seven77", "password1", "Password1", "iloveyou", "ada@example.org", "ada.lovelace", "ADA.Lovelace"]
            .map(str::to_owned)
            .into();
    bad.push("x".repeat(129));
    bad
}

#[tokio::test]
async fn a_bad_password_registers_nobody() {
    let server = Server::start().await;
    for password in bad_passwords() {
        server.anonymous().post("/auth/register", registration(&password)).await.expect(400);
    }
    server.anonymous().post("/auth/register", registration(PASSWORD)).await.expect(201);
}

#[tokio::test]
async fn a_password_has_8_to_128_characters() {
    let server = Server::start().await;
    for (number, password) in ["pläßwört".to_owned(), "x".repeat(128), "é".repeat(128)].iter().enumerate() {
        let body = json!({ "email": format!("user{number}@example.org"), "password": password });
        server.anonymous().post("/auth/register", body.clone()).await.expect(201);
        server.anonymous().post("/auth/login", body).await.expect(200);
    }
}

#[tokio::test]
async fn only_the_new_password_logs_in_after_a_change() {
    let server = Server::start().await;
    let ada = server.user("ada").await;
    change(&ada, PASSWORD, NEW).await.expect(200);
    let old = json!({ "email": ada.email, "password": PASSWORD });
    server.anonymous().post("/auth/login", old).await.expect(401);
    server.log_in("ada", NEW).await;
}

#[tokio::test]
async fn a_changed_password_ends_all_other_sessions_and_is_told_by_mail() {
    let server = Server::start().await;
    let here = server.user("ada").await;
    let there = server.log_in("ada", PASSWORD).await;
    let grace = server.user("grace").await;
    there.get("/users/organisations").await.expect(200);

    change(&here, PASSWORD, NEW).await.expect(200);

    here.get("/users/organisations").await.expect(200);
    there.get("/users/organisations").await.expect(401);
    grace.get("/users/organisations").await.expect(200);
    let mails = server.mails(&here.email, 2).await;
    assert!(mails[1].subject.to_lowercase().contains("password"), "{}", mails[1].subject);
}

#[tokio::test]
async fn the_old_password_must_be_right() {
    let server = Server::start().await;
    let ada = server.user("ada").await;
    change(&ada, "wrong horse battery", NEW).await.expect(401);
    change(&ada, "", NEW).await.expect(401);
    server.log_in("ada", PASSWORD).await;
}

#[tokio::test]
async fn the_new_password_must_be_allowed_and_differ_from_the_old() {
    let server = Server::start().await;
    server.anonymous().post("/auth/register", registration(PASSWORD)).await.expect(201);
    let ada = server.log_in("ada", PASSWORD).await;
    for password in bad_passwords() {
        change(&ada, PASSWORD, &password).await.expect(422);
    }
    change(&ada, PASSWORD, PASSWORD).await.expect(422);
    server.log_in("ada", PASSWORD).await;
}

#[tokio::test]
async fn a_faulty_change_of_password_is_refused() {
    let server = Server::start().await;
    let ada = server.user("ada").await;
    for body in [
        json!({}),
        json!({ "old_password": PASSWORD }),
        json!({ "new_password": NEW }),
        json!({ "old_password": PASSWORD, "new_password": 12345678 }),
        json!({ "old_password": null, "new_password": NEW }),
    ] {
        ada.put("/auth/change-password", body).await.expect(400);
    }
    ada.call_text("PUT", "/auth/change-password", "{").await.expect(400);
    change(&server.anonymous(), PASSWORD, NEW).await.expect(401);
    server.log_in("ada", PASSWORD).await;
}
