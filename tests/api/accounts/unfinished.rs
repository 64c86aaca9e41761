//! Accounts that somebody registered and did not go on with.

use std::time::{Duration, Instant};

use serde_json::json;
use tidings::error::Code;

use crate::harness::{Client, DAY, PASSWORD, Server, blob, text};

const MINUTE: Duration = Duration::from_secs(60);

/// Registers, and waits for the mail: an account lasts as long as the link in it, which counts from its sending.
async fn register(server: &Server, name: &str) {
    let email = format!("{name}@example.org");
    let body = json!({ "email": email, "password": PASSWORD, "username": name });
    server.anonymous().post("/auth/register", body).await.expect(201);
    server.mails(&email, 1).await;
}

/// Registers by the API, as a stranger does, and logs in.
async fn person(server: &Server, name: &str) -> Client {
    register(server, name).await;
    let client = server.log_in(name, PASSWORD).await;
    let user_id = text(&client.get("/profile").await.expect(200)["data"]["id"]);
    Client { user_id, email: format!("{name}@example.org"), ..client }
}

fn accounts(server: &Server, name: &str) -> i64 {
    server.count(&format!("users where username = '{name}' or email = '{name}@example.org'"))
}

/// Waits until the account has ended.
async fn ended(server: &Server, name: &str) {
    let until = Instant::now() + Duration::from_secs(30);
    while accounts(server, name) > 0 {
        assert!(Instant::now() < until, "{name} has not ended");
        server.anonymous().get("/blogs").await.expect(200);
    }
}

#[tokio::test]
async fn an_account_that_nobody_goes_on_with_ends_after_a_day_and_frees_its_name_and_address() {
    let server = Server::start().await;
    let (idle, busy) = (person(&server, "idle").await, person(&server, "busy").await);
    server.clock.advance(MINUTE);
    register(&server, "late").await;
    server.clock.advance(DAY - 2 * MINUTE);
    busy.get("/profile").await.expect(200);
    server.clock.advance(MINUTE);
    ended(&server, "idle").await;
    assert_eq!(accounts(&server, "late"), 1, "a minute is left");
    idle.get("/profile").await.expect(401);
    register(&server, "idle").await;

    server.clock.advance(MINUTE);
    ended(&server, "late").await;
    busy.get("/profile").await.expect(200);
    server.clock.advance(DAY + MINUTE);
    ended(&server, "busy").await;
    busy.get("/profile").await.expect(401);
}

#[tokio::test]
async fn the_accounts_that_are_somebodys_stay() {
    let server = Server::start().await;
    let ada = server.user("ada").await;
    let organisation = ada.organisation("Engines").await;
    let invite = async |name: &str| ada.invite(&organisation, &format!("{name}@example.org"), "member").await;
    let kept = ["proved", "administrator", "disabled", "member", "former"];
    for name in kept {
        register(&server, name).await;
    }
    server.sql("update users set mailbox_proved = 1 where username = 'proved'");
    server.sql("update users set role = 'admin' where username = 'administrator'");
    server.sql("update users set is_active = 0 where username = 'disabled'");
    for name in ["member", "former"] {
        let token = invite(name).await;
        let client = server.log_in(name, PASSWORD).await;
        client.post("/invite/verify", json!({ "token": token })).await.expect(200);
        if name == "former" {
            let user = text(&client.get("/profile").await.expect(200)["data"]["id"]);
            client.delete(&format!("/organisations/{organisation}/users/{user}")).await.expect(200);
        }
    }
    let pending = invite("last").await;
    person(&server, "last").await;
    server.clock.advance(DAY + MINUTE);
    // They are looked at in the order of their registration.
    ended(&server, "last").await;
    for name in kept {
        assert_eq!(accounts(&server, name), 1, "{name}");
    }
    assert_eq!(server.count("unfinished_accounts"), 1, "the disabled one may be enabled again");
    let body = json!({ "token": pending, "password": PASSWORD });
    server.anonymous().post("/invite/verify", body).await.expect(200);
    server.log_in("last", PASSWORD).await.get(&format!("/organisations/{organisation}")).await.expect(200);
}

#[tokio::test]
async fn an_account_that_ends_gives_its_place_at_a_join_link_back() {
    let server = Server::start().await;
    let ada = server.user("ada").await;
    let links = format!("/organisations/{}/join-links", ada.organisation("Engines").await);
    let made = ada.post(&links, json!({ "uses": 1, "domain": "example.org" })).await.expect(201)["data"].take();
    let register = async |name: &str| {
        let body = json!({ "email": format!("{name}@example.org"), "password": PASSWORD, "join_token": made["token"] });
        server.anonymous().post("/auth/register", body).await
    };
    register("idle").await.expect(201);
    server.mails("idle@example.org", 1).await;
    register("next").await.refused(422, Code::LinkUsed);
    server.clock.advance(DAY + MINUTE);
    ended(&server, "idle").await;
    assert_eq!(ada.get(&links).await.expect(200)["data"][0]["used"], 0);
    register("next").await.expect(201);
}

#[tokio::test]
async fn an_account_lasts_as_long_as_the_link_that_verifies_its_address() {
    let server = Server::with(|settings| settings.verification_hours = 48).await;
    let slow = person(&server, "slow").await;
    let hours = format!(
        "select (n.due_at - u.created_at) / 3600000000 from unfinished_accounts n join users u on u.id = n.user_id where u.id = {}",
        blob(&slow.user_id)
    );
    assert_eq!(server.number(&hours), 48);
    server.clock.advance(2 * DAY + MINUTE);
    ended(&server, "slow").await;
}
