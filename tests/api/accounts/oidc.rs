//! Log-in of browsers at an OpenID Connect issuer, by authorization code.

mod answers;
mod browser;

use std::time::Duration;

use futures_util::future::join_all;
use serde_json::{Value, json};
use tidings::{
    config::{Federated, Settings, Switch},
    net::trusted_authorities::Authorities,
};

use self::browser::{Browser, decoded};
use super::issuer::{Issuer, SECRET};
use crate::harness::{Server, email, encoded, unknown_id};

#[tokio::test]
async fn a_browser_logs_in_at_the_issuer_and_goes_where_it_wanted() {
    let issuer = Issuer::start();
    let server = issuer.server_for_browsers(|_| {}).await;
    let mut browser = Browser::of(&server);
    let shown = browser.open("/auth/oidc/start?next=%2Fchannels%2F7%3Faround%3Dunread%23end").await;
    let [cookie] = shown.cookies.as_slice() else { panic!("{:?}", shown.cookies) };
    let (name, attributes) = (browser.begun()[0].clone(), cookie.split_once("; ").unwrap().1);
    assert!(name.starts_with("tidings-") && name.len() == "tidings-".len() + 8 + "-log-in-".len() + 8, "{name}");
    assert_eq!(attributes, "Path=/; Max-Age=600; HttpOnly; SameSite=Lax");
    let (code, back) = issuer.log_in(&shown.leads_to(), json!({}));
    assert!(back.starts_with(&format!("{}/auth/oidc/callback?", server.origin)), "{back}");

    let shown = browser.open_from(&format!("{back}&iss={}", encoded(&issuer.url)), Some("cross-site")).await;
    assert_eq!(shown.goes_on_to(&server), "/channels/7?around=unread#end");
    assert_eq!(browser.email().await, email("ada"));
    assert_eq!(browser.begun(), Vec::<&String>::new(), "it is over");
    assert_eq!(browser.cookies.len(), 2, "the session and the device: {:?}", browser.cookies);
    assert_eq!((server.count("sessions"), server.count("used_id_tokens"), server.count("identities")), (1, 1, 1));

    // What the issuer and the addresses show does not tell the secrets.
    let [exchanged] = issuer.exchanged().try_into().unwrap();
    let verifier = exchanged.split_once("code_verifier=").unwrap().1.split('&').next().unwrap().to_owned();
    assert_eq!(verifier.len(), 43);
    assert!(!back.contains(&verifier) && !server.stores(&code));

    // Again, as somebody who is known.
    let shown = browser.log_in(&issuer, json!({ "email": "moved@example.org" })).await;
    assert_eq!(shown.goes_on_to(&server), "/channels");
    assert_eq!((browser.email().await, server.count("users")), (json!(email("ada")), 1));
}

#[tokio::test]
async fn a_log_in_ends_the_session_that_the_browser_had() {
    let issuer = Issuer::start();
    let server = issuer.server_for_browsers(|_| {}).await;
    let mut browser = Browser::of(&server);
    browser.log_in(&issuer, json!({})).await.leads_to();
    browser.log_in(&issuer, json!({ "sub": "7", "email": "grace@example.org" })).await.leads_to();
    assert_eq!(browser.email().await, "grace@example.org");
    assert_eq!((server.count("sessions where ended_at is null"), server.count("sessions")), (1, 2));
}

