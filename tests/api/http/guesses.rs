//! Secrets that anybody may guess at: a guess is looked up, and takes no turn of the writer.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tidings::{config::Switch, error::Code};
use tokio::time::timeout;

use crate::{harness::Server, receiver::Receiver};

/// Each operation that takes a secret in place of a session, with one that is none, and the refusal.
fn guesses() -> [(&'static str, &'static str, Value, u16); 10] {
    let fed = json!({ "event_name": "x", "message": "x", "status": "success", "username": "x" });
    [
        ("POST", "/commands/answers/guess", json!({ "text": "x" }), 404),
        ("POST", "/webhooks/feed/guess", fed, 404),
        ("POST", "/webhooks/feed/guess", json!({ "message": 7 }), 400),
        ("GET", "/webhooks/feed/guess?event_name=x&message=x&status=success&username=x", Value::Null, 404),
        ("POST", "/auth/magic-link/verify", json!({ "token": "guess" }), 400),
        ("POST", "/auth/magic-link/code/verify", json!({ "request": "guess", "code": "123456" }), 400),
        ("POST", "/auth/password-reset/verify", json!({ "token": "guess", "new_password": "correct horse battery" }), 422),
        ("POST", "/auth/email-request/verify", json!({ "token": "guess" }), 400),
        ("POST", "/invite/verify", json!({ "token": "guess" }), 400),
        ("POST", "/join", json!({ "token": "guess", "email": "x@example.org", "password": "correct horse battery" }), 400),
    ]
}

#[tokio::test]
async fn a_guess_at_a_secret_takes_no_turn_of_the_writer() {
    let server = Server::start().await;
    server.anonymous().get("/blogs").await.expect(200); // the writes of the start are over
    let other = rusqlite::Connection::open(server.folder().join("tidings.db")).unwrap();
    other.busy_timeout(Duration::from_secs(5)).unwrap();
    other.execute_batch("begin immediate").unwrap(); // whatever the writer does waits for it
    for (method, path, body, status) in guesses() {
        let body = Some(body).filter(|body| !body.is_null());
        let anybody = server.anonymous();
        let guessed = timeout(Duration::from_secs(3), anybody.call(method, path, body)).await;
        guessed.unwrap_or_else(|_| panic!("{method} {path} waits for the writer")).expect(status);
    }
}

#[tokio::test]
async fn requests_without_a_session_are_refused_past_a_rate_and_not_at_once() {
    let server = Server::with(|settings| settings.rate_limit = Switch::On).await;
    let url = |path: &str| format!("{}/api/v1{path}", server.origin);
    let http = reqwest::Client::new();
    let requests = [
        ("no token", http.get(url("/profile"))),
        ("a wrong token", http.get(url("/profile")).bearer_auth("guess")),
        ("a wrong program's token", http.get(url("/profile")).bearer_auth("tdg_guess")),
        ("a wrong notification token", http.get(url("/realtime/connection")).header("X-Notification-Token", "guess")),
    ];
    for (which, request) in requests {
        let mut taken = 0;
        let wait = loop {
            let began = Instant::now();
            let reply = request.try_clone().unwrap().send().await.unwrap();
            if reply.status() == 429 {
                break began.elapsed();
            }
            assert_eq!(reply.status(), 401, "{which}");
            taken += 1;
            assert!(taken < 1000, "{which} is not counted");
        };
        assert!(wait >= Duration::from_millis(50), "{which}: {wait:?}");
    }
}

#[tokio::test]
async fn guesses_at_answers_have_a_rate_by_address_and_answers_have_none() {
    let server = Server::with(|settings| {
        settings.rate_limit = Switch::On;
        settings.allow_private_webhooks = vec!["127.0.0.0/8".parse().unwrap()];
    });
    let server = server.await;
    let (ada, mut program) = (server.user("ada").await, Receiver::start(&[200]).await);
    let organisation = ada.organisation("Engines").await;
    let channel = ada.general(&organisation).await;
    let command = json!({ "name": "deploy", "url": program.url });
    ada.post(&format!("/organisations/{organisation}/commands"), command).await.expect(201);
    let mut addresses = Vec::new();
    for _ in 0..6 {
        ada.post(&format!("/channels/{channel}/commands"), json!({ "command": "deploy" })).await.expect(200);
        let url = program.next().await.json()["data"]["response_url"].as_str().unwrap().to_owned();
        addresses.push(url[url.find("/commands/answers/").unwrap()..].to_owned());
    }
    let anybody = server.anonymous();
    for address in addresses.iter().flat_map(|address| [address; 5]) {
        anybody.post(address, json!({ "text": "done" })).await.expect(200); // more than 20 in a second
    }
    let mut unknown = 0;
    let refused = loop {
        let reply = anybody.post(&format!("/commands/answers/guess{unknown}"), json!({ "text": "x" })).await;
        if reply.status == 429 {
            break reply;
        }
        reply.refused(404, Code::CallNotFound);
        unknown += 1;
        assert!(unknown < 1000, "guesses are not counted");
    };
    assert!(unknown >= 20, "{unknown}");
    assert_eq!(refused.headers["retry-after"], "1");
}
