//! Answers of the issuer: errors, id tokens, and what they leave out.

use base64::{Engine, prelude::BASE64_STANDARD};
use serde_json::json;
use tidings::config::{Registration, Settings};

use super::browser::{Browser, decoded};
use crate::accounts::issuer::{CLIENT, Issuer, SECRET};

#[tokio::test]
async fn what_the_issuer_refuses_ends_on_a_page() {
    let issuer = Issuer::start();
    let server = issuer.server_for_browsers(|_| {}).await;
    let mut browser = Browser::of(&server);
    for (answer, status, says) in [
        ("error=access_denied", 401, "You cancelled the log-in, or the identity provider refused it."),
        ("error=access_denied&code=x", 401, "You cancelled the log-in, or the identity provider refused it."),
        ("error=server_error&error_description=<script>alert(1)</script>", 401, "The identity provider could not log you in."),
        ("", 401, "The identity provider could not log you in."),
        ("code=x&iss=https://evil.example", 401, "The answer is from another identity provider."),
        ("code=unknown", 401, "The identity provider refused the log-in."),
    ] {
        let address = browser.begin("/wanted").await;
        let (code, back) = issuer.log_in(&address, json!({}));
        let shown = browser.open(&back.replace(&format!("code={code}"), answer)).await;
        shown.assert_page(status, says);
        assert!(decoded(&shown.text).contains("?next=%2Fwanted\">Log in with localhost</a>") && !shown.text.contains("<script"));
        assert_eq!(browser.begun().len(), 0, "a log-in that failed is over");
    }
    let too_long = format!("{{\"id_token\": \"{}\"}}", "x".repeat(256 << 10));
    const REFUSED: &str = "The identity provider refused the log-in.";
    const AWAY: &str = "The identity provider can't be reached, try again in a minute.";
    for (answered, body, status, says) in [
        ("400 Bad Request", r#"{"error": "invalid_client"}"#, 401, REFUSED),
        ("302 Found", r#"{"id_token": "a.b.c"}"#, 401, REFUSED),
        ("200 OK", "<p>hello", 401, REFUSED),
        ("200 OK", r#"{"access_token": "x"}"#, 401, REFUSED),
        ("200 OK", r#"{"id_token": "a.b.c"}"#, 401, "The id token could not be verified."),
        ("200 OK", &too_long, 503, AWAY),
        ("502 Bad Gateway", "", 503, AWAY),
    ] {
        let address = browser.begin("/wanted").await;
        issuer.answer(answered, body);
        browser.open(&issuer.log_in(&address, json!({})).1).await.assert_page(status, says);
    }
    assert_eq!((server.count("sessions"), server.count("users")), (0, 0));
}

#[tokio::test]
async fn an_answer_of_the_issuer_may_have_256_kibibytes() {
    let issuer = Issuer::start();
    let server = issuer.server_for_browsers(|_| {}).await;
    let mut browser = Browser::of(&server);
    for (more, is_taken) in [(1, false), (0, true)] {
        let address = browser.begin("/").await;
        let (_, back) = issuer.log_in(&address, json!({}));
        let nonce = address.split("nonce=").nth(1).unwrap().split('&').next().unwrap();
        let answer = json!({ "id_token": issuer.token(json!({ "nonce": nonce })) }).to_string();
        issuer.answer("200 OK", " ".repeat((256 << 10) + more - answer.len()) + &answer);
        assert_eq!(browser.open(&back).await.status, if is_taken { 303 } else { 503 });
    }
}

#[tokio::test]
async fn an_id_token_of_another_log_in_or_another_client_is_refused() {
    let issuer = Issuer::start();
    let server = issuer.server_for_browsers(|_| {}).await;
    let mut browser = Browser::of(&server);
    for claims in [
        json!({ "nonce": "another" }),
        json!({ "nonce": null }),
        json!({ "aud": "another" }),
        json!({ "iss": "https://evil.example" }),
        json!({ "exp": 1 }),
    ] {
        browser.log_in(&issuer, claims).await.assert_page(401, "The id token could not be verified.");
    }
    assert_eq!(server.count("sessions"), 0);
}

#[tokio::test]
async fn the_rules_of_federated_log_in_hold() {
    let issuer = Issuer::start();
    let server = issuer.server_for_browsers(|settings| settings.registration = Registration::Closed).await;
    let mut browser = Browser::of(&server);
    browser.log_in(&issuer, json!({})).await.assert_page(403, "Registration is by invitation only.");
    let unverified = browser.log_in(&issuer, json!({ "email_verified": false })).await;
    unverified.assert_page(401, "The identity provider has not verified an e-mail address.");

    let server = issuer.server_for_browsers(|_| {}).await;
    let mut browser = Browser::of(&server);
    server.register("ada").await;
    server.sql("update users set is_active = 0");
    browser.log_in(&issuer, json!({})).await.assert_page(403, "This account is disabled.");
    server.sql("update users set is_active = 1");
    // An account that somebody else may have registered is taken back.
    browser.log_in(&issuer, json!({})).await.leads_to();
    assert_eq!(server.count("users where password_hash = '' and mailbox_proved"), 1);
}

#[tokio::test]
async fn the_client_proves_itself_as_the_issuer_wants_it() {
    let basic = format!("authorization: Basic {}", BASE64_STANDARD.encode(format!("{CLIENT}:s3cret%3A+100%25+%26+more")));
    let posted = "&client_id=tidings-test&client_secret=s3cret%3A+100%25+%26+more";
    let methods = |methods: &[&str]| json!({ "token_endpoint_auth_methods_supported": methods });
    for (issuer, secret, expected) in [
        (Issuer::start(), true, basic.as_str()),
        (Issuer::saying(methods(&["client_secret_post", "client_secret_basic"])), true, &basic),
        (Issuer::saying(methods(&["private_key_jwt", "client_secret_post"])), true, posted),
        (Issuer::start(), false, "&client_id=tidings-test"),
    ] {
        let without = |settings: &mut Settings| settings.federated.oidc_client_secret = None;
        let server = issuer
            .server_for_browsers(|settings| {
                if !secret {
                    without(settings)
                }
            })
            .await;
        Browser::of(&server).log_in(&issuer, json!({})).await.leads_to();
        let [exchanged] = issuer.exchanged().try_into().unwrap();
        assert!(exchanged.contains(expected), "{exchanged}");
        let is_basic = exchanged.contains("authorization:");
        assert_eq!(is_basic, expected == basic);
        assert_eq!(exchanged.contains("client_id="), !is_basic);
        assert!(is_basic || exchanged.ends_with(expected), "{exchanged}");
        assert!(!server.stores(SECRET));
    }
}

#[tokio::test]
async fn what_an_id_token_leaves_out_is_asked_for() {
    let issuer = Issuer::start();
    let server = issuer.server_for_browsers(|_| {}).await;
    let lean = || json!({ "email": "", "email_verified": null, "jti": tidings::secret::random_token() });
    let mut browser = Browser::of(&server);
    let ada = json!({ "sub": "42", "email": "ada@example.org", "email_verified": "true", "given_name": "Ada" });
    for (person, logs_in) in [
        (json!({ "sub": "43", "email": "ada@example.org", "email_verified": true }), false),
        (json!({ "sub": "42", "email": "ada@example.org", "email_verified": false }), false),
        (json!({ "sub": "42" }), false),
        (json!("nothing"), false),
        (ada, true),
        (json!("nothing"), true), // somebody who is known by now
    ] {
        let address = browser.begin("/").await;
        let (code, back) = issuer.log_in(&address, lean());
        issuer.tell(&code, person);
        let shown = browser.open(&back).await;
        if logs_in {
            shown.leads_to();
        } else {
            shown.assert_page(401, "The identity provider has not verified an e-mail address.");
        }
    }
    assert_eq!(server.count("users where email = 'ada@example.org' and first_name = 'Ada' and mailbox_proved"), 1);
    // What a signed token says is not asked for again.
    let address = browser.begin("/").await;
    let (code, back) = issuer.log_in(&address, json!({ "sub": "9", "email": "lin@example.org" }));
    issuer.tell(&code, json!({ "sub": "9", "email": "root@example.org", "email_verified": true }));
    browser.open(&back).await.leads_to();
    assert_eq!(browser.email().await, "lin@example.org");
}

#[tokio::test]
async fn an_issuer_that_is_away_or_has_no_place_for_browsers_is_told() {
    let nowhere = Issuer::saying(json!({ "authorization_endpoint": null }));
    let plain = Issuer::saying(json!({ "authorization_endpoint": "http://localhost/authorize" }));
    for issuer in [nowhere, plain] {
        let server = issuer.server_for_browsers(|_| {}).await;
        let shown = Browser::of(&server).open("/auth/oidc/start").await;
        assert_eq!((shown.status, &shown.headers["retry-after"]), (503, &"1".parse().unwrap()));
        assert!(decoded(&shown.text).contains("The identity provider does not say where browsers log in."));
    }
    let issuer = Issuer::start();
    let server = issuer.server_for_browsers(|settings| settings.federated.oidc_issuer = "https://localhost:1".into()).await;
    let shown = Browser::of(&server).open("/auth/oidc/start").await;
    assert_eq!(shown.status, 503);
    assert!(decoded(&shown.text).contains("The identity provider can't be reached"));
}