/// Anybody can give somebody a link, in a message for example, which their browser opens as a link of this server.
#[tokio::test]
async fn somebody_who_is_logged_in_is_asked_before_another_session_takes_the_place_of_theirs() {
    let issuer = Issuer::start();
    let server = issuer.server_for_browsers(|settings| settings.federated.oidc_name = Some("Key & Cloak".into())).await;
    let mut browser = Browser::of(&server);
    browser.log_in(&issuer, json!({ "given_name": "Ada", "family_name": "<Byron>" })).await.leads_to();
    let mut other = Browser::of(&server);
    other.log_in(&issuer, json!({ "sub": "7", "email": "grace@example.org" })).await.leads_to();
    let theirs = other.open("/auth/oidc/start").await.link();
    let start = "/auth/oidc/start?next=%2Fa%26b";
    for address in [start, &format!("{start}&instead=yes"), &theirs] {
        for site in [Some("same-origin"), Some("cross-site"), Some("none"), None] {
            let shown = browser.open_from(address, site).await;
            shown.assert_page(200, "You are logged in as Ada <Byron>. Log in as somebody else?");
            assert!(decoded(&shown.text).contains("\">Log in with Key & Cloak</a>"), "{}", shown.text);
            assert!(shown.link().starts_with("/auth/oidc/start?next="), "{}", shown.link());
        }
    }
    assert_eq!(browser.begun().len(), 0, "nothing has begun");
    let agreed = browser.open(start).await.link();
    assert!(agreed.starts_with(&format!("{start}&instead=")), "{agreed}");
    let address = browser.open_from(&agreed, Some("same-origin")).await.leads_to();
    let back = issuer.log_in(&address, json!({ "sub": "7", "email": "grace@example.org" })).1;
    assert_eq!(browser.open_from(&back, Some("cross-site")).await.goes_on_to(&server), "/a&b");
    assert_eq!(browser.email().await, "grace@example.org");
    // What was agreed to holds for the session that has ended, and no other.
    browser
        .open_from(&agreed, Some("same-origin"))
        .await
        .assert_page(200, "You are logged in as grace. Log in as somebody else?");
    // A session that has ended asks nothing.
    server.sql("update sessions set ended_at = 1");
    let _server = server.restart().await;
    browser.open(start).await.leads_to();
}

#[tokio::test]
async fn tabs_log_in_beside_each_other_and_the_oldest_of_six_is_forgotten() {
    let issuer = Issuer::start();
    let server = issuer.server_for_browsers(|_| {}).await;
    let mut browser = Browser::of(&server);
    let mut addresses = Vec::new();
    for tab in 0..6 {
        addresses.push(browser.begin(&format!("/tab/{tab}")).await);
        assert_eq!(browser.begun().len(), (tab + 1).min(5));
        server.clock.advance(Duration::from_secs(1)); // so that one is the oldest
    }
    for (tab, address) in addresses.iter().enumerate() {
        let shown = browser.open(&issuer.log_in(address, json!({ "jti": tab })).1).await;
        if tab == 0 {
            shown.assert_page(401, NOT_BEGUN);
        } else {
            assert_eq!(shown.goes_on_to(&server), format!("/tab/{tab}"));
        }
    }
    assert_eq!(browser.email().await, email("ada"));
}

const NOT_BEGUN: &str = "This log-in was begun in another browser, took more than ten minutes, or is over already.";

#[tokio::test]
async fn only_the_browser_that_began_ends_a_log_in_and_once() {
    let issuer = Issuer::start();
    let server = issuer.server_for_browsers(|_| {}).await;
    let mut ada = Browser::of(&server);
    let address = ada.begin("/channels").await;
    let (_, back) = issuer.log_in(&address, json!({}));
    // Another's browser, which has begun one itself, can't be made to log in as Ada.
    let mut grace = Browser::of(&server);
    grace.begin("/").await;
    grace.open(&back).await.assert_page(401, NOT_BEGUN);
    Browser::of(&server).open(&back).await.assert_page(401, NOT_BEGUN);
    // Nor can Ada's with another state.
    let begun = ada.cookies.clone();
    let wrong = back.replace("state=", "state=x");
    for wrong in
        [wrong.as_str(), back.split("&state").next().unwrap(), "/auth/oidc/callback", "/auth/oidc/callback?code=x&state="]
    {
        ada.open(wrong).await.assert_page(401, NOT_BEGUN);
    }
    assert_eq!(ada.cookies, begun, "the log-in goes on");
    assert_eq!(issuer.exchanged().len(), 0);

    ada.open(&back).await.leads_to();
    ada.open(&back).await.assert_page(401, NOT_BEGUN);
    // A program that keeps the cookie gets no second token for the code.
    let mut program = Browser { cookies: begun.clone(), ..Browser::of(&server) };
    program.open(&back).await.assert_page(401, "The identity provider refused the log-in.");
    assert_eq!(server.count("sessions"), 1);

    // A cookie that is not as the server made it is none.
    let mut forger = Browser { cookies: begun, ..Browser::of(&server) };
    forger.cookies.values_mut().for_each(|cookie| cookie.push('x'));
    forger.open(&back).await.assert_page(401, NOT_BEGUN);
}

