//! Accepting an invitation.

use serde_json::{Value, json};

use tidings::error::Code;

use crate::{
    harness::{Client, DAY, PASSWORD, Reply, Server, text},
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
    assert_eq!(data["user"]["current_organisation_slug"], "engines");

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

    let refused = verify(&server.anonymous(), &token).await.refused(401, Code::LoginRequired);
    assert_eq!(refused["message"], "Log in as the invited user to accept");
    verify(&other, &token).await.refused(403, Code::InvitationForAnother);
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

    let in_time = ada.invite(&organisation, "soon@example.org", "member").await;
    let old = ada.invite(&organisation, "late@example.org", "member").await;
    server.clock.advance(DAY * 6);
    verify(&server.anonymous(), &in_time).await.expect(200);
    server.clock.advance(DAY);
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
async fn an_invitation_is_good_only_while_its_sender_has_the_rights_to_send_it() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let member = |user: &Client| format!("/organisations/{organisation}/users/{}", user.user_id);
    let token = grace.invite(&organisation, "new@example.org", "member").await;
    for (demoted, restored) in [
        (json!({ "role_id": "guest" }), json!({ "role_id": "member" })),
        (json!({ "status": "deactivated" }), json!({ "status": "active" })),
    ] {
        ada.put(&member(&grace), demoted).await.expect(200);
        verify(&server.anonymous(), &token).await.refused(422, Code::LinkInvalid);
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

/// The row of an address in the organisation's list of members, or of invitations.
async fn listed(client: &Client, organisation: &str, list: &str, email: &str) -> Value {
    let data = client.get(&format!("/organisations/{organisation}/{list}")).await.expect(200)["data"].take();
    let rows = data["invitations"].as_array().or_else(|| data.as_array()).unwrap();
    rows.iter().find(|row| row["email"] == email).unwrap_or_else(|| panic!("{email} is not in {data}")).clone()
}

async fn mailed(server: &Server, email: &str, count: usize) -> String {
    server.mails(email, count).await[count - 1].parameter("invitation_token")
}

/// The inviter sees a token, and could accept with it themselves.
#[tokio::test]
async fn only_the_mailed_link_verifies_the_address() {
    let server = Server::start().await;
    let ada = server.user("ada").await;
    let organisation = ada.organisation("Engines").await;
    for (email, by_mail) in [("cfo@example.org", false), ("new@example.org", true)] {
        let shown = ada.invite(&organisation, email, "member").await;
        let token = if by_mail { mailed(&server, email, 1).await } else { shown.clone() };
        assert_eq!(token == shown, !by_mail);
        let data = verify(&server.anonymous(), &token).await.data(200, "User invited successfully");
        assert_eq!(data["user"]["is_verified"], by_mail);
        for list in ["users", "invites"] {
            assert_eq!(listed(&ada, &organisation, list, email).await["is_verified"], by_mail, "{list}");
        }
        // The token that was not used is dead as well.
        verify(&server.anonymous(), &shown).await.expect(422);
    }
    server.mails("cfo@example.org", 2).await; // to verify the address
    assert_eq!(server.count("mails where recipient = 'new@example.org'"), 1);
}

#[tokio::test]
async fn the_generated_password_of_a_mailed_invitation_works_and_stays() {
    let server = Server::start().await;
    let ada = server.user("ada").await;
    let organisation = ada.organisation("Engines").await;
    ada.invite(&organisation, "new@example.org", "member").await;
    let data = verify(&server.anonymous(), &mailed(&server, "new@example.org", 1).await).await.expect(200);
    let password = text(&data["data"]["user"]["password"]);
    server.anonymous().post("/auth/magic-link", json!({ "email": "new@example.org" })).await.expect(200);
    let link = server.mails("new@example.org", 2).await[1].parameter("token");
    server.anonymous().post("/auth/magic-link/verify", json!({ "token": link })).await.expect(200);
    server.log_in("new", &password).await;
}

#[tokio::test]
async fn an_account_that_accepts_by_the_mailed_link_proves_its_mailbox_and_loses_nothing() {
    let server = Server::start().await;
    let (ada, grace) = (server.user("ada").await, server.user("grace").await);
    let organisation = ada.organisation("Engines").await;
    ada.invite(&organisation, &grace.email, "member").await;
    let data = verify(&grace, &mailed(&server, &grace.email, 2).await).await.expect(200);
    assert_eq!(data["data"]["user"]["is_verified"], true);
    server.anonymous().post("/auth/magic-link", json!({ "email": grace.email })).await.expect(200);
    let link = server.mails(&grace.email, 3).await[2].parameter("token");
    server.anonymous().post("/auth/magic-link/verify", json!({ "token": link })).await.expect(200);
    grace.get("/profile").await.expect(200);
    server.log_in("grace", PASSWORD).await;
}

#[tokio::test]
async fn the_inviters_link_opens_no_session_where_sessions_need_a_verified_address() {
    let server = Server::start().await;
    let (ada, grace) = (server.user("ada").await, server.user("grace").await);
    let organisation = ada.organisation("Engines").await;
    let cfo = ada.invite(&organisation, "cfo@example.org", "member").await;
    let hers = ada.invite(&organisation, &grace.email, "member").await;
    let mails = [mailed(&server, "cfo@example.org", 1).await, mailed(&server, &grace.email, 2).await];
    let server = Server::on_folder(server.end_and_keep().await, |settings| settings.require_verified_email = true).await;
    let here = |client: &Client| Client { origin: server.origin.clone(), ..client.clone() };
    let (ada, grace) = (here(&ada), here(&grace));

    verify(&server.anonymous(), &cfo).await.refused(403, Code::MailedLinkRequired);
    verify(&grace, &hers).await.expect(403);
    assert_eq!(server.count("users where email = 'cfo@example.org'"), 0, "nothing is half done");
    assert_eq!(server.count("organisation_members"), 1);
    for email in ["cfo@example.org", &grace.email] {
        assert_eq!(listed(&ada, &organisation, "invites", email).await["status"], "invited");
    }

    verify(&server.anonymous(), &mails[0]).await.expect(200);
    verify(&grace, &mails[1]).await.expect(200);
    assert_eq!(server.count("organisation_members"), 3);
}
