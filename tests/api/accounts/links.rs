//! Magic links, password resets, verification of the address: from the request through the mail to the result.

use serde_json::{Value, json};

use crate::{
    harness::{Client, DAY, PASSWORD, Reply, Server, blob, text},
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
    reset(&server, &token, NEW).await.expect(422);
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
        verify(&server, used).await.expect(422);
    }
    ask(&server, "/auth/email-request", "ada@example.org").await.expect(422);
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
    server.sql("update users set is_active = 0 where username = 'grace'");
    server.mails("grace@example.org", 1).await;
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
    let server = Server::with(|settings| settings.mail_url = "smtp://127.0.0.1:9?tls=none".into()).await;
    server.register("ada").await;
    for path in ["/auth/magic-link", "/auth/password-reset"] {
        let known = ask(&server, path, "ada@example.org").await.expect(500);
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
    let reply = anonymous.post("/auth/google", json!({ "id_token": "a.b.c" })).await.expect(401);
    assert!(text(&reply["message"]).contains("not configured"));
    for unreadable in [json!({}), json!({ "id_token": 1 }), json!({ "id_token": null }), json!({ "id_token": " " })] {
        anonymous.post("/auth/google", unreadable).await.expect(400);
    }
}

mod sessions {
    use super::*;

    async fn list(client: &Client, user: &str) -> Value {
        client.get(&format!("/users/{user}/sessions")).await.data(200, "Sessions retrieved successfully")
    }

    #[tokio::test]
    async fn a_user_lists_and_ends_their_own_sessions() {
        let server = Server::start().await;
        let here = server.user("ada").await;
        let there = server.log_in("ada", PASSWORD).await;
        let sessions = list(&here, &here.user_id).await;
        assert_eq!(sessions.as_array().unwrap().len(), 2);
        assert_shape(&sessions[0], "id:uuid is_current:bool user_agent:text address:text created_at:time expires_at:time");
        assert_eq!([&sessions[0]["is_current"], &sessions[1]["is_current"]], [false, true]);
        let body = json!({ "session_id": sessions[0]["id"] });
        here.put("/users/revoke-session", body.clone()).await.done(200, "Session revoked successfully");
        there.get("/profile").await.expect(401);
        here.get("/profile").await.expect(200);
        here.put("/users/revoke-session", body).await.expect(404);
        assert_eq!(list(&here, &here.user_id).await.as_array().unwrap().len(), 1);
    }

    #[tokio::test]
    async fn other_users_neither_list_nor_end_sessions_and_a_superadmin_does() {
        let server = Server::start().await;
        let ada = server.user("ada").await;
        let grace = server.user("grace").await;
        let session = list(&ada, &ada.user_id).await[0]["id"].clone();
        let unknown = crate::harness::unknown_id();
        let hidden = grace.get(&format!("/users/{}/sessions", ada.user_id)).await.expect(404);
        assert_eq!(hidden, grace.get(&format!("/users/{unknown}/sessions")).await.expect(404));
        let hidden = grace.put("/users/revoke-session", json!({ "session_id": session })).await.expect(404);
        assert_eq!(hidden, grace.put("/users/revoke-session", json!({ "session_id": unknown })).await.expect(404));
        ada.get("/profile").await.expect(200);

        let root = server.superadmin("root").await;
        assert_eq!(list(&root, &ada.user_id).await[0]["id"], session);
        root.get(&format!("/users/{unknown}/sessions")).await.expect(404);
        root.put("/users/revoke-session", json!({ "session_id": session })).await.expect(200);
        ada.get("/profile").await.expect(401);
    }
}

mod profile {
    use super::*;

    #[tokio::test]
    async fn a_profile_is_read_and_changed() {
        let server = Server::start().await;
        let ada = server.user("ada").await;
        let before = ada.get("/profile").await.data(200, "Profile retrieved successfully");
        assert_shape(&before, USER);
        assert_eq!(before, ada.get("/users/me").await.expect(200)["data"]);
        let edit = json!({ "username": "countess", "first_name": " Ada ", "last_name": "King", "phone": "+44 20", "avatar_url": "https://x.example/a.png" });
        let after = ada.patch("/profile", edit).await.data(200, "Profile updated successfully");
        assert_eq!([&after["username"], &after["fullname"], &after["phone"]], ["countess", "Ada King", "+44 20"]);
        let cleared = ada.patch("/profile", json!({ "phone": "", "avatar_url": "" })).await.expect(200);
        assert_eq!([&cleared["data"]["phone"], &cleared["data"]["avatar_url"], &cleared["data"]["last_name"]], ["", "", "King"]);
        let same = ada.patch("/profile", json!({})).await.expect(200);
        assert_eq!(same["data"], cleared["data"], "an empty body changes nothing");
    }

