//! What the holder of an invitation's token is shown before accepting.

use serde_json::{Value, json};
use tidings::config::Switch;

use crate::{
    harness::{Client, DAY, Reply, Server, text, unknown_id},
    organisations::acceptance::verify,
    shapes::{INVITATION_PREVIEW, assert_shape},
};

async fn preview(client: &Client, organisation: &str, token: &str) -> Reply {
    client.get(&format!("/organisations/{organisation}/load-org-info?invitation_token={token}")).await
}

fn shown(email: &str, is_new_user: bool, expires_at: &Value) -> Value {
    json!({
        "organisation_name": "Engines", "users_photos": [], "is_new_user": is_new_user, "user_email": email,
        "inviter_name": "Ada Lovelace", "role": "project-lead", "role_name": "Project Lead", "domain": "",
        "expires_at": expires_at
    })
}

#[tokio::test]
async fn both_tokens_of_a_pending_invitation_show_the_organisation_without_a_session() {
    let server = Server::start().await;
    let (ada, grace) = (server.user("ada").await, server.user("grace").await);
    ada.patch("/profile", json!({ "first_name": "Ada", "last_name": "Lovelace" })).await.expect(200);
    let organisation = ada.organisation("Engines").await;
    for (email, is_new_user) in [(grace.email.as_str(), false), ("new@example.org", true)] {
        let token = ada.invite(&organisation, email, "project-lead").await;
        let listed = ada.get(&format!("/organisations/{organisation}/invites")).await.expect(200);
        let ends = &listed["data"]["invitations"][0]["expires_at"];
        let mailed = server.mails(email, if is_new_user { 1 } else { 2 }).await;
        let mailed = mailed.last().unwrap().parameter("invitation_token");
        assert_ne!(token, mailed);
        for token in [&token, &mailed] {
            for client in [&server.anonymous(), &grace, &grace.clone().with_token("no token")] {
                let data = preview(client, &organisation, token).await.data(200, "Organisation info retrieved successfully");
                assert_shape(&data, INVITATION_PREVIEW);
                assert_eq!(data, shown(email, is_new_user, ends));
            }
        }
    }
    assert_eq!(server.number("select count(*) from invitations where accepted_at is null"), 2, "nothing is used up");
}

#[tokio::test]
async fn every_other_token_is_answered_like_an_unknown_one() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let anonymous = server.anonymous();
    let unknown = preview(&anonymous, &organisation, "unknown").await.expect(404);
    let hidden = async |organisation: &str, token: &str| {
        assert_eq!(preview(&anonymous, organisation, token).await.expect(404), unknown);
    };
    let token = ada.invite(&organisation, "new@example.org", "member").await;
    hidden(&organisation, "").await;
    hidden(&unknown_id(), &token).await;
    let other = ada.organisation("Looms").await;
    hidden(&other, &token).await;
    let path = format!("/organisations/{organisation}/load-org-info");
    assert_eq!(anonymous.get(&path).await.expect(404), unknown, "without a token");
    assert_eq!(ada.get(&path).await.expect(404), unknown, "members have no other way");
    preview(&anonymous, "no-uuid", &token).await.expect(400);
    preview(&anonymous, &organisation, &token).await.expect(200);

    let invitation = ada.get(&format!("/organisations/{organisation}/invites")).await.expect(200);
    ada.delete(&format!("/invite/{}", text(&invitation["data"]["invitations"][0]["id"]))).await.expect(200);
    hidden(&organisation, &token).await;
    let used = ada.invite(&organisation, "used@example.org", "member").await;
    verify(&anonymous, &used).await.expect(200);
    hidden(&organisation, &used).await;
    let void = grace.invite(&organisation, "void@example.org", "member").await;
    ada.delete(&format!("/organisations/{organisation}/users/{}", grace.user_id)).await.expect(200);
    hidden(&organisation, &void).await;
    let expired = ada.invite(&organisation, "late@example.org", "member").await;
    let elsewhere = ada.invite(&other, "late@example.org", "member").await;
    ada.delete(&format!("/organisations/{other}")).await.expect(204);
    hidden(&other, &elsewhere).await;
    server.clock.advance(DAY * 7);
    hidden(&organisation, &expired).await;
}

#[tokio::test]
async fn guesses_of_tokens_count_towards_the_rate_of_their_address() {
    let server = Server::with(|settings| settings.rate_limit = Switch::On).await;
    let anonymous = server.anonymous();
    let organisation = unknown_id();
    let replies = futures_util::future::join_all((0..100).map(|_| preview(&anonymous, &organisation, "guess"))).await;
    let refused = replies.into_iter().find(|reply| reply.status == 429).expect("more than the address's burst is refused");
    assert!(refused.headers.contains_key("retry-after"));
    refused.expect(429);
}