#[tokio::test]
async fn a_log_in_at_the_issuer_may_take_ten_minutes() {
    let issuer = Issuer::start();
    let server = issuer.server_for_browsers(|_| {}).await;
    for (seconds, ends_well) in [(598, true), (600, false)] {
        let mut browser = Browser::of(&server);
        let address = browser.begin("/").await;
        server.clock.advance(Duration::from_secs(seconds));
        let shown = browser.open(&issuer.log_in(&address, json!({ "jti": seconds })).1).await;
        if ends_well { _ = shown.leads_to() } else { shown.assert_page(401, NOT_BEGUN) }
    }
}

#[tokio::test]
async fn nobody_is_sent_to_another_site() {
    let issuer = Issuer::start();
    let server = issuer.server_for_browsers(|_| {}).await;
    let mut browser = Browser::of(&server);
    for next in [
        "//evil.example",
        "/\\evil.example",
        "\\\\evil.example",
        "https://evil.example",
        "javascript:alert(1)",
        "<script>alert(1)</script>",
        "channels",
        "/\t/evil.example",
        "/\n/evil.example",
        "/a b",
        "/a\\b",
        "/\u{7f}",
        "/\u{202e}",
        " /a",
        "?a=b",
        "#a",
    ] {
        let shown = browser.open(&format!("/auth/oidc/start?next={}", encoded(next))).await;
        shown.assert_page(400, &format!("Next must be a path on this server, such as /channels, not {next:?}."));
        assert!(
            decoded(&shown.text).contains("href=\"/auth/oidc/start?next=\"")
                && !shown.text.contains("<script")
                && !shown.text.contains("href=\"http")
        );
    }
    for (next, target) in [
        ("", "/"),
        ("/", "/"),
        ("/a?b=c&d=//e#f", "/a?b=c&d=//e#f"),
        ("/.//evil.example", "//evil.example"),
        ("/%2f%2fevil.example/ü", "/%2f%2fevil.example/%C3%BC"),
        ("/@evil.example", "/@evil.example"),
        ("/../../x", "/x"),
    ] {
        let address = browser.begin(next).await;
        let shown = browser.open(&issuer.log_in(&address, json!({ "jti": next })).1).await;
        assert_eq!(shown.goes_on_to(&server), target);
    }
    // Other clients are sent to the path itself.
    for change in [
        |settings: &mut Settings| settings.client = Switch::Off,
        |settings: &mut Settings| {
            settings.links.web_url = Some("https://chat.example.org".into());
        },
    ] {
        let server = issuer.server_for_browsers(change).await;
        let mut browser = Browser::of(&server);
        for (next, target) in [("/channels?a#b", "/channels?a#b"), ("/.//evil.example", "//evil.example")] {
            let address = browser.begin(next).await;
            let shown = browser.open(&issuer.log_in(&address, json!({ "jti": unknown_id() })).1).await;
            assert_eq!(shown.leads_to(), format!("{}{target}", server.origin));
        }
    }
    browser.begin(&format!("/{}", "x".repeat(499))).await;
    let shown = browser.open(&format!("/auth/oidc/start?next=/{}", "x".repeat(500))).await;
    shown.assert_page(400, "Next has 501 characters, at most 500 are allowed.");
}

#[tokio::test]
async fn another_site_can_only_offer_a_log_in() {
    let issuer = Issuer::start();
    let server = issuer.server_for_browsers(|settings| settings.federated.oidc_name = Some("Key & Cloak".into())).await;
    let mut browser = Browser::of(&server);
    for site in ["cross-site", "same-site"] {
        let shown = browser.open_from("/auth/oidc/start?next=/a%26b", Some(site)).await;
        shown.assert_page(403, "Another website sent you here. Go on if you want to log in.");
        assert!(
            decoded(&shown.text).contains("href=\"/auth/oidc/start?next=%2Fa%26b\">Log in with Key & Cloak</a>"),
            "{}",
            shown.text
        );
    }
    assert_eq!(browser.cookies.len(), 0);
    // A page of this server, and browsers over plain http, which don't say.
    for site in [Some("same-origin"), None] {
        browser.open_from("/auth/oidc/start", site).await.leads_to();
    }
}

