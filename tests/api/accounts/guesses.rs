//! Guesses of passwords from many networks: they slow each other down, and nobody else (SECURITY.md, *Bounds*).

use std::pin::pin;

use futures_util::{
    StreamExt,
    future::{Either, join_all, select},
    stream::FuturesUnordered,
};
use serde_json::json;
use tidings::config::Switch;

use crate::harness::{PASSWORD, Reply, Server, email};

const WRONG: &str = "wrong horse battery";
const HOME: &str = "203.0.113.1";

async fn start() -> Server {
    let server = Server::with(|settings| {
        settings.rate_limit = Switch::On;
        settings.trusted_proxy = vec!["127.0.0.0/8".parse().unwrap()];
    })
    .await;
    server.register("ada").await;
    server
}

async fn log_in(server: &Server, from: &str, name: &str, password: &str) -> Reply {
    let body = json!({ "email": email(name), "password": password });
    let request = server.anonymous().request("POST", "/api/v1/auth/login").json(&body);
    Reply::of(request.header("x-forwarded-for", from), &format!("POST /auth/login from {from}"), "").await
}

/// A hundred failures, ten from each network.
async fn fail_a_hundred_times(server: &Server, name: &str) {
    for network in 0..10 {
        let from = format!("198.51.100.{network}");
        let tries = (0..10).map(|_| log_in(server, &from, name, WRONG));
        join_all(tries).await.into_iter().for_each(|reply| _ = reply.expect(401));
    }
}

/// Sends 40 tries from as many networks, then one more from another network; counts those answered before the last one.
async fn overtaken(server: &Server, from: &str, name: &str, password: &str, status: u16) -> usize {
    let networks: Vec<String> = (0..40).map(|n| format!("192.0.2.{n}")).collect();
    let mut tries: FuturesUnordered<_> = networks.iter().map(|from| log_in(server, from, name, WRONG)).collect();
    tries.next().await.unwrap().expect(401); // the others wait in the server
    let (mut asked, mut answered) = (pin!(log_in(server, from, name, password)), 1);
    loop {
        match select(asked.as_mut(), tries.next()).await {
            Either::Left((reply, _)) => {
                reply.expect(status);
                break;
            }
            Either::Right((Some(reply), _)) => _ = reply.expect(401),
            Either::Right((None, _)) => {
                asked.await.expect(status);
                return answered;
            }
        }
        answered += 1;
    }
    while let Some(reply) = tries.next().await {
        reply.expect(401);
    }
    answered
}

#[tokio::test]
async fn guesses_from_many_networks_do_not_slow_a_network_that_logged_in_before() {
    let server = start().await;
    log_in(&server, HOME, "ada", PASSWORD).await.expect(200);
    fail_a_hundred_times(&server, "ada").await;
    let answered = overtaken(&server, HOME, "ada", PASSWORD, 200).await;
    assert!(answered < 20, "{answered} of 40 guesses came first");
}

#[tokio::test]
async fn the_right_password_logs_in_from_a_new_network_after_those_queued_before() {
    let server = start().await;
    fail_a_hundred_times(&server, "ada").await;
    let answered = overtaken(&server, HOME, "ada", PASSWORD, 200).await;
    assert!(answered > 35, "only {answered} of 40 tries that came before had their turn");
    log_in(&server, "203.0.113.2", "ada", WRONG).await.expect(401);
}

/// The time that a try takes must not tell whether the address has an account.
#[tokio::test]
async fn guesses_at_an_address_without_an_account_are_slowed_alike() {
    let server = start().await;
    fail_a_hundred_times(&server, "nobody").await;
    let answered = overtaken(&server, HOME, "nobody", WRONG, 401).await;
    assert!(answered > 35, "only {answered} of 40 tries that came before had their turn");
}

/// Otherwise an attacker could fill an account's queue without using up a rate.
#[tokio::test]
async fn guesses_refused_by_a_full_queue_count_for_their_network() {
    let server = start().await;
    fail_a_hundred_times(&server, "ada").await;
    let replies = join_all((0..10).map(|_| log_in(&server, "192.0.2.7", "ada", WRONG))).await;
    assert!(replies.iter().all(|reply| [401, 429].contains(&reply.status)));
    log_in(&server, "192.0.2.7", "ada", WRONG).await.expect(429);
    log_in(&server, HOME, "ada", PASSWORD).await.expect(200);
}

/// A password can also be guessed where it is changed.
#[tokio::test]
async fn guesses_of_the_old_password_count_as_failed_log_ins() {
    let server = start().await;
    let session = log_in(&server, HOME, "ada", PASSWORD).await.data(200, "Login successful");
    let ada = server.anonymous().with_session(&session);
    let change = async |old: &str| {
        let request = ada.request("PUT", "/api/v1/auth/change-password").header("x-forwarded-for", "192.0.2.7");
        let body = json!({ "old_password": old, "new_password": "a quite different one" });
        Reply::of(request.json(&body), "PUT /auth/change-password", "").await.status
    };
    for _ in 0..5 {
        log_in(&server, "192.0.2.7", "ada", WRONG).await.expect(401);
        assert_eq!(change(WRONG).await, 401);
    }
    assert_eq!(change(PASSWORD).await, 429);
    log_in(&server, "192.0.2.7", "ada", PASSWORD).await.expect(429);
}