    #[tokio::test]
    async fn a_changed_profile_is_pushed_to_the_organisations() {
        let server = Server::start().await;
        let (ada, grace, organisation) = server.ada_and_grace().await;
        let mut socket = crate::socket::Socket::listening(&ada, &[&organisation]).await;
        grace.patch("/profile", json!({ "first_name": "Grace", "last_name": "Hopper" })).await.expect(200);
        let told = socket.on(&organisation).await;
        assert_eq!(told["notification_type"], "member_update");
        let data = &told["data"];
        assert_eq!([&data["action"], &data["name"], &data["role"]], ["updated", "Grace Hopper", "member"]);
        assert_eq!([&data["user_id"], &data["status"]], [&grace.user_id, "active"]);
        grace.patch("/profile", json!({})).await.expect(200);
        grace.patch("/profile", json!({ "last_name": "Hopper", "first_name": "Grace" })).await.expect(200);
        let picture = "https://example.org/grace.png";
        grace.patch("/profile", json!({ "phone": "1", "avatar_url": picture })).await.expect(200);
        let data = socket.on(&organisation).await["data"].take();
        assert_eq!([&data["phone_number"], &data["avatar_url"]], ["1", picture], "the same name tells nothing");
    }

    #[tokio::test]
    async fn a_refused_change_leaves_the_profile_as_it_was() {
        let server = Server::start().await;
        let ada = server.user("ada").await;
        server.register("grace").await;
        let before = ada.get("/profile").await.expect(200);
        for refused in [
            json!({ "username": "GRACE" }),
            json!({ "first_name": "x".repeat(101) }),
            json!({ "last_name": "a\nb" }),
            json!({ "last_name": "a\u{202e}b" }),
            json!({ "phone": "0".repeat(31) }),
            json!({ "avatar_url": "javascript:alert(1)" }),
            json!({ "avatar_url": format!("https://x.example/{}", "a".repeat(2000)) }),
        ] {
            ada.patch("/profile", refused).await.expect(422);
        }
        for bad in
            [json!({ "phone": 5 }), json!({ "username": "" }), json!({ "username": "channel" }), json!({ "username": "a b" })]
        {
            ada.patch("/profile", bad).await.expect(400);
        }
        assert_eq!(ada.get("/profile").await.expect(200), before);
        ada.patch("/profile", json!({ "first_name": "x".repeat(100), "phone": "0".repeat(30) })).await.expect(200);
    }

    #[tokio::test]
    async fn nobody_gives_themselves_a_role() {
        let server = Server::start().await;
        let ada = server.user("ada").await;
        let edit = json!({ "role": "superadmin", "is_active": false, "is_verified": true, "email": "root@example.org", "id": server.user("grace").await.user_id });
        let after = ada.patch("/profile", edit).await.expect(200)["data"].take();
        assert_eq!([&after["role"], &after["email"]], ["user", "ada@example.org"]);
        assert_eq!([&after["is_verified"], &after["is_active"]], [false, true]);
    }

    #[tokio::test]
    async fn the_current_organisation_must_be_one_of_the_users() {
        let server = Server::start().await;
        let ada = server.user("ada").await;
        let (first, second) = (ada.organisation("One").await, ada.organisation("Two").await);
        let current = async || ada.get("/profile").await.expect(200)["data"]["current_org"].clone();
        assert_eq!(current().await, second);
        let switched = ada.put("/users/switch-org", json!({ "current_org": first })).await;
        assert_eq!(switched.data(200, "Organisation switched successfully")["current_org"], first);
        let grace = server.user("grace").await;
        let hidden = grace.put("/users/switch-org", json!({ "current_org": first })).await.expect(404);
        let unknown = json!({ "current_org": crate::harness::unknown_id() });
        assert_eq!(hidden, grace.put("/users/switch-org", unknown).await.expect(404));
        grace.put("/users/switch-org", json!({ "current_org": "x" })).await.expect(400);
        server.sql(&format!("update organisation_members set status = 'deactivated' where organisation_id = {}", blob(&second)));
        ada.put("/users/switch-org", json!({ "current_org": second })).await.expect(404);
        assert_eq!(current().await, first);
    }

    #[tokio::test]
    async fn the_onboard_status_is_remembered() {
        let server = Server::start().await;
        let ada = server.user("ada").await;
        let read = async || ada.get("/auth/onboard-status").await.data(200, "Onboard status retrieved successfully");
        assert_eq!(read().await, json!({ "is_onboarded": false, "status": false }));
        let set = ada.put("/auth/onboard-status", json!({})).await;
        assert_eq!(set.data(200, "Onboard status updated successfully"), json!({ "is_onboarded": true, "status": true }));
        assert_eq!(read().await, json!({ "is_onboarded": true, "status": true }));
        ada.put("/auth/onboard-status", json!({ "is_onboarded": false })).await.expect(200);
        assert_eq!(ada.get("/profile").await.expect(200)["data"]["is_onboarded"], false);
        ada.put("/auth/onboard-status", json!({ "is_onboarded": "yes" })).await.expect(400);
    }
}
