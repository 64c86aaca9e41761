//! Addresses and names that look like others: one form for each domain, and no character that nobody sees.

use serde_json::json;

use crate::harness::{PASSWORD, Reply, Server, text};

const UNICODE: &str = "ada@münchen.example";
const ASCII: &str = "ada@xn--mnchen-3ya.example";
const HIDDEN: &str = "ada@exam\u{200b}ple.org";

async fn register(server: &Server, email: &str, username: &str) -> Reply {
    let body = json!({ "email": email, "password": PASSWORD, "username": username });
    server.anonymous().post("/auth/register", body).await
}

async fn log_in(server: &Server, email: &str) -> Reply {
    server.anonymous().post("/auth/login", json!({ "email": email, "password": PASSWORD })).await
}

#[tokio::test]
async fn both_spellings_of_a_domain_are_the_same_account() {
    let server = Server::start().await;
    register(&server, UNICODE, "ada").await.expect(201);
    register(&server, ASCII, "twin").await.expect(422);
    for spelling in [UNICODE, ASCII, "Ada@MÜNCHEN.example"] {
        let session = log_in(&server, spelling).await.data(200, "Login successful");
        assert_eq!(session["user"]["email"], ASCII, "{spelling}");
    }
    let owner = server.user("grace").await;
    let organisation = owner.organisation("Engines").await;
    owner.invite(&organisation, UNICODE, "member").await;
    let again = owner.post("/invite", json!({ "org_id": organisation, "emails": [ASCII], "role": "member" })).await.expect(201);
    assert_eq!(text(&again["data"]["errors"][0]), format!("An invitation has already been sent to {ASCII}"));
}

#[tokio::test]
async fn an_address_that_only_looks_like_another_is_refused() {
    let server = Server::start().await;
    register(&server, "ada@example.org", "ada").await.expect(201);
    let (hidden, mixed) = (" without invisible characters", " that doesn't mix Latin letters with Cyrillic or Greek ones");
    for (twin, says) in [
        (HIDDEN, hidden),
        ("a\u{200b}da@example.org", hidden),
        ("ad\u{430}@example.org", mixed),
        ("ada@xn--example.org", ", not "),
    ] {
        let refused = register(&server, twin, "twin").await.expect(400);
        assert!(text(&refused["message"]).starts_with(&format!("email must be an e-mail address{says}")), "{refused}");
    }
    register(&server, "ada@\u{435}xample.org", "twin").await.expect(201);
    assert_eq!(server.number("select count(*) from users where email = 'ada@xn--xample-2of.org'"), 1, "it is another address");
}

#[tokio::test]
async fn accounts_with_older_addresses_can_still_be_used() {
    let server = Server::start().await;
    for (name, stored) in
        [("ada", UNICODE), ("grace", HIDDEN), ("joan", "joan@bücher.example"), ("twin", "joan@xn--bcher-kva.example")]
    {
        server.register(name).await;
        server.sql(&format!("update users set email = '{stored}' where username = '{name}'"));
    }
    server.sql("delete from meta where key = 'domains_in_ascii'"); // as an earlier version left it
    let server = server.restart().await;
    let name = async |address: &str| text(&log_in(&server, address).await.data(200, "Login successful")["user"]["username"]);
    assert_eq!([name(UNICODE).await, name(ASCII).await], ["ada", "ada"]);
    assert_eq!(name(" ADA@exam\u{200b}ple.org").await, "grace");
    assert_eq!([name("joan@bücher.example").await, name("joan@xn--bcher-kva.example").await], ["twin", "twin"]);
    assert_eq!(server.number("select count(*) from users where email = 'joan@bücher.example'"), 1, "what is taken stays");
    log_in(&server, "ada@example.org").await.expect(401);
}

#[tokio::test]
async fn names_have_no_invisible_characters_but_joiners_between_letters_or_emoji() {
    let server = Server::start().await;
    let ada = server.user("ada").await;
    let organisation = ada.organisation("Engines").await;
    for (name, good) in [("A\u{200b}da", false), ("Ada\u{200d}", false), ("می\u{200c}خواهم", true), ("👩\u{200d}🔬", true)]
    {
        let (profile, named) = if good { (200, 200) } else { (422, 400) };
        ada.patch("/profile", json!({ "first_name": name })).await.expect(profile);
        ada.put(&format!("/organisations/{organisation}"), json!({ "name": name })).await.expect(named);
        let channel = json!({ "name": name, "organisation_id": organisation });
        assert_eq!(ada.post("/channels", channel).await.status < 300, good, "{name:?}");
    }
}
