//! Log-in of browsers at an OpenID Connect issuer, by authorization code.

use std::{collections::BTreeMap, time::Duration};

use base64::{Engine, prelude::BASE64_STANDARD};
use futures_util::future::join_all;
use reqwest::{header::HeaderMap, redirect::Policy};
use serde_json::{Value, json};
use tidings::{
    config::{Federated, Registration, Settings, Switch},
    tls::Authorities,
};
use url::{Position, Url};

use super::issuer::{CLIENT, Issuer, SECRET};
use crate::harness::{Client, Server, email, encoded, unknown_id};

/// A browser that follows no redirect by itself.
struct Browser {
    client: Client,
    cookies: BTreeMap<String, String>,
}

/// What a browser got.
struct Shown {
    status: u16,
    headers: HeaderMap,
    /// The values of `Set-Cookie`.
    cookies: Vec<String>,
    text: String,
}

impl Shown {
    /// Where the answer sends the browser.
    #[track_caller]
    fn leads_to(&self) -> String {
        assert_eq!(self.status, 303, "{}", self.text);
        assert_eq!([&self.headers["cache-control"], &self.headers["referrer-policy"]], ["no-store", "no-referrer"]);
        self.headers["location"].to_str().unwrap().to_owned()
    }

    /// The path that the web client goes on to, once it has erased what it had shown somebody else.
    #[track_caller]
    fn goes_on_to(&self, server: &Server) -> String {
        let entrance = Url::parse(&self.leads_to()).unwrap();
        assert_eq!(&entrance[..Position::AfterPath], format!("{}/sign-in", server.origin));
        let parameters: Vec<_> = entrance.query_pairs().collect();
        let [(name, next)] = parameters.as_slice() else { panic!("{parameters:?}") };
        assert_eq!(name, "next");
        next.clone().into_owned()
    }

    /// The answer is a page for people that says this, and nobody is logged in.
    #[track_caller]
    fn assert_page(&self, status: u16, says: &str) {
        assert_eq!(self.status, status, "{}", self.text);
        assert!(decoded(&self.text).contains(&format!("<p role=\"status\">{says}</p>")), "{}", decoded(&self.text));
        assert_eq!(self.headers["content-type"], "text/html; charset=utf-8");
        assert!(self.headers["content-security-policy"].to_str().unwrap().contains("default-src 'none'"));
        assert_eq!([&self.headers["cache-control"], &self.headers["referrer-policy"]], ["no-store", "no-referrer"]);
        assert_eq!(self.headers["cross-origin-opener-policy"], "same-origin");
        assert!(self.cookies.iter().all(|cookie| cookie.contains("Max-Age=0")), "{:?}", self.cookies);
    }
}

/// The text of a page, with characters in place of their references.
fn decoded(html: &str) -> String {
    let mut parts = html.split('&');
    let mut text = parts.next().unwrap_or_default().to_owned();
    for (reference, rest) in parts.map(|part| part.split_once(';').unwrap()) {
        let named = ["amp", "lt", "gt", "quot", "apos"]
            .iter()
            .position(|name| *name == reference)
            .map(|at| ['&', '<', '>', '"', '\''][at]);
        text.push(named.unwrap_or_else(|| char::from_u32(reference.trim_start_matches('#').parse().unwrap()).unwrap()));
        text += rest;
    }
    text
}

impl Browser {
    fn of(server: &Server) -> Browser {
        let http = reqwest::Client::builder().tls_certs_only([]).redirect(Policy::none()).build().unwrap();
        Browser { client: Client { http, ..server.anonymous() }, cookies: BTreeMap::new() }
    }

    /// Opens an address of the server, as one that its user typed.
    async fn open(&mut self, address: &str) -> Shown {
        self.open_from(address, Some("none")).await
    }

    /// Opens an address; `site` is what the browser says of the page with the link.
    async fn open_from(&mut self, address: &str, site: Option<&str>) -> Shown {
        let path = address.strip_prefix(&self.client.origin).unwrap_or(address);
        let mut request = self.client.request("GET", path);
        if let Some(site) = site {
            request = request.header("sec-fetch-site", site);
        }
        let cookies: Vec<_> = self.cookies.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let response = request.header("cookie", cookies.join("; ")).send().await.unwrap();
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let set: Vec<String> = headers.get_all("set-cookie").iter().map(|value| value.to_str().unwrap().to_owned()).collect();
        for cookie in &set {
            let (name, rest) = cookie.split_once('=').unwrap();
            let (value, attributes) = rest.split_once("; ").unwrap();
            match attributes.contains("Max-Age=0") {
                true => self.cookies.remove(name),
                false => self.cookies.insert(name.to_owned(), value.to_owned()),
            };
        }
        Shown { status, headers, cookies: set, text: response.text().await.unwrap() }
    }

    /// Begins a log-in: the address at the issuer.
    async fn begin(&mut self, next: &str) -> String {
        self.open(&format!("/auth/oidc/start?next={}", encoded(next))).await.leads_to()
    }

    /// Logs in as Ada, with further claims in her id token: what the browser shows then.
    async fn log_in(&mut self, issuer: &Issuer, claims: Value) -> Shown {
        let address = self.begin("/channels").await;
        self.open_from(&issuer.log_in(&address, claims).1, Some("cross-site")).await
    }

    /// The cookies of log-ins that were begun.
    fn begun(&self) -> Vec<&String> {
        self.cookies.keys().filter(|name| name.contains("-log-in-")).collect()
    }

    /// The address of the account that a page of the server is logged in to.
    async fn email(&self) -> Value {
        let cookies: Vec<_> = self.cookies.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let page = self.client.own_page().with("cookie", &cookies.join("; "));
        page.get("/profile").await.expect(200)["data"]["email"].take()
    }
}

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
