//! Inviting by mail, and accepting.

use serde_json::{Value, json};

use crate::{
    harness::{Client, Reply, Server, text, unknown_id},
    shapes::{INVITATION, SESSION, USER, assert_shape},
};

async fn invite(client: &Client, organisation: &str, emails: &[&str]) -> Reply {
    client.post("/invite", json!({ "org_id": organisation, "emails": emails, "role": "member" })).await
}

async fn verify(client: &Client, token: &str) -> Reply {
    client.post("/invite/verify", json!({ "token": token })).await
}

async fn is_member(client: &Client, organisation: &str) -> bool {
    client.get(&format!("/organisations/{organisation}")).await.status == 200
}

#[tokio::test]
async fn an_invitation_is_answered_and_mailed() {
    let server = Server::start().await;
    let ada = server.user("ada").await;
    server.register("grace").await;
    let organisation = ada.organisation("Engines").await;
    let data = invite(&ada, &organisation, &["grace@example.org", " New@Example.ORG"])
        .await
        .data(201, "Invitations created successfully");
    assert_eq!(data["errors"], json!([]));
    let made = data["invitations"].as_array().unwrap();
    assert_eq!(made.len(), 2);
    for (invitation, (email, has_account)) in made.iter().zip([("grace@example.org", true), ("new@example.org", false)]) {
        assert_shape(invitation, INVITATION);
        assert_eq!([&invitation["email"], &invitation["status"], &invitation["org_id"]], [email, "invited", &organisation]);
        assert_eq!(invitation["is_platform_user"], has_account);
        let token = text(&invitation["invite_token"]);
        let link = format!("{}/accept_org_invitation?org_id={organisation}&invitation_token={token}", server.origin);
        assert_eq!(invitation["invitation_link"], link);
        let (sent, expires) = (text(&invitation["sent_at"]), text(&invitation["expires_at"]));
        let lifetime = expires.parse::<jiff::Timestamp>().unwrap().duration_since(sent.parse().unwrap());
        assert_eq!(lifetime.as_secs(), 7 * 24 * 3600);
    }
    let mails = server.mails("new@example.org", 1).await;
    assert_eq!(mails[0].parameter("invitation_token"), text(&made[1]["invite_token"]));
    assert_eq!(mails[0].parameter("org_id"), organisation);
}

#[tokio::test]
async fn what_cannot_be_invited_is_said_address_by_address() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    invite(&ada, &organisation, &["bob@example.org"]).await.expect(201);
    let emails = ["bob@example.org", &grace.email, "no address", "new@example.org", "NEW@example.org"];
    let data = invite(&ada, &organisation, &emails).await.data(201, "Invitations created successfully");
    let made: Vec<_> = data["invitations"].as_array().unwrap().iter().map(|invitation| text(&invitation["email"])).collect();
    assert_eq!(made, ["new@example.org"]);
    let errors = data["errors"].as_array().unwrap();
    assert_eq!(errors.len(), 4, "{errors:?}");
    for expected in [
        "An invitation has already been sent to bob@example.org",
        "grace@example.org is already a member of the organisation",
        "no address is not a valid e-mail address",
    ] {
        assert!(errors.contains(&json!(expected)), "{expected}: {errors:?}");
    }
    let none = invite(&ada, &organisation, &["no address"]).await.data(201, "Invitations created successfully");
    assert_eq!((&none["invitations"], none["errors"].as_array().unwrap().len()), (&json!([]), 1));
}

#[tokio::test]
async fn a_call_names_1_to_50_addresses() {
    let server = Server::start().await;
    let ada = server.user("ada").await;
    let organisation = ada.organisation("Engines").await;
    let many: Vec<_> = (0..51).map(|n| format!("user{n}@example.org")).collect();
    let many: Vec<_> = many.iter().map(String::as_str).collect();
    invite(&ada, &organisation, &[]).await.expect(400);
    invite(&ada, &organisation, &many).await.expect(422);
    assert_eq!(invite(&ada, &organisation, &many[..50]).await.expect(201)["data"]["invitations"].as_array().unwrap().len(), 50);
}

#[tokio::test]
async fn a_faulty_invitation_is_refused() {
    let server = Server::start().await;
    let ada = server.user("ada").await;
    let organisation = ada.organisation("Engines").await;
    let emails = json!(["new@example.org"]);
    for body in [
        json!({ "emails": emails }),
        json!({ "org_id": organisation }),
        json!({ "org_id": "no-uuid", "emails": emails }),
        json!({ "org_id": organisation, "emails": "new@example.org" }),
        json!({ "org_id": organisation, "emails": [7] }),
        json!({ "org_id": organisation, "emails": emails, "role": "king" }),
        json!({ "org_id": organisation, "emails": emails, "role": {} }),
    ] {
        ada.post("/invite", body).await.expect(400);
    }
    ada.call_text("POST", "/invite", "{").await.expect(400);
    let made = ada.post("/invite", json!({ "org_id": organisation, "emails": emails })).await.expect(201);
    assert_eq!(made["data"]["invitations"].as_array().unwrap().len(), 1, "the role is optional, and nothing was left behind");
}

#[tokio::test]
async fn an_outsider_invites_nobody() {
    let server = Server::start().await;
    let (ada, _, organisation) = server.ada_and_grace().await;
    let outsider = server.user("outsider").await;
    outsider.organisation("Elsewhere").await;
    let foreign = invite(&outsider, &organisation, &["new@example.org"]).await.expect(404);
    assert_eq!(foreign, invite(&ada, &unknown_id(), &["new@example.org"]).await.expect(404));
    invite(&server.anonymous(), &organisation, &["new@example.org"]).await.expect(401);
}

#[tokio::test]
async fn nobody_invites_to_more_than_they_are() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let guest = server.member(&ada, &organisation, "guest", "guest").await;
    let to = |role: Value| json!({ "org_id": organisation, "emails": ["new@example.org"], "role": role });
    for role in ["guest", "member", "admin"] {
        guest.post("/invite", to(json!(role))).await.expect(403);
    }
    for role in [json!("admin"), json!("manager"), json!(3)] {
        grace.post("/invite", to(role)).await.expect(403);
    }
    assert_eq!(grace.post("/invite", to(json!("guest"))).await.expect(201)["data"]["errors"], json!([]));
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
