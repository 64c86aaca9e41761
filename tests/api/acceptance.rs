//! Accepting an invitation.

use serde_json::json;

use crate::{
    harness::{Client, PASSWORD, Reply, Server, text},
    shapes::{SESSION, USER, assert_shape},
};

pub async fn verify(client: &Client, token: &str) -> Reply {
    client.post("/invite/verify", json!({ "token": token })).await
}

async fn is_member(client: &Client, organisation: &str) -> bool {
    client.get(&format!("/organisations/{organisation}")).await.status == 200
}

#[tokio::test]
async fn the_invited_user_joins_with_the_role_and_the_general_channel() {
    let server = Server::start().await;
    let (ada, grace) = (server.user("ada").await, server.user("grace").await);
    let organisation = ada.organisation("Engines").await;
    let token = ada.invite(&organisation, &grace.email, "manager").await;
    assert!(!is_member(&grace, &organisation).await);

    let data = verify(&grace, &token).await.data(200, "User invited successfully");
    assert_shape(&data, SESSION);
    assert_shape(&data["user"], USER);
    assert_eq!([&data["user"]["id"], &data["user"]["password"]], [grace.user_id.as_str(), ""]);
    assert_eq!(data["user"]["current_org"], organisation);

    assert_eq!(grace.get(&format!("/organisations/{organisation}")).await.expect(200)["data"]["org_role"], "manager");
    grace.say(&ada.general(&organisation).await, "hello").await;
    server.anonymous().with_session(&data).get("/users/organisations").await.expect(200);
}

#[tokio::test]
async fn an_invited_address_without_an_account_gets_one() {
    let server = Server::start().await;
    let ada = server.user("ada").await;
    let organisation = ada.organisation("Engines").await;
    let token = ada.invite(&organisation, "new@example.org", "member").await;
    let data = verify(&server.anonymous(), &token).await.data(200, "User invited successfully");
    assert_shape(&data, SESSION);
    assert_shape(&data["user"], USER);
    assert_eq!([&data["user"]["email"], &data["user"]["is_verified"]], [&json!("new@example.org"), &json!(false)]);

    let newcomer = server.anonymous().with_session(&data);
    assert!(is_member(&newcomer, &organisation).await);
    server.log_in("new", &text(&data["user"]["password"])).await;
}

#[tokio::test]
async fn an_account_must_log_in_to_accept() {
    let server = Server::start().await;
    let (ada, grace, other) = (server.user("ada").await, server.user("grace").await, server.user("other").await);
    let organisation = ada.organisation("Engines").await;
    let token = ada.invite(&organisation, &grace.email, "member").await;

    let refused = verify(&server.anonymous(), &token).await.expect(401);
    assert_eq!(refused["message"], "Log in as the invited user to accept");
    verify(&other, &token).await.expect(403);
    verify(&server.anonymous().with_token("no token"), &token).await.expect(401);
    assert!(!is_member(&grace, &organisation).await && !is_member(&other, &organisation).await);

    verify(&grace, &token).await.expect(200);
    assert!(is_member(&grace, &organisation).await, "nothing was used up");
}

#[tokio::test]
async fn a_token_is_good_once_and_for_seven_days() {
    let server = Server::start().await;
    let (ada, grace) = (server.user("ada").await, server.user("grace").await);
    let organisation = ada.organisation("Engines").await;
    let used = ada.invite(&organisation, &grace.email, "member").await;
    verify(&grace, &used).await.expect(200);
    verify(&grace, &used).await.expect(422);
    verify(&server.anonymous(), &used).await.expect(422);

    let old = ada.invite(&organisation, "late@example.org", "member").await;
    server.sql("update invitations set expires_at = created_at where email = 'late@example.org'");
    verify(&server.anonymous(), &old).await.expect(422);
    let again = ada.invite(&organisation, "late@example.org", "member").await;
    assert_ne!(again, old, "an expired invitation does not stand in the way");
    verify(&server.anonymous(), &again).await.expect(200);
}

#[tokio::test]
async fn an_unknown_or_missing_token_is_refused() {
    let server = Server::start().await;
    let grace = server.user("grace").await;
    for client in [&grace, &server.anonymous()] {
        verify(client, "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA").await.expect(400);
        verify(client, "").await.expect(400);
        client.post("/invite/verify", json!({})).await.expect(400);
        client.post("/invite/verify", json!({ "token": 7 })).await.expect(400);
        client.call_text("POST", "/invite/verify", "").await.expect(400);
    }
}

#[tokio::test]
async fn an_invitation_is_worth_what_its_sender_is_worth() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let member = |user: &Client| format!("/organisations/{organisation}/users/{}", user.user_id);
    let token = grace.invite(&organisation, "new@example.org", "member").await;
    for (demoted, restored) in [
        (json!({ "role_id": "guest" }), json!({ "role_id": "member" })),
        (json!({ "status": "deactivated" }), json!({ "status": "active" })),
    ] {
        ada.put(&member(&grace), demoted).await.expect(200);
        verify(&server.anonymous(), &token).await.expect(422);
        ada.put(&member(&grace), restored).await.expect(200);
    }
    server.sql("update users set is_active = 0 where username = 'grace'");
    verify(&server.anonymous(), &token).await.expect(422);
    server.sql("update users set is_active = 1 where username = 'grace'");
    let grace = server.log_in("grace", PASSWORD).await;
    ada.put(&member(&grace), json!({ "role_id": "manager" })).await.expect(200);
    let admin = grace.invite(&organisation, "boss@example.org", "admin").await;
    ada.put(&member(&grace), json!({ "role_id": "member" })).await.expect(200);
    verify(&server.anonymous(), &admin).await.expect(422);
    ada.delete(&member(&grace)).await.expect(200);
    verify(&server.anonymous(), &token).await.expect(422);

    ada.post("/invite/resend", json!({ "org_id": organisation, "emails": ["new@example.org"] })).await.expect(200);
    let again = server.mails("new@example.org", 2).await[1].parameter("invitation_token");
    verify(&server.anonymous(), &again).await.expect(200);
}