#[tokio::test]
async fn over_https_the_cookies_are_of_the_host_alone() {
    let issuer = Issuer::start();
    let server = issuer
        .server_for_browsers(|settings| {
            settings.trusted_proxy = vec!["127.0.0.0/8".parse().unwrap()];
            settings.links.base_url = Some("https://chat.example.org".into());
        })
        .await;
    let mut browser = Browser::of(&server);
    browser.client = browser.client.with("x-forwarded-proto", "https");
    let shown = browser.open("/auth/oidc/start?next=/channels").await;
    assert!(
        shown.cookies[0].starts_with("__Host-tidings-")
            && shown.cookies[0].ends_with("; Path=/; Max-Age=600; HttpOnly; SameSite=Lax; Secure")
    );
    let (_, back) = issuer.log_in(&shown.leads_to(), json!({}));
    let back = back.strip_prefix("https://chat.example.org").unwrap();
    // Over plain http it is not looked at.
    let mut plain = Browser { cookies: browser.cookies.clone(), client: browser.client.with("x-forwarded-proto", "http") };
    plain.open(back).await.assert_page(401, NOT_BEGUN);
    assert_eq!(browser.open(back).await.leads_to(), "https://chat.example.org/sign-in?next=%2Fchannels");
    assert!(browser.cookies.keys().all(|name| name.starts_with("__Host-tidings-")));
}

#[tokio::test]
async fn clients_learn_where_browsers_log_in() {
    let issuer = Issuer::start();
    for (name, shown) in [(None, "localhost"), (Some("Staff"), "Staff")] {
        let server = issuer.server_for_browsers(|settings| settings.federated.oidc_name = name.map(Into::into)).await;
        let login = server.anonymous().get("/features").await.expect(200)["data"]["login"].take();
        let url = format!("{}/auth/oidc/start", server.origin);
        assert_eq!(login["openid_connect_start"], json!({ "name": shown, "url": url }));
    }
    // Id tokens may log in without it, and it without them.
    let server = issuer.server().await;
    let login = server.anonymous().get("/features").await.expect(200)["data"]["login"].take();
    assert_eq!([&login["openid_connect"], &login["openid_connect_start"]], [&json!(true), &Value::Null]);
    for server in [server, Server::start().await] {
        for path in ["/auth/oidc/start?next=/channels", "/auth/oidc/callback?code=x&state=y"] {
            let shown = Browser::of(&server).open(path).await;
            shown.assert_page(401, "This server has no log-in by an identity provider.");
            assert!(!shown.text.contains("oidc"), "{}", shown.text);
        }
    }
    let server = issuer.server_for_browsers(|settings| settings.federated.google_client_id.clear()).await;
    let body = json!({ "id_token": issuer.token(json!({})) });
    server.anonymous().post("/auth/google", body).await.expect(200);
    Browser::of(&server).log_in(&issuer, json!({ "jti": "x" })).await.leads_to();
}

#[tokio::test]
async fn failed_log_ins_count_towards_the_rate_of_their_network_and_good_ones_do_not() {
    let issuer = Issuer::start();
    let server = issuer.server_for_browsers(|settings| settings.rate_limit = Switch::On).await;
    let mut browser = Browser::of(&server);
    for _ in 0..30 {
        browser.begin("/").await;
    }
    let answers = join_all((0..60).map(|_| async { Browser::of(&server).open("/auth/oidc/callback?code=x&state=y").await }));
    let refused: Vec<_> = answers.await.into_iter().filter(|shown| shown.status == 429).collect();
    assert!(!refused.is_empty() && refused[0].headers.contains_key("retry-after"));
    refused[0].assert_page(429, "Too many requests, try again in 1 seconds.");
}

#[test]
fn a_secret_needs_its_client() {
    let mut settings: Federated = Settings::for_folder(std::path::Path::new("unused")).federated;
    settings.oidc_client_secret = Some(SECRET.into());
    let refused = tidings::issuer::Issuer::new(&settings, &Authorities::read(None).unwrap()).err().unwrap();
    assert_eq!(refused.to_string(), "--oidc-client-secret needs --oidc-client-id");
}
