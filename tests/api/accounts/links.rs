//! Magic links, password resets, verification of the address: from the request through the mail to the result.

use serde_json::json;

use tidings::{
    domain::accounts::{mailed_links, one_time_tokens::Purpose},
    error::Code,
};

use crate::{
    harness::{DAY, PASSWORD, Reply, Server, text},
    messages::posting::statements,
    shapes::{SESSION, USER, assert_shape},
};

const NEW: &str = "a quite different one";

async fn ask(server: &Server, path: &str, email: &str) -> Reply {
    server.anonymous().post(path, json!({ "email": email })).await
}

async fn token(server: &Server, email: &str, count: usize) -> String {
    server.mails(email, count).await[count - 1].parameter("token")
}

/// Registers ada and asks for a link; her first mail is the one that verifies her address.
async fn ada_with(path: &str) -> (Server, String) {
    let server = Server::start().await;
    server.register("ada").await;
    server.mails("ada@example.org", 1).await;
    ask(&server, path, " Ada@Example.org ").await.expect(200);
    let token = token(&server, "ada@example.org", 2).await;
    (server, token)
}

async fn enter(server: &Server, token: &str) -> Reply {
    server.anonymous().post("/auth/magic-link/verify", json!({ "token": token })).await
}

async fn reset(server: &Server, token: &str, password: &str) -> Reply {
    server.anonymous().post("/auth/password-reset/verify", json!({ "token": token, "new_password": password })).await
}

async fn verify(server: &Server, token: &str) -> Reply {
    server.anonymous().post("/auth/email-request/verify", json!({ "token": token })).await
}

async fn log_in(server: &Server, password: &str) -> Reply {
    server.anonymous().post("/auth/login", json!({ "email": "ada@example.org", "password": password })).await
}

fn expire(server: &Server) {
    server.clock.advance(DAY); // the longest lifetime, that of a verification
}

#[tokio::test]
async fn a_magic_link_logs_in_once() {
    let (server, token) = ada_with("/auth/magic-link").await;
    let mail = &server.mails("ada@example.org", 2).await[1];
    assert!(mail.text.contains(&format!("{}/auth/login/magic-link?token={token}", server.origin)), "{}", mail.text);
    let data = enter(&server, &token).await.data(200, "Login successful");
    assert_shape(&data, SESSION);
    assert_shape(&data["user"], USER);
    assert_eq!(data["user"]["is_verified"], true);
    server.anonymous().with_session(&data).get("/users/organisations").await.expect(200);
    enter(&server, &token).await.expect(422);
}

#[tokio::test]
async fn the_last_three_magic_links_work_until_one_is_used_and_expire() {
    let (server, first) = ada_with("/auth/magic-link").await;
    for _ in 0..3 {
        ask(&server, "/auth/magic-link", "ada@example.org").await.done(200, "Magic link sent successfully");
    }
    let second = token(&server, "ada@example.org", 3).await;
    let last = token(&server, "ada@example.org", 5).await;
    enter(&server, &first).await.expect(422);
    enter(&server, &second).await.expect(200);
    enter(&server, &last).await.expect(422);
    ask(&server, "/auth/magic-link", "ada@example.org").await.expect(200);
    let late = token(&server, "ada@example.org", 6).await;
    expire(&server);
    enter(&server, &late).await.expect(422);
    for unknown in ["", "x", &"A".repeat(43), &"é".repeat(5000)] {
        enter(&server, unknown).await.expect(400);
    }
}

#[tokio::test]
async fn a_mailed_token_is_good_for_its_purpose_only() {
    let (server, magic) = ada_with("/auth/magic-link").await;
    verify(&server, &magic).await.expect(400);
    reset(&server, &magic, NEW).await.expect(422);
    let verification = token(&server, "ada@example.org", 1).await;
    enter(&server, &verification).await.expect(400);
    verify(&server, &verification).await.done(200, "Email verified successfully");
    enter(&server, &magic).await.expect(200);
}

#[tokio::test]
async fn registering_a_foreign_address_gains_nothing() {
    let server = Server::start().await;
    let stranger = server.user("ada").await;
    ask(&server, "/auth/magic-link", "ada@example.org").await.expect(200);
    let link = token(&server, "ada@example.org", 2).await;
    let owner = enter(&server, &link).await.data(200, "Login successful");
    stranger.get("/users/organisations").await.expect(401);
    log_in(&server, PASSWORD).await.expect(401);
    let owner = server.anonymous().with_session(&owner);
    let change = json!({ "old_password": PASSWORD, "new_password": NEW });
    owner.put("/auth/change-password", change).await.expect(401);
}

