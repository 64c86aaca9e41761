//! People who make an account by a join link.

use serde_json::json;
use tidings::{
    config::{Registration, Settings},
    error::Code,
};

use super::{join, join_as, make, path, person, token};
use crate::harness::{Client, PASSWORD, Reply, Server, text};

#[tokio::test]
async fn where_addresses_must_be_verified_a_person_registers_with_the_link_and_joins_later() {
    let server = Server::start().await;
    let ada = server.user("ada").await;
    let token = token(&ada, &ada.organisation("Engines").await, json!({})).await;
    let strict = |settings: &mut Settings| {
        settings.require_verified_email = true;
        settings.registration = Registration::Invited;
    };
    let server = Server::on_folder(server.end_and_keep().await, strict).await;
    join_as(&server, &token, "new").await.expect(403);
    let mut body = person(&token, "new");
    body.as_object_mut().unwrap().remove("token");
    server.anonymous().post("/auth/register", body.clone()).await.expect(403);
    body["join_token"] = "unknown".into();
    server.anonymous().post("/auth/register", body.clone()).await.expect(400);
    assert_eq!(server.count("users"), 1);
    body["join_token"] = token.as_str().into();
    server.anonymous().post("/auth/register", body).await.done(201, "User created successfully");
    assert_eq!(server.count("organisation_members"), 1, "the address is not verified yet");
    let verification = server.mails("new@example.org", 1).await[0].parameter("token");
    let verified = json!({ "token": verification, "password": PASSWORD });
    server.anonymous().post("/auth/email-request/verify", verified).await.expect(200);
    join(&server.log_in("new", PASSWORD).await, &token).await.expect(200);
}

async fn register(server: &Server, token: &str, address: &str) -> Reply {
    let body = json!({ "email": address, "password": PASSWORD, "join_token": token });
    server.anonymous().post("/auth/register", body).await
}

#[tokio::test]
async fn who_registers_by_a_link_takes_a_place_and_is_in_its_organisation_first() {
    let server = Server::start().await;
    let ada = server.user("ada").await;
    let organisation = ada.organisation("Engines").await;
    let token = token(&ada, &organisation, json!({ "uses": 3 })).await;
    let invited = |settings: &mut Settings| settings.registration = Registration::Invited;
    let server = Server::on_folder(server.end_and_keep().await, invited).await;
    let ada = server.log_in("ada", PASSWORD).await;
    for name in ["one", "two", "three"] {
        register(&server, &token, &format!("{name}@example.org")).await.done(201, "User created successfully");
    }
    register(&server, &token, "four@example.org").await.refused(422, Code::LinkUsed);
    assert_eq!([server.count("organisation_members"), server.count("users")], [4, 4], "nothing of the fourth is left");
    let one = server.log_in("one", PASSWORD).await;
    assert_eq!(one.get("/profile").await.expect(200)["data"]["current_org"], organisation);
    join(&one, &token).await.expect(422);
    let listed = ada.get(&path(&organisation)).await.expect(200)["data"].take();
    assert_eq!([&listed[0]["used"], &listed[0]["status"]], [&json!(3), &json!("used")], "nobody counts twice");
}

#[tokio::test]
async fn the_domain_comes_first_and_a_place_is_kept_until_the_mailbox_is_proved() {
    let server = Server::start().await;
    let ada = server.user("ada").await;
    let organisation = ada.organisation("Engines").await;
    let made = make(&ada, &organisation, json!({ "uses": 1, "domain": "example.org" })).await;
    let token = text(&made["token"]);
    let refused = register(&server, &token, "eve@elsewhere.example").await.refused(403, Code::InvitationForAnother);
    assert_eq!(refused["message"], "This link is for addresses of another domain");
    let mut body = person(&token, "eve");
    body["email"] = "eve@elsewhere.example".into();
    server.anonymous().post("/join", body).await.refused(403, Code::InvitationForAnother);
    assert_eq!([server.count("users"), server.count("mails")], [1, 1], "Ada's: nothing is written");

    register(&server, &token, "New@Example.org").await.expect(201);
    register(&server, &token, "late@example.org").await.refused(422, Code::LinkUsed);
    let new = server.log_in("new", PASSWORD).await;
    assert_eq!(server.count("organisation_members"), 1, "the mailbox is not proved yet");
    join(&new, &token).await.refused(403, Code::EmailUnverified);
    new.post("/organisations", json!({ "name": "Own" })).await.refused(403, Code::FoundingRestricted);

    let check =
        async |client: &Client| client.post("/auth/links/check", json!({ "token": token })).await.expect(200)["data"].take();
    let preview = format!("/organisations/{organisation}/load-org-info?invitation_token={token}");
    assert_eq!(check(&new).await["status"], "open", "the place is theirs");
    new.get(&preview).await.expect(200);
    let stale = server.anonymous().with_token("stale");
    for other in [&server.anonymous(), &ada, &stale] {
        assert_eq!(check(other).await["status"], "used");
        other.get(&preview).await.expect(404);
    }
    let verification = server.mails("new@example.org", 1).await[0].parameter("token");
    let verified = json!({ "token": verification, "password": PASSWORD });
    server.anonymous().post("/auth/email-request/verify", verified).await.expect(200);
    join(&new, &token).await.expect(200);
    let listed = ada.get(&path(&organisation)).await.expect(200)["data"].take();
    assert_eq!(listed[0]["used"], 1, "the place that was kept");
    assert_eq!([server.count("organisation_members"), server.count("join_places")], [2, 0]);
    new.organisation("Own").await;
}

