//! Guesses of passwords from many networks: they slow each other down, never lock the account, and hold up neither known devices
//! nor known networks (SECURITY.md, *Bounds*). The paces and bounds themselves are tested in `limits::guesses`.

use std::{pin::pin, time::Duration};

use futures_util::{
    StreamExt,
    future::{Either, join_all, select},
    stream::FuturesUnordered,
};
use serde_json::{Value, json};
use tidings::{config::Switch, error::Code};

use crate::{
    harness::{DAY, PASSWORD, Reply, Server, email},
    mailbox::Mail,
};

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
    send(server, from, json!({ "email": email(name), "password": password })).await
}

async fn send(server: &Server, from: &str, body: Value) -> Reply {
    let request = server.anonymous().request("POST", "/api/v1/auth/login").json(&body);
    Reply::of(request.header("x-forwarded-for", from), &format!("POST /auth/login from {from}"), "").await
}

/// A hundred failures, ten from each network. Then one more, after which the next is checked in a second.
async fn fail_a_hundred_times(server: &Server, name: &str) {
    for network in 0..10 {
        let from = format!("198.51.100.{network}");
        let tries = (0..10).map(|_| log_in(server, &from, name, WRONG));
        join_all(tries).await.into_iter().for_each(|reply| _ = reply.expect(401));
    }
    log_in(server, "198.51.100.10", name, WRONG).await.expect(401);
}

/// Sends eight log-ins at once from one network: if they have to wait, one a second is checked, four wait, and others are
/// refused at once. Returns the first that is; the rest are given up.
async fn refused(server: &Server, from: &str, body: &Value) -> Option<Reply> {
    let mut tries: FuturesUnordered<_> = (0..8).map(|_| send(server, from, body.clone())).collect();
    while let Some(reply) = tries.next().await {
        if reply.status == 429 {
            return Some(reply);
        }
    }
    None
}

/// A right log-in with the mark of a device.
fn marked(device: &Value) -> Value {
    json!({ "email": email("ada"), "password": PASSWORD, "device_token": device })
}

#[tokio::test]
async fn guesses_from_many_networks_do_not_slow_a_network_that_logged_in_before() {
    let server = start().await;
    log_in(&server, HOME, "ada", PASSWORD).await.expect(200);
    fail_a_hundred_times(&server, "ada").await;
    let right = json!({ "email": email("ada"), "password": PASSWORD });
    assert!(refused(&server, HOME, &right).await.is_none());
    assert!(refused(&server, "198.18.0.1", &right).await.is_some(), "from another network");
}

#[tokio::test]
async fn a_known_device_does_not_wait_wherever_it_is() {
    let server = start().await;
    let session = log_in(&server, HOME, "ada", PASSWORD).await.data(200, "Login successful");
    fail_a_hundred_times(&server, "ada").await;
    assert!(refused(&server, "198.18.0.1", &marked(&session["device_token"])).await.is_none());
    for (n, other) in [json!(null), json!("x"), session["access_token"].clone()].iter().enumerate() {
        assert!(refused(&server, &format!("198.18.1.{n}"), &marked(other)).await.is_some(), "{other}");
    }
}

#[tokio::test]
async fn a_known_device_is_not_kept_out_by_its_neighbours() {
    let server = start().await;
    let session = log_in(&server, HOME, "ada", PASSWORD).await.data(200, "Login successful");
    for _ in 0..10 {
        log_in(&server, HOME, "ada", WRONG).await.expect(401);
    }
    log_in(&server, HOME, "ada", PASSWORD).await.expect(429);
    send(&server, HOME, marked(&session["device_token"])).await.expect(200);
}

/// Attempts that come at once read the clock in another order than they are counted in.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn attempts_at_once_break_nothing() {
    let server = start().await;
    for round in 0..50 {
        let at_once = async |n| loop {
            let reply = log_in(&server, &format!("198.19.{round}.{n}"), &format!("nobody{round}"), WRONG).await;
            // On a busy machine, the last of so many waits for longer than a password may.
            if reply.status != 503 {
                _ = reply.expect(401);
                break;
            }
        };
        join_all((0..8).map(at_once)).await;
    }
}

#[tokio::test]
async fn a_mark_is_good_for_its_account_and_password_for_a_year() {
    let server = start().await;
    server.register("grace").await;
    let session = log_in(&server, HOME, "ada", PASSWORD).await.data(200, "Login successful");
    let other = log_in(&server, HOME, "grace", PASSWORD).await.data(200, "Login successful");
    let (ada, new) = (server.anonymous().with_session(&session), "a quite different one");
    ada.put("/auth/change-password", json!({ "old_password": PASSWORD, "new_password": new })).await.expect(200);
    let marked = |device: &Value| json!({ "email": email("ada"), "password": new, "device_token": device["device_token"] });
    fail_a_hundred_times(&server, "ada").await;
    assert!(refused(&server, "198.18.0.1", &marked(&other)).await.is_some(), "that of another account");
    assert!(refused(&server, "198.18.0.2", &marked(&session)).await.is_some(), "the password has changed");

    server.clock.advance(DAY); // All failures are forgotten.
    let session = log_in(&server, HOME, "ada", new).await.data(200, "Login successful");
    for (days, good) in [(364, true), (1, false)] {
        server.clock.advance(days * DAY);
        fail_a_hundred_times(&server, "ada").await;
        assert_eq!(refused(&server, &format!("198.18.1.{}", days % 100), &marked(&session)).await.is_none(), good, "{days}");
    }
}