#[tokio::test]
async fn a_magic_link_leaves_the_password_of_a_verified_account() {
    let server = Server::start().await;
    let ada = server.user("ada").await;
    let verification = token(&server, "ada@example.org", 1).await;
    ada.post("/auth/email-request/verify", json!({ "token": verification })).await.expect(200);
    ask(&server, "/auth/magic-link", "ada@example.org").await.expect(200);
    let link = token(&server, "ada@example.org", 2).await;
    enter(&server, &link).await.expect(200);
    ada.get("/users/organisations").await.expect(200);
    log_in(&server, PASSWORD).await.expect(200);
}

#[tokio::test]
async fn a_reset_sets_the_password_ends_all_sessions_and_tells_the_user_by_mail() {
    let server = Server::start().await;
    let ada = server.user("ada").await;
    ask(&server, "/auth/password-reset", "ada@example.org").await.done(200, "Password reset link sent successfully");
    let mail = server.mails("ada@example.org", 2).await.remove(1);
    let link = mail.parameter("token");
    assert!(mail.text.contains(&format!("{}/auth/reset-password?token={link}", server.origin)), "{}", mail.text);
    reset(&server, &link, NEW).await.done(200, "Password reset successfully");
    ada.get("/users/organisations").await.expect(401);
    log_in(&server, PASSWORD).await.expect(401);
    let user = log_in(&server, NEW).await.expect(200)["data"]["user"].take();
    assert_eq!(user["is_verified"], true, "the mailbox was shown to be theirs");
    assert_eq!(server.mails("ada@example.org", 3).await[2].subject, "Your password was changed");
    reset(&server, &link, "yet another password").await.expect(422);
}

#[tokio::test]
async fn a_refused_password_does_not_use_up_the_reset() {
    let (server, token) = ada_with("/auth/password-reset").await;
    for refused in ["short", "password1", "ada@example.org", PASSWORD, &"x".repeat(129)] {
        reset(&server, &token, refused).await.expect(422);
    }
    reset(&server, &token, NEW).await.expect(200);
}

#[tokio::test]
async fn every_bad_reset_token_is_422_and_an_unreadable_body_400() {
    let (server, token) = ada_with("/auth/password-reset").await;
    for bad in ["", "x", &"A".repeat(43)] {
        reset(&server, bad, NEW).await.expect(422);
    }
    for unreadable in [json!({ "token": token }), json!({ "new_password": NEW }), json!({ "token": 1, "new_password": NEW })] {
        server.anonymous().post("/auth/password-reset/verify", unreadable).await.expect(400);
    }
    expire(&server);
    reset(&server, &token, NEW).await.refused(422, Code::LinkExpired);
}

#[tokio::test]
async fn a_new_password_voids_the_links_that_log_in() {
    let server = Server::start().await;
    let ada = server.user("ada").await;
    for (path, count) in [("/auth/magic-link", 2), ("/auth/password-reset", 3)] {
        ask(&server, path, "ada@example.org").await.expect(200);
        server.mails("ada@example.org", count).await;
    }
    ada.put("/auth/change-password", json!({ "old_password": PASSWORD, "new_password": NEW })).await.expect(200);
    let mails = server.mails("ada@example.org", 4).await;
    enter(&server, &mails[1].parameter("token")).await.expect(422);
    reset(&server, &mails[2].parameter("token"), "yet another password").await.expect(422);
    verify(&server, &mails[0].parameter("token")).await.expect(200);
}

#[tokio::test]
async fn verification_works_once_and_is_refused_when_done() {
    let server = Server::start().await;
    let ada = server.user("ada").await;
    let first = token(&server, "ada@example.org", 1).await;
    ask(&server, "/auth/email-request", "ada@example.org").await.done(200, "Verification email sent successfully");
    let second = token(&server, "ada@example.org", 2).await;
    assert_eq!(ada.get("/profile").await.expect(200)["data"]["is_verified"], false);
    verify(&server, &second).await.done(200, "Email verified successfully");
    assert_eq!(ada.get("/profile").await.expect(200)["data"]["is_verified"], true);
    for used in [&second, &first] {
        verify(&server, used).await.refused(422, Code::LinkUsed);
    }
    ask(&server, "/auth/email-request", "ada@example.org").await.refused(422, Code::EmailAlreadyVerified);
    verify(&server, "unknown").await.expect(400);
}

#[tokio::test]
async fn verification_expires() {
    let server = Server::start().await;
    server.register("ada").await;
    let link = token(&server, "ada@example.org", 1).await;
    expire(&server);
    verify(&server, &link).await.expect(422);
}

