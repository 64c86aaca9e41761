//! Magic links with a code, for the browser that asked.

use std::time::Duration;

use serde_json::{Value, json};
use tidings::{
    config::Switch,
    domain::accounts::{mailed_links, sessions::Device},
    error::Code,
};

use crate::{
    harness::{PASSWORD, Reply, Server, text},
    messages::posting::statements,
    shapes::{SESSION, assert_shape},
};

const ADA: &str = "ada@example.org";

async fn ask(server: &Server, email: &str) -> String {
    let reply = server.anonymous().post("/auth/magic-link/code", json!({ "email": email })).await;
    text(&reply.data(200, "Magic link sent successfully")["request"])
}

/// The code in the account's last of so many mails, and the token of the link beside it.
async fn mailed(server: &Server, mails: usize) -> (String, String) {
    let mail = &server.mails(ADA, mails).await[mails - 1];
    let (_, rest) = mail.text.split_once("Your code is ").expect("a code");
    (rest.chars().take_while(char::is_ascii_digit).collect(), mail.parameter("token"))
}

async fn enter(server: &Server, request: &str, code: &str) -> Reply {
    server.anonymous().post("/auth/magic-link/code/verify", json!({ "request": request, "code": code })).await
}

/// A code that is not this one.
fn other(code: &str) -> String {
    format!("{:06}", (code.parse::<u32>().unwrap() + 1) % 1_000_000)
}

async fn ada() -> Server {
    let server = Server::start().await;
    server.register("ada").await;
    server
}

#[tokio::test]
async fn a_code_logs_in_once_with_the_request_it_was_asked_by() {
    let server = ada().await;
    let request = ask(&server, " Ada@Example.org ").await;
    let (code, link) = mailed(&server, 2).await;
    assert_eq!(code.len(), 6);
    let others = ask(&server, ADA).await;
    mailed(&server, 3).await;
    enter(&server, &others, &code).await.expect(422);
    let data = enter(&server, &request, &code).await.data(200, "Login successful");
    assert_shape(&data, SESSION);
    assert_eq!(data["user"]["is_verified"], true, "the mailbox was shown to be theirs");
    server.anonymous().with_session(&data).get("/profile").await.expect(200);
    let body = json!({ "email": ADA, "password": PASSWORD });
    server.anonymous().post("/auth/login", body).await.expect(401);
    enter(&server, &request, &code).await.expect(422);
    server.anonymous().post("/auth/magic-link/verify", json!({ "token": link })).await.expect(422);
}

#[tokio::test]
async fn a_used_link_voids_the_code_beside_it() {
    let server = ada().await;
    let request = ask(&server, ADA).await;
    let (code, link) = mailed(&server, 2).await;
    server.anonymous().post("/auth/magic-link/verify", json!({ "token": link })).await.expect(200);
    enter(&server, &request, &code).await.expect(422);
}

#[tokio::test]
async fn five_wrong_codes_void_the_request_and_four_do_not() {
    let server = ada().await;
    for (wrong, last) in [(4, 200), (5, 422)] {
        let mails = server.mails(ADA, 1).await.len();
        let request = ask(&server, ADA).await;
        let (code, _) = mailed(&server, mails + 1).await;
        for _ in 0..wrong {
            enter(&server, &request, &other(&code)).await.refused(422, Code::WrongCode);
        }
        enter(&server, &request, &code).await.expect(last);
    }
    // The link stays good: whoever guessed has no part in it.
    let (_, link) = mailed(&server, 3).await;
    server.anonymous().post("/auth/magic-link/verify", json!({ "token": link })).await.expect(200);
}

/// Mail after mail would bring five more tries each.
#[tokio::test]
async fn after_twenty_wrong_codes_in_a_day_an_account_is_mailed_links_alone() {
    let server = Server::with(|settings| settings.rate_limit = Switch::On).await;
    server.register("ada").await;
    server.register("grace").await;
    let enter = |request: &str, code: &str| {
        server.write(|tx| mailed_links::enter_by_code(tx, request, code, &Device::default())).unwrap().is_some()
    };
    // A right one counts for nothing.
    let request = ask(&server, ADA).await;
    assert!(enter(&request, &mailed(&server, 2).await.0));
    for mails in 3..=6 {
        let request = ask(&server, ADA).await;
        let (code, _) = mailed(&server, mails).await;
        assert!((0..5).all(|_| !enter(&request, &other(&code))));
    }
    let an_hour = Duration::from_secs(3600);
    server.clock.advance(an_hour);
    let request = ask(&server, ADA).await;
    let mail = &server.mails(ADA, 7).await[6];
    assert!(!mail.text.contains("Your code is") && mail.text.contains("There is no code in this mail"), "{}", mail.text);
    server.anonymous().post("/auth/magic-link/verify", json!({ "token": mail.parameter("token") })).await.expect(200);
    // Whoever guesses is answered as before, as for an address without an account.
    let unknown = ask(&server, "nobody@example.org").await;
    for request in [&request, &unknown] {
        self::enter(&server, request, "000000").await.refused(422, Code::WrongCode);
    }
    ask(&server, "grace@example.org").await;
    assert!(server.mails("grace@example.org", 2).await[1].text.contains("Your code is"), "of another account");

    server.clock.advance(24 * an_hour);
    let request = ask(&server, ADA).await;
    assert!(enter(&request, &mailed(&server, 8).await.0), "the next day");
}

