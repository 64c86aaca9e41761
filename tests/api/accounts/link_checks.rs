//! What a link is for, before it is used.

use serde_json::{Value, json};
use tidings::{config::Switch, domain::organisations::link_purpose};

use crate::{
    harness::{Client, DAY, Server, text},
    messages::posting::statements,
    organisations::acceptance::verify,
};

async fn check(client: &Client, token: &str) -> Value {
    client.post("/auth/links/check", json!({ "token": token })).await.data(200, "Link checked successfully")
}

fn link(purpose: &str, status: &str) -> Value {
    json!({ "purpose": purpose, "status": status })
}

#[tokio::test]
async fn a_mailed_link_tells_what_it_is_for_and_is_not_used_up() {
    let server = Server::start().await;
    server.register("ada").await;
    let anonymous = server.anonymous();
    let mut tokens = vec![("email_verification", server.mails("ada@example.org", 1).await[0].parameter("token"))];
    for (mails, (path, purpose)) in [("magic-link", "magic_link"), ("password-reset", "password_reset")].into_iter().enumerate() {
        anonymous.post(&format!("/auth/{path}"), json!({ "email": "ada@example.org" })).await.expect(200);
        tokens.push((purpose, server.mails("ada@example.org", mails + 2).await[mails + 1].parameter("token")));
    }
    for (purpose, token) in &tokens {
        for _ in 0..2 {
            assert_eq!(check(&anonymous, token).await, link(purpose, "open"));
        }
    }
    let magic = json!({ "token": tokens[1].1 });
    anonymous.post("/auth/magic-link/verify", magic).await.expect(200);
    assert_eq!(check(&anonymous, &tokens[1].1).await, link("magic_link", "used"));
    server.clock.advance(DAY);
    assert_eq!(check(&anonymous, &tokens[2].1).await, link("password_reset", "expired"));
    assert_eq!(check(&anonymous, &tokens[1].1).await, link("magic_link", "used"), "it was used before it expired");
}

#[tokio::test]
async fn both_tokens_of_an_invitation_tell_what_has_become_of_it() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let anonymous = server.anonymous();
    let shown = grace.invite(&organisation, "new@example.org", "member").await;
    let mailed = server.mails("new@example.org", 1).await[0].parameter("invitation_token");
    let both = async |status: &str| {
        for token in [&shown, &mailed] {
            assert_eq!(check(&anonymous, token).await, link("invitation", status));
        }
    };
    both("open").await;
    let member = format!("/organisations/{organisation}/users/{}", grace.user_id);
    ada.put(&member, json!({ "role_id": "guest" })).await.expect(200);
    both("void").await;
    ada.put(&member, json!({ "role_id": "member" })).await.expect(200);
    let late = grace.invite(&organisation, "late@example.org", "member").await;
    verify(&anonymous, &shown).await.expect(200);
    both("used").await;
    server.clock.advance(DAY * 7);
    assert_eq!(check(&anonymous, &late).await, link("invitation", "expired"));
}

#[tokio::test]
async fn an_unknown_token_and_that_of_a_cancelled_invitation_are_answered_alike() {
    let server = Server::start().await;
    let ada = server.user("ada").await;
    let organisation = ada.organisation("Engines").await;
    let token = ada.invite(&organisation, "new@example.org", "member").await;
    let invitations = ada.get(&format!("/organisations/{organisation}/invites")).await.expect(200);
    let id = text(&invitations["data"]["invitations"][0]["id"]);
    ada.delete(&format!("/invite/{id}")).await.expect(200);
    let check = async |token: &str| server.anonymous().post("/auth/links/check", json!({ "token": token })).await;
    assert_eq!(check(&token).await.expect(404), check("unknown").await.expect(404));
    for unreadable in ["", &"x".repeat(129)] {
        check(unreadable).await.expect(400);
    }
    check(&"x".repeat(128)).await.expect(404);
}

/// Which kind a token is of, and whether there is one, must not be told by the time that the answer takes.
#[tokio::test]
async fn a_check_looks_through_all_kinds_of_links_whatever_it_finds() {
    let server = Server::start().await;
    let ada = server.user("ada").await;
    let magic = {
        server.anonymous().post("/auth/magic-link", json!({ "email": ada.email })).await.expect(200);
        server.mails(&ada.email, 2).await[1].parameter("token")
    };
    server
        .write(|tx| {
            let run =
                |tx: &mut _, token: &str| statements(tx, |tx| link_purpose::find_by_token(tx, token, None).map(drop)).unwrap();
            assert_eq!(run(tx, &magic), run(tx, "unknown"));
            Ok(())
        })
        .unwrap();
}

#[tokio::test]
async fn guesses_at_links_count_towards_the_rate_of_their_address() {
    let server = Server::with(|settings| settings.rate_limit = Switch::On).await;
    let anonymous = server.anonymous();
    let guess = || anonymous.post("/auth/links/check", json!({ "token": "guess" }));
    let replies = futures_util::future::join_all((0..100).map(|_| guess())).await;
    assert!(replies.iter().any(|reply| reply.status == 429), "more than the address's burst is refused");
}
