//! Requests for links to somebody else's mailbox do not keep its owner from recovering the account.

use crate::{
    harness::{Reply, Server},
    organisations::invitations::{invite, resend},
};
use serde_json::json;
use tidings::{config::Switch, error::Code};

const NEW: &str = "a quite different one";
const ADA: &str = "ada@example.org";

/// A server with its limits on, where requests say which network they come from.
async fn server() -> Server {
    Server::with(|settings| {
        settings.rate_limit = Switch::On;
        settings.trusted_proxy = vec!["127.0.0.0/8".parse().unwrap()];
    })
    .await
}

/// Sends a body from `203.0.113.<network>`.
async fn once(server: &Server, network: usize, path: &str, body: serde_json::Value) -> Reply {
    let request = server.anonymous().request("POST", &format!("/api/v1{path}")).json(&body);
    Reply::of(request.header("x-forwarded-for", format!("203.0.113.{network}")), path, "").await
}

/// Sends a body from `203.0.113.<network>`, again while the network's rate of requests refuses it.
async fn from(server: &Server, network: usize, path: &str, body: serde_json::Value) -> Reply {
    loop {
        let reply = once(server, network, path, body.clone()).await;
        let says_mails = reply.body["message"].as_str().is_some_and(|message| message.contains("mails"));
        if reply.status != 429 || says_mails {
            return reply;
        }
    }
}

async fn register(server: &Server, network: usize, name: &str) {
    let body = json!({ "email": format!("{name}@example.org"), "username": name, "password": "correct horse battery" });
    from(server, network, "/auth/register", body).await.expect(201);
}

#[tokio::test]
async fn a_sixth_request_in_an_hour_voids_no_link_and_blocks_no_other_kind_of_link() {
    let server = server().await;
    register(&server, 0, "ada").await;
    for network in 1..=6 {
        from(&server, network, "/auth/password-reset", json!({ "email": ADA })).await.expect(200);
        from(&server, network, "/auth/email-request", json!({ "email": ADA })).await.expect(200);
    }
    from(&server, 7, "/auth/magic-link", json!({ "email": ADA })).await.expect(200);
    let mails = server.mails(ADA, 11).await;
    let of = |subject: &str| mails.iter().filter(|mail| mail.subject == subject).collect::<Vec<_>>();
    let resets = of("Set a new password");
    assert_eq!([resets.len(), of("Verify your e-mail address").len(), of("Your link to log in").len()], [5, 5, 1]);

    let set = async |mail: usize, password: &str| {
        let body = json!({ "token": resets[mail].parameter("token"), "new_password": password });
        from(&server, 8, "/auth/password-reset/verify", body).await
    };
    // "too short" is told for a token that works only.
    let works = async |mail: usize| set(mail, "short").await.expect(422)["message"].as_str().unwrap().contains("at least 8");
    assert_eq!(
        [works(0).await, works(1).await, works(2).await, works(3).await, works(4).await],
        [false, false, true, true, true]
    );
    set(2, NEW).await.expect(200);
    assert!(!works(4).await, "the others die with the one that was used");
}

#[tokio::test]
async fn a_network_has_twenty_links_mailed_within_an_hour_and_is_told_so() {
    let server = server().await;
    for n in 0..21 {
        register(&server, 100 + n, &format!("user{n}")).await;
    }
    // Addresses without an account count alike: otherwise this would tell which have one.
    from(&server, 1, "/auth/magic-link", json!({ "email": "nobody@example.org" })).await.expect(200);
    for n in 0..19 {
        from(&server, 1, "/auth/magic-link", json!({ "email": format!("user{n}@example.org") })).await.expect(200);
    }
    let late = json!({ "email": "late@example.org", "password": "correct horse battery" });
    let again = |email: &str| json!({ "email": email });
    for (path, body) in [
        ("/auth/magic-link", again("user19@example.org")),
        ("/auth/magic-link", again("nobody@example.org")),
        ("/auth/password-reset", again("user19@example.org")),
        ("/auth/email-request", again("user19@example.org")),
        ("/auth/register", late.clone()),
    ] {
        let refused = from(&server, 1, path, body).await;
        let seconds: u64 = refused.headers["retry-after"].to_str().unwrap().parse().unwrap();
        assert!((1..=180).contains(&seconds), "{path}: {seconds}");
        let message = refused.refused(429, Code::MailsUsedUp)["message"].as_str().unwrap().to_owned();
        assert!(message.starts_with("Your network has requested as many mails as it may"), "{path}: {message}");
    }
    let left = "mails where recipient in ('user19@example.org', 'late@example.org') and kind <> 'verification'";
    assert_eq!(server.count(left), 0, "no refused request was half done");
    assert_eq!(server.count("users where email = 'late@example.org'"), 0);
    from(&server, 2, "/auth/register", late).await.expect(201);
    from(&server, 2, "/auth/magic-link", json!({ "email": "user20@example.org" })).await.expect(200);
    server.mails("user20@example.org", 2).await;
    server.mails("user18@example.org", 2).await;
    assert_eq!(server.count("mails where kind = 'magic_link' and recipient like 'user%'"), 20);
    assert_eq!(server.count("one_time_tokens where purpose = 'magic_link'"), 20);
}

#[tokio::test]
async fn an_invitation_that_cannot_be_mailed_again_keeps_its_link() {
    let server = Server::with(|settings| settings.rate_limit = Switch::On).await;
    let ada = server.user("ada").await;
    let organisation = ada.organisation("Engines").await;
    invite(&ada, &organisation, &["new@example.org"]).await.expect(201);
    for _ in 0..5 {
        resend(&ada, &organisation, &["new@example.org"]).await.expect(200);
    }
    let mails = server.mails("new@example.org", 5).await;
    let verify = json!({ "token": mails[4].parameter("invitation_token") });
    server.anonymous().post("/invite/verify", verify).await.expect(200);
    assert_eq!(server.count("mails where recipient = 'new@example.org'"), 5);
}
