//! Proofs of the mailbox: somebody who registered a foreign address loses all access when the mailbox's owner proves
//! it, and an owner who registered their own address loses nothing.

use serde_json::{Value, json};

use crate::{
    harness::{Client, PASSWORD, Reply, Server},
    socket::Socket,
};

const NEW: &str = "a quite different one";

async fn verify(client: &Client, body: Value) -> Reply {
    client.post("/auth/email-request/verify", body).await
}

async fn log_in(server: &Server, password: &str) -> Reply {
    server.anonymous().post("/auth/login", json!({ "email": "ada@example.org", "password": password })).await
}

/// Somebody registers Ada's address and has a session, and the token of the mail that this sends to Ada.
async fn registered(server: &Server) -> (Client, String) {
    let stranger = server.user("ada").await;
    let token = server.mails("ada@example.org", 1).await[0].parameter("token");
    (stranger, token)
}

/// Asks for a link with the address; gives the token of the mail.
async fn link(server: &Server, path: &str, count: usize) -> String {
    server.anonymous().post(path, json!({ "email": "ada@example.org" })).await.expect(200);
    server.mails("ada@example.org", count).await[count - 1].parameter("token")
}

async fn is_verified(client: &Client) -> bool {
    client.get("/profile").await.expect(200)["data"]["is_verified"] == true
}

#[tokio::test]
async fn a_verification_alone_proves_no_mailbox_and_a_magic_link_then_ends_earlier_access() {
    let server = Server::start().await;
    let (stranger, token) = registered(&server).await;
    verify(&server.anonymous(), json!({ "token": token })).await.expect(200);
    assert!(is_verified(&stranger).await, "as the specification has it");

    let token = link(&server, "/auth/magic-link", 2).await;
    let data = server.anonymous().post("/auth/magic-link/verify", json!({ "token": token })).await.expect(200);
    let owner = server.anonymous().with_session(&data["data"]);
    stranger.get("/profile").await.expect(401);
    log_in(&server, PASSWORD).await.expect(401);

    let token = link(&server, "/auth/magic-link", 3).await;
    server.anonymous().post("/auth/magic-link/verify", json!({ "token": token })).await.expect(200);
    owner.get("/profile").await.expect(200);
}

#[tokio::test]
async fn a_reset_ends_earlier_access_and_proves_the_mailbox() {
    let server = Server::start().await;
    let (stranger, _) = registered(&server).await;
    server.sql("insert into identities select 'https://issuer.example', 'stranger', id from users");
    let token = link(&server, "/auth/password-reset", 2).await;
    let body = json!({ "token": token, "new_password": NEW });
    server.anonymous().post("/auth/password-reset/verify", body).await.expect(200);
    stranger.get("/profile").await.expect(401);
    assert_eq!(server.count("identities"), 0, "nor does an identity that was linked before open it");

    let owner = server.log_in("ada", NEW).await;
    let token = link(&server, "/auth/magic-link", 4).await;
    server.anonymous().post("/auth/magic-link/verify", json!({ "token": token })).await.expect(200);
    owner.get("/profile").await.expect(200);
    log_in(&server, NEW).await.expect(200);
}

#[tokio::test]
async fn verifying_with_password_or_bearer_keeps_all_access() {
    for with_bearer in [false, true] {
        let server = Server::start().await;
        let (ada, token) = registered(&server).await;
        let body = if with_bearer { json!({ "token": token }) } else { json!({ "token": token, "password": PASSWORD }) };
        let client = if with_bearer { ada.clone() } else { server.anonymous() };
        verify(&client, body).await.done(200, "Email verified successfully");
        assert!(is_verified(&ada).await);

        let token = link(&server, "/auth/magic-link", 2).await;
        server.anonymous().post("/auth/magic-link/verify", json!({ "token": token })).await.expect(200);
        ada.get("/profile").await.expect(200);
        log_in(&server, PASSWORD).await.expect(200);
    }
}

#[tokio::test]
async fn a_wrong_password_does_not_verify_and_does_not_use_up_the_token() {
    let server = Server::start().await;
    let (ada, token) = registered(&server).await;
    for wrong in ["wrong horse battery", ""] {
        verify(&server.anonymous(), json!({ "token": token, "password": wrong })).await.expect(401);
    }
    verify(&server.anonymous(), json!({ "token": "unknown", "password": PASSWORD })).await.expect(400);
    verify(&server.anonymous(), json!({ "token": token, "password": 7 })).await.expect(400);
    assert!(!is_verified(&ada).await);
    verify(&server.anonymous(), json!({ "token": token, "password": PASSWORD })).await.expect(200);
    verify(&server.anonymous(), json!({ "token": token, "password": PASSWORD })).await.expect(422);
}

#[tokio::test]
async fn wrong_passwords_at_verification_count_as_failed_log_ins() {
    let server = Server::with(|settings| settings.rate_limit = tidings::config::Switch::On).await;
    let (_, token) = registered(&server).await;
    for _ in 0..10 {
        verify(&server.anonymous(), json!({ "token": token, "password": "wrong horse battery" })).await.expect(401);
    }
    verify(&server.anonymous(), json!({ "token": token, "password": PASSWORD })).await.expect(429);
}

#[tokio::test]
async fn the_session_of_another_account_proves_no_mailbox() {
    let server = Server::start().await;
    let (stranger, token) = registered(&server).await;
    let grace = server.user("grace").await;
    verify(&grace, json!({ "token": token })).await.expect(200);
    assert!(is_verified(&stranger).await && !is_verified(&grace).await);
    let token = link(&server, "/auth/magic-link", 2).await;
    server.anonymous().post("/auth/magic-link/verify", json!({ "token": token })).await.expect(200);
    stranger.get("/profile").await.expect(401);
}

#[tokio::test]
async fn the_password_proves_the_mailbox_also_beside_another_accounts_session() {
    let server = Server::start().await;
    let (ada, token) = registered(&server).await;
    let grace = server.user("grace").await;
    verify(&grace, json!({ "token": token, "password": PASSWORD })).await.expect(200);
    let token = link(&server, "/auth/magic-link", 2).await;
    server.anonymous().post("/auth/magic-link/verify", json!({ "token": token })).await.expect(200);
    ada.get("/profile").await.expect(200);
}

#[tokio::test]
async fn members_see_who_is_verified_and_receive_changes() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let listed = async || {
        let members = ada.get(&format!("/organisations/{organisation}/users")).await.expect(200)["data"].take();
        members.as_array().unwrap().iter().find(|member| member["id"] == grace.user_id).unwrap()["is_verified"].clone()
    };
    assert_eq!(listed().await, false);
    let mut socket = Socket::listening(&ada, &[&organisation]).await;
    let token = server.mails(&grace.email, 1).await[0].parameter("token");
    verify(&server.anonymous(), json!({ "token": token })).await.expect(200);
    let told = socket.on(&organisation).await;
    assert_eq!([&told["notification_type"], &told["data"]["user_id"]], ["member_update", grace.user_id.as_str()]);
    assert_eq!([&told["data"]["is_verified"], &listed().await], [true, true]);
}