/// Housekeeping keeps the requests with wrong codes for a day, and so an answer must not tell which are kept.
#[tokio::test]
async fn an_expired_request_is_unknown_whether_it_is_kept_or_not() {
    let server = ada().await;
    let request = ask(&server, ADA).await;
    let (code, _) = mailed(&server, 2).await;
    enter(&server, &request, &other(&code)).await.refused(422, Code::WrongCode);
    server.clock.advance(Duration::from_secs(10 * 60));
    enter(&server, &request, &code).await.refused(400, Code::LinkInvalid);
}

#[tokio::test]
async fn tries_at_the_same_time_are_counted_one_by_one() {
    let server = ada().await;
    let request = ask(&server, ADA).await;
    let (code, _) = mailed(&server, 2).await;
    let wrong = other(&code);
    let replies = futures_util::future::join_all((0..20).map(|_| enter(&server, &request, &wrong))).await;
    let counted = replies.iter().filter(|reply| reply.body["message"] == "The code is wrong or has expired").count();
    assert_eq!(counted, 5);
    enter(&server, &request, &code).await.refused(422, Code::TooManyCodes);
}

#[tokio::test]
async fn an_unreadable_code_is_no_try_and_an_unknown_request_is_refused() {
    let server = ada().await;
    let request = ask(&server, ADA).await;
    let (code, _) = mailed(&server, 2).await;
    for unreadable in ["", "12345", "1234567", "12345x", "１２３４５６"] {
        enter(&server, &request, unreadable).await.expect(400);
    }
    for unknown in ["", "unknown", &"x".repeat(129)] {
        enter(&server, unknown, &code).await.expect(400);
    }
    for body in [json!({ "request": request }), json!({ "code": code }), json!({ "request": request, "code": 123456 })] {
        server.anonymous().post("/auth/magic-link/code/verify", body).await.expect(400);
    }
    enter(&server, &request, &code).await.expect(200);
}

#[tokio::test]
async fn a_code_expires_with_its_link() {
    let server = ada().await;
    let request = ask(&server, ADA).await;
    let (code, _) = mailed(&server, 2).await;
    server.clock.advance(Duration::from_secs(10 * 60));
    enter(&server, &request, &code).await.refused(400, Code::LinkInvalid);
}

#[tokio::test]
async fn a_disabled_account_is_not_entered_by_a_code() {
    let server = ada().await;
    let request = ask(&server, ADA).await;
    let (code, _) = mailed(&server, 2).await;
    server.sql("update users set is_active = 0");
    enter(&server, &request, &code).await.expect(403);
}

#[tokio::test]
async fn only_hashes_of_codes_and_requests_are_stored() {
    let server = ada().await;
    let request = ask(&server, ADA).await;
    let (code, _) = mailed(&server, 2).await;
    assert!(!server.stores(&request));
    let alone = tidings::secret::sha256(&code);
    let hex: String = alone.iter().map(|byte| format!("{byte:02X}")).collect();
    assert_eq!(server.count(&format!("one_time_tokens where code_hash = x'{hex}'")), 0, "a code alone is guessed in a moment");
    assert_eq!(server.count("one_time_tokens where code_hash is not null"), 1);
}

/// The time of an answer must not tell whether there is an account.
#[tokio::test]
async fn a_code_takes_the_same_statements_for_an_address_without_an_account() {
    let server = ada().await;
    ask(&server, "nobody@example.org").await;
    ask(&server, ADA).await;
    mailed(&server, 2).await;
    assert!(server.mails("nobody@example.org", 0).await.is_empty());
    server
        .write(|tx| {
            // The last ones are past the limit of a recipient.
            for round in 1..=7 {
                let [known, unknown] = [ADA, "nobody@example.org"].map(|email| {
                    let mut request = String::new();
                    let asked =
                        statements(tx, |tx| mailed_links::request_code(tx, email).map(|secret| request = secret)).unwrap();
                    let entered =
                        statements(tx, |tx| mailed_links::enter_by_code(tx, &request, "000000", &Device::default()).map(drop))
                            .unwrap();
                    [asked.len(), entered.len()]
                });
                assert_eq!(known, unknown, "request {round}");
            }
            Ok(())
        })
        .unwrap();
}

#[tokio::test]
async fn wrong_codes_are_answered_alike_for_addresses_with_and_without_an_account() {
    let server = ada().await;
    let (known, unknown) = (ask(&server, ADA).await, ask(&server, "nobody@example.org").await);
    let (code, _) = mailed(&server, 2).await;
    let wrong = other(&code);
    for _ in 0..6 {
        let [known, unknown]: [Value; 2] =
            [enter(&server, &known, &wrong).await.expect(422), enter(&server, &unknown, &wrong).await.expect(422)];
        assert_eq!(known, unknown);
    }
}