#[tokio::test]
async fn a_mark_is_no_bearer() {
    let server = start().await;
    let mut session = log_in(&server, HOME, "ada", PASSWORD).await.data(200, "Login successful");
    session["access_token"] = session["device_token"].clone();
    server.anonymous().with_session(&session).get("/profile").await.expect(401);
}

#[tokio::test]
async fn a_stolen_mark_is_worth_ten_guesses() {
    let server = start().await;
    let session = log_in(&server, HOME, "ada", PASSWORD).await.data(200, "Login successful");
    fail_a_hundred_times(&server, "ada").await;
    let guess = json!({ "email": email("ada"), "password": WRONG, "device_token": session["device_token"] });
    let guesses = (0..10).map(|n| format!("198.18.1.{n}"));
    for reply in join_all(guesses.map(async |from| send(&server, &from, guess.clone()).await)).await {
        reply.expect(401);
    }
    assert!(refused(&server, "198.18.0.1", &marked(&session["device_token"])).await.is_some());
}

#[tokio::test]
async fn the_right_password_logs_in_from_a_new_network_among_many_guesses() {
    let server = start().await;
    fail_a_hundred_times(&server, "ada").await;
    let networks: Vec<String> = (0..40).map(|n| format!("192.0.2.{n}")).collect();
    let mut guesses: FuturesUnordered<_> = networks.iter().map(|from| log_in(&server, from, "ada", WRONG)).collect();
    let mut right = pin!(log_in(&server, HOME, "ada", PASSWORD));
    loop {
        server.clock.advance(Duration::from_secs(1)); // One is checked, each time that of the owner with a chance of one in two.
        match select(right.as_mut(), guesses.next()).await {
            Either::Left((reply, _)) => {
                reply.expect(200);
                return;
            }
            Either::Right((reply, _)) => _ = reply.unwrap().expect(401),
        }
    }
}

/// Neither the pace nor the words tell whether the address has an account.
#[tokio::test]
async fn guesses_at_an_address_without_an_account_are_slowed_alike() {
    let server = start().await;
    let mut refusals = Vec::new();
    for (name, from) in [("ada", "198.18.0.1"), ("nobody", "198.18.0.2")] {
        fail_a_hundred_times(&server, name).await;
        let refused = refused(&server, from, &json!({ "email": email(name), "password": WRONG })).await.unwrap();
        assert_eq!(refused.headers["retry-after"], "5");
        refusals.push(refused.refused(429, Code::TooManyPasswords));
    }
    assert_eq!(refusals[0], refusals[1]);
    assert_eq!(
        refusals[0]["message"],
        "Too many wrong passwords were tried. Try again in 5 seconds, or use a link by mail instead"
    );
}

/// Otherwise an attacker could fill an account's queue without using up a rate.
#[tokio::test]
async fn guesses_refused_by_the_queue_count_for_their_network() {
    let server = start().await;
    fail_a_hundred_times(&server, "ada").await;
    let mut guesses: FuturesUnordered<_> = (0..10).map(|_| log_in(&server, "192.0.2.7", "ada", WRONG)).collect();
    while guesses.next().await.unwrap().status != 429 {}
    drop(guesses);
    let refused = log_in(&server, "192.0.2.7", "ada", WRONG).await;
    assert!(refused.headers["retry-after"].to_str().unwrap().parse::<u64>().unwrap() > 5, "for the rest of the minute");
    refused.expect(429);
}

#[tokio::test]
async fn the_owner_gets_one_mail_a_day_with_a_link_that_logs_in_at_once() {
    let server = start().await;
    fail_a_hundred_times(&server, "nobody").await;
    fail_a_hundred_times(&server, "ada").await;
    let mail = server.mails(&email("ada"), 2).await.pop().unwrap();
    assert_eq!(mail.subject, "Somebody is guessing your password");
    assert!(mail.text.contains("networks. A good password"), "{}", mail.text);

    // Neither a restart nor more guesses bring another within the day.
    let server = server.restart().await;
    fail_a_hundred_times(&server, "ada").await;
    let body = json!({ "token": mail.parameter("token") });
    server.anonymous().post("/auth/magic-link/verify", body).await.data(200, "Login successful");
    server.anonymous().post("/auth/magic-link", json!({ "email": email("ada") })).await.expect(200);
    let subjects = |mails: Vec<Mail>| mails.into_iter().map(|mail| mail.subject).collect::<Vec<_>>();
    assert_eq!(subjects(server.mails(&email("ada"), 3).await)[2], "Your link to log in");

    server.clock.advance(DAY);
    fail_a_hundred_times(&server, "ada").await;
    assert_eq!(subjects(server.mails(&email("ada"), 4).await)[3], "Somebody is guessing your password");
    assert!(server.mails(&email("nobody"), 0).await.is_empty());
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