#[tokio::test]
async fn an_unknown_address_is_answered_alike_and_mailed_nothing() {
    let server = Server::start().await;
    server.register("ada").await;
    server.register("grace").await;
    server.mails("grace@example.org", 1).await;
    server.sql("update users set is_active = 0 where username = 'grace'");
    let mut count = 1;
    for path in ["/auth/magic-link", "/auth/password-reset", "/auth/email-request"] {
        let unknown = ask(&server, path, "nobody@example.org").await.expect(200);
        let disabled = ask(&server, path, "grace@example.org").await.expect(200);
        let known = ask(&server, path, "ada@example.org").await.expect(200);
        assert_eq!([&unknown, &disabled], [&known, &known]);
        count += 1;
        // The marker: what was asked for before has left by now, if it was to leave.
        server.mails("ada@example.org", count).await;
        assert_eq!(server.mails("nobody@example.org", 0).await.len(), 0);
        assert_eq!(server.mails("grace@example.org", 1).await.len(), 1);
        ask(&server, path, "no address").await.expect(400);
        ask(&server, path, "").await.expect(400);
        server.anonymous().post(path, json!({})).await.expect(400);
    }
}

#[tokio::test]
async fn no_link_logs_in_to_a_disabled_account() {
    let (server, token) = ada_with("/auth/magic-link").await;
    server.sql("update users set is_active = 0");
    enter(&server, &token).await.expect(403);
}

#[tokio::test]
async fn an_unreachable_mail_server_is_answered_for_all_addresses_alike() {
    // Nobody listens on the discard port.
    let server = Server::with(|settings| settings.mail.mail_url = "smtp://127.0.0.1:9?tls=none".into()).await;
    server.register("ada").await;
    for path in ["/auth/magic-link", "/auth/password-reset"] {
        let known = ask(&server, path, "ada@example.org").await.refused(500, Code::InternalError);
        let unknown = ask(&server, path, "nobody@example.org").await.expect(500);
        assert_eq!(known, unknown);
    }
    ask(&server, "/auth/email-request", "ada@example.org").await.expect(200);
    ask(&server, "/auth/magic-link", "no address").await.expect(400);
}

#[tokio::test]
async fn only_hashes_of_mailed_tokens_are_stored() {
    let (server, token) = ada_with("/auth/magic-link").await;
    assert!(!server.stores(&token));
}

#[tokio::test]
async fn federated_log_in_that_is_not_configured_says_so() {
    let server = Server::start().await;
    let anonymous = server.anonymous();
    let reply = anonymous.post("/auth/google", json!({ "id_token": "a.b.c" })).await.refused(401, Code::ProviderMissing);
    assert!(text(&reply["message"]).contains("not configured"));
    for unreadable in [json!({}), json!({ "id_token": 1 }), json!({ "id_token": null }), json!({ "id_token": " " })] {
        anonymous.post("/auth/google", unreadable).await.expect(400);
    }
}

/// The time of an answer must not tell whether there is an account, so both do the same work, within the limits and past them.
#[tokio::test]
async fn a_link_takes_the_same_statements_for_an_address_without_an_account() {
    let server = Server::start().await;
    server.register("ada").await;
    server
        .write(|tx| {
            // As much as the registration has mailed.
            mailed_links::request_link(tx, "nobody@example.org", Purpose::EmailVerification)?;
            for purpose in [Purpose::MagicLink, Purpose::PasswordReset, Purpose::EmailVerification] {
                // The last ones are past the limit of a recipient.
                for round in 1..=7 {
                    let [known, unknown] = ["ada@example.org", "nobody@example.org"]
                        .map(|email| statements(tx, |tx| mailed_links::request_link(tx, email, purpose)).unwrap());
                    assert!(!known.is_empty());
                    assert_eq!(known, unknown, "{purpose:?}, request {round}");
                }
            }
            let [known, unknown] = ["ada@example.org", "nobody@example.org"]
                .map(|email| statements(tx, |tx| mailed_links::mail_about_guesses(tx, email, 5)).unwrap());
            assert_eq!(known, unknown);
            Ok(())
        })
        .unwrap();
}

#[tokio::test]
async fn a_link_for_an_address_without_an_account_is_dropped_and_its_text_erased() {
    let server = Server::start().await;
    server.register("ada").await;
    for address in ["nobody@example.org", "ada@example.org"] {
        ask(&server, "/auth/magic-link", address).await.expect(200);
    }
    server.mails("ada@example.org", 2).await; // The queue is served in order, so the other has been looked at.
    assert!(server.mails("nobody@example.org", 0).await.is_empty());
    assert_eq!(server.number("select count(*) from mails where recipient = 'nobody@example.org' and sealed is null"), 1);
}