/// A link by mail proves the mailbox, too.
#[tokio::test]
async fn an_account_keeps_its_place_at_a_link_when_it_first_logs_in_by_its_mailbox() {
    let server = Server::start().await;
    let ada = server.user("ada").await;
    let organisation = ada.organisation("Engines").await;
    let token = token(&ada, &organisation, json!({ "domain": "example.org" })).await;
    register(&server, &token, "new@example.org").await.expect(201);
    server.anonymous().post("/auth/magic-link", json!({ "email": "new@example.org" })).await.expect(200);
    let mails = server.mails("new@example.org", 2).await;
    let link = mails.iter().find(|mail| mail.subject == "Your link to log in").unwrap().parameter("token");
    let entered = server.anonymous().post("/auth/magic-link/verify", json!({ "token": link })).await.expect(200);
    let used = async || ada.get(&path(&organisation)).await.expect(200)["data"][0]["used"].take();
    assert_eq!(used().await, 1);
    join(&server.anonymous().with_session(&entered["data"]), &token).await.expect(200);
    assert_eq!(used().await, 1);
}

/// A link that ends lets nobody in, so nothing binds whoever registered by it.
#[tokio::test]
async fn a_place_at_a_link_that_is_over_binds_nobody() {
    let server = Server::start().await;
    let ada = server.user("ada").await;
    let organisation = ada.organisation("Engines").await;
    let made = make(&ada, &organisation, json!({ "domain": "example.org" })).await;
    register(&server, &text(&made["token"]), "new@example.org").await.expect(201);
    let new = server.log_in("new", PASSWORD).await;
    new.post("/organisations", json!({ "name": "Own" })).await.refused(403, Code::FoundingRestricted);
    ada.delete(&format!("{}/{}", path(&organisation), text(&made["id"]))).await.expect(200);
    new.organisation("Own").await;
}

#[tokio::test]
async fn a_link_is_an_invitation_where_registration_is_by_invitation_and_none_where_it_is_closed() {
    for (policy, expected) in [(Registration::Invited, 200), (Registration::Closed, 403)] {
        let server = Server::start().await;
        let ada = server.user("ada").await;
        let token = token(&ada, &ada.organisation("Engines").await, json!({})).await;
        let server = Server::on_folder(server.end_and_keep().await, |settings| settings.registration = policy).await;
        join_as(&server, &token, "new").await.expect(expected);
    }
}

#[tokio::test]
async fn a_new_person_is_made_by_the_rules_of_registration_and_a_refusal_takes_no_place() {
    let server = Server::start().await;
    let ada = server.user("ada").await;
    let organisation = ada.organisation("Engines").await;
    let token = token(&ada, &organisation, json!({ "uses": 1 })).await;
    for (field, value) in [
        ("password", "short"),
        ("password", "password1"),
        ("email", "ada@example.org"),
        ("email", "none"),
        ("username", "ADA"),
        ("username", "everyone"),
        ("first_name", "two\nlines"),
    ] {
        let mut body = person(&token, "new");
        body[field] = value.into();
        server.anonymous().post("/join", body).await.expect(422);
    }
    server.anonymous().post("/join", json!({ "token": token })).await.expect(400);
    server.anonymous().post("/join", json!({ "token": token, "email": "new@example.org" })).await.expect(400);
    join_as(&server, "unknown", "new").await.expect(400);
    assert_eq!(server.count("users"), 1);
    join_as(&server, &token, "new").await.expect(200);
}
