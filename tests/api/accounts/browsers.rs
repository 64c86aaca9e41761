//! Sessions that browsers keep in cookies: how they begin, what they are good for, and how they end. What proves that a page of
//! this server sends a cookie is tested in [`super::browser_proofs`].

use std::time::Duration;

use futures_util::{StreamExt, stream::FuturesUnordered};
use serde_json::{Value, json};
use tidings::{config::Switch, error::Code};

use super::issuer::Issuer;
use crate::{
    harness::{Client, DAY, PASSWORD, Reply, Server, email, text, unknown_id},
    shapes::{SESSION, assert_shape},
    socket::Socket,
};

/// The cookies of a log-in, by name.
fn kept(reply: &Reply) -> Vec<(String, String)> {
    let pair = |cookie: &str| {
        let (name, rest) = cookie.split_once('=').unwrap();
        let (value, attributes) = rest.split_once("; ").unwrap();
        assert!(value.len() > 100, "{cookie}");
        (name.to_owned(), attributes.to_owned())
    };
    reply.cookies().into_iter().map(pair).collect()
}

/// No token is in the answer, and the cookies are the session's.
#[track_caller]
fn assert_kept_by_cookie(server: &Server, reply: Reply, words: &str) -> (Client, Value) {
    let names: Vec<_> = kept(&reply).into_iter().map(|(name, _)| name).collect();
    assert_eq!(names.len(), 2, "{names:?}");
    assert_eq!(names[1], format!("{}-device", names[0]));
    let browser = server.anonymous().with_cookies(&reply);
    let data = reply.data(200, words);
    assert_shape(&data, SESSION);
    assert_eq!([&data["access_token"], &data["notification_token"], &data["device_token"]], ["", "", ""]);
    (browser, data)
}

#[tokio::test]
async fn a_log_in_that_asks_for_a_cookie_gets_one_for_the_time_of_the_session() {
    let server = Server::with(|settings| settings.session_days = 7).await;
    server.register("ada").await;
    let reply = server.log_in_by_cookie("ada").await;
    let instance = text_of(&server, "select value from meta where key = 'instance'");
    assert_eq!(instance.len(), 8);
    let attributes = |seconds: u32| format!("Path=/; Max-Age={seconds}; HttpOnly; SameSite=Lax");
    assert_eq!(
        kept(&reply),
        [
            (format!("tidings-{instance}"), attributes(7 * 24 * 3600)),
            (format!("tidings-{instance}-device"), attributes(365 * 24 * 3600))
        ]
    );
    let (browser, data) = assert_kept_by_cookie(&server, reply, "Login successful");
    assert_eq!(browser.get("/profile").await.expect(200)["data"]["email"], email("ada"));
    assert_eq!(data["user"]["email"], email("ada"));

    server.clock.advance(7 * DAY - Duration::from_secs(60));
    browser.get("/profile").await.expect(200);
    server.clock.advance(Duration::from_secs(60));
    browser.get("/profile").await.expect(401);
}

fn text_of(server: &Server, query: &str) -> String {
    let database = rusqlite::Connection::open(server.folder().join("tidings.db")).unwrap();
    database.query_row(query, [], |row| row.get(0)).unwrap()
}

#[tokio::test]
async fn a_log_in_that_asks_for_no_cookie_gets_none() {
    let server = Server::start().await;
    server.register("ada").await;
    for cookie in [json!(false), Value::Null] {
        let body = json!({ "email": email("ada"), "password": PASSWORD, "cookie": cookie });
        let reply = server.anonymous().own_page().post("/auth/login", body).await;
        assert!(reply.cookies().is_empty());
        assert!(!text(&reply.data(200, "Login successful")["access_token"]).is_empty());
    }
    let body = json!({ "email": email("ada"), "password": PASSWORD, "cookie": "yes" });
    let refused = server.anonymous().own_page().post("/auth/login", body).await.expect(422);
    assert_eq!(refused["message"], "cookie must be a boolean");
}

#[tokio::test]
async fn every_way_to_log_in_may_end_with_a_cookie() {
    let issuer = Issuer::start();
    let server = issuer.server().await;
    let page = server.anonymous().own_page();

    let ada = server.user("ada").await;
    page.post("/auth/magic-link", json!({ "email": ada.email })).await.expect(200);
    let link = server.mails(&ada.email, 2).await.pop().unwrap();
    let reply = page.post("/auth/magic-link/verify", json!({ "token": link.parameter("token"), "cookie": true })).await;
    let (browser, _) = assert_kept_by_cookie(&server, reply, "Login successful");
    assert_eq!(browser.get("/profile").await.expect(200)["data"]["id"], ada.user_id);
    let organisation = browser.organisation("Engines").await;
    let token = browser.invite(&organisation, "new@example.org", "member").await;

    let reply = page
        .post("/auth/google", json!({ "id_token": issuer.token(json!({ "email": "grace@example.org" })), "cookie": true }))
        .await;
    let (browser, _) = assert_kept_by_cookie(&server, reply, "Login successful");
    assert_eq!(browser.get("/profile").await.expect(200)["data"]["email"], "grace@example.org");

    let reply = page.post("/invite/verify", json!({ "token": token, "cookie": true })).await;
    let (browser, data) = assert_kept_by_cookie(&server, reply, "User invited successfully");
    assert!(!text(&data["user"]["password"]).is_empty(), "the password of a new account is shown once");
    browser.get(&format!("/organisations/{organisation}")).await.expect(200);
}

#[tokio::test]
async fn a_browser_that_accepts_an_invitation_keeps_its_session_in_a_cookie() {
    let server = Server::start().await;
    let ada = server.user("ada").await;
    let organisation = ada.organisation("Engines").await;
    let grace = server.browser("grace").await;
    let token = ada.invite(&organisation, &grace.email, "member").await;
    let reply = grace.post("/invite/verify", json!({ "token": token })).await;
    let (browser, _) = assert_kept_by_cookie(&server, reply, "User invited successfully");
    browser.get(&format!("/organisations/{organisation}")).await.expect(200);
    grace.get("/profile").await.expect(401); // the session before it has ended
}

#[tokio::test]
async fn a_log_in_ends_the_session_that_the_browser_kept_before() {
    let server = Server::start().await;
    let (former, grace) = (server.browser("ada").await, server.user("grace").await);
    let socket = Socket::connect(&former).await;
    let body = json!({ "email": grace.email, "password": PASSWORD, "cookie": true });
    let (now, _) = assert_kept_by_cookie(&server, former.post("/auth/login", body).await, "Login successful");
    assert_eq!(now.get("/profile").await.expect(200)["data"]["id"], grace.user_id);
    former.get("/profile").await.expect(401);
    assert_eq!(socket.closed().await, 3503);
    // A failed one does not.
    let body = json!({ "email": grace.email, "password": "wrong horse battery", "cookie": true });
    now.post("/auth/login", body).await.expect(401);
    now.get("/profile").await.expect(200);
}

#[tokio::test]
async fn a_session_by_cookie_may_do_all_that_one_by_bearer_may() {
    let server = Server::start().await;
    let browser = server.browser("ada").await;
    let organisation = browser.organisation("Engines").await;
    let channel = browser.general(&organisation).await;
    browser.say(&channel, &"x".repeat(40_000)).await; // more than a body without a session may have
    let head = browser.request("HEAD", "/api/v1/profile").send().await.unwrap();
    assert_eq!(head.status(), 200);

    // The token of the session is in no answer.
    let body = json!({ "current_org": organisation });
    let switched = browser.put("/users/switch-org", body).await.data(200, "Organisation switched successfully");
    assert_eq!(switched["access_token"], "");
    let slug = text(&switched["current_organisation_slug"]);
    let shown = browser.get(&format!("/users/switch-org/{slug}")).await.data(200, "Organisation retrieved successfully");
    assert_eq!(shown["access_token"], "");

    // Tokens for push are.
    let mut socket = Socket::listening(&browser, &[&channel]).await;
    let message = browser.say(&channel, "hello").await;
    assert_eq!(socket.on(&channel).await["id"], message);
}

#[tokio::test]
async fn log_out_takes_the_cookie_back_and_keeps_the_device_known() {
    let server = Server::start().await;
    let browser = server.browser("ada").await;
    let socket = Socket::connect(&browser).await;
    let reply = browser.post("/auth/logout", json!({})).await;
    assert_eq!(reply.headers["clear-site-data"], "\"cache\"", "nobody gets to the talk by Back; drafts stay");
    let name = browser.headers.iter().find(|(name, _)| *name == "cookie").unwrap().1.split('=').next().unwrap().to_owned();
    let expired = format!("{name}=; Path=/; Max-Age=0; HttpOnly; SameSite=Lax");
    assert_eq!(reply.cookies(), [expired.as_str()]);
    reply.done(200, "Logout successful");
    assert_eq!(socket.closed().await, 3503);

    // A cookie whose session has ended counts for nothing. It isn't taken back: the browser may have another by then.
    for late in [browser.get("/profile").await, browser.with("cookie", &format!("{name}=not.a.token")).get("/profile").await] {
        assert!(late.cookies().is_empty());
        late.expect(401);
    }
    browser.get("/blogs").await.expect(200);
    // From elsewhere it isn't looked at.
    let elsewhere = browser.with("sec-fetch-site", "cross-site").get("/profile").await;
    assert!(elsewhere.cookies().is_empty());
    elsewhere.expect(401);

    // A bearer's log-out has nothing to take back.
    let reply = server.log_in("ada", PASSWORD).await.own_page().post("/auth/logout", json!({})).await;
    assert!(reply.headers.get("clear-site-data").is_none(), "that browser's own session goes on");
    assert!(reply.cookies().is_empty());
    reply.expect(200);
}

#[tokio::test]
async fn a_session_by_cookie_ends_as_any_other() {
    let server = Server::start().await;
    let ada = server.user("ada").await;
    let mut browsers = Vec::new();
    for _ in 0..3 {
        browsers.push(server.anonymous().with_cookies(&server.log_in_by_cookie("ada").await));
    }
    // Ended from another device.
    let listed = ada.get(&format!("/users/{}/sessions", ada.user_id)).await.expect(200);
    let body = json!({ "session_id": listed["data"][0]["id"] });
    ada.put("/users/revoke-session", body).await.expect(200);
    browsers[2].get("/profile").await.expect(401);
    // A change of the password ends all but the one that changes it.
    let body = json!({ "old_password": PASSWORD, "new_password": "quiet harbour at dawn" });
    browsers[0].put("/auth/change-password", body).await.expect(200);
    browsers[0].get("/profile").await.expect(200);
    browsers[1].get("/profile").await.expect(401);
    ada.get("/profile").await.expect(401);
    // Disabling the account ends that, too.
    server.sql("update users set is_active = 0 where username = 'ada'");
    let restarted = server.restart().await;
    browsers[0].get("/profile").await.expect(401);
    restarted.stop().await;
}

#[tokio::test]
async fn beside_a_bearer_token_cookies_are_not_looked_at() {
    let server = Server::start().await;
    let (ada, grace) = (server.browser("ada").await, server.user("grace").await);
    let both = ada.with_token(grace.token.as_ref().unwrap());
    assert_eq!(both.get("/profile").await.expect(200)["data"]["id"], grace.user_id);
    let refused = ada.with_token("not.a.token").get("/profile").await;
    assert!(refused.cookies().is_empty());
    assert_eq!(refused.expect(401)["message"], "The access token is invalid or expired");
    let basic = ada.with("authorization", "Basic YTpi").get("/profile").await;
    assert_eq!(basic.expect(401)["message"], "A bearer token is required");
    // Nor does a log-in with a bearer end the session of the cookie.
    let body = json!({ "email": grace.email, "password": PASSWORD, "cookie": true });
    both.post("/auth/login", body).await.expect(200);
    ada.get("/profile").await.expect(200);
}

#[tokio::test]
async fn a_request_meant_for_another_user_is_409_and_does_nothing() {
    let server = Server::start().await;
    let grace = server.user("grace").await;
    for ada in [server.browser("ada").await, server.user("lin").await] {
        let meant_for = |user: &str| ada.with("tidings-user", user);
        for other in [grace.user_id.clone(), unknown_id(), "somebody".into(), String::new()] {
            let refused = meant_for(&other).patch("/profile", json!({ "first_name": "Changed" })).await;
            assert!(refused.cookies().is_empty());
            let refused = refused.refused(409, Code::OtherUser);
            assert_eq!(refused["message"], "This session is not of the user that Tidings-User names");
            meant_for(&other).post("/auth/logout", json!({})).await.expect(409);
        }
        let profile = meant_for(&ada.user_id.to_uppercase()).get("/profile").await.expect(200);
        assert_eq!(profile["data"]["first_name"], "");
        // An operation that needs no session is refused, too, if there is one.
        let verify = json!({ "token": "unknown" });
        meant_for(&grace.user_id).post("/invite/verify", verify.clone()).await.expect(409);
        // Without one, it is nobody's.
        server.anonymous().with("tidings-user", &grace.user_id).post("/invite/verify", verify).await.expect(400);
        server.anonymous().with("tidings-user", &grace.user_id).get("/profile").await.expect(401);
    }
    let by_notification = |user: &str| {
        let request =
            grace.request("GET", "/api/v1/realtime/connection").header("x-notification-token", &grace.notification_token);
        Reply::of(request.header("tidings-user", user), "GET /realtime/connection", "")
    };
    by_notification(&grace.user_id).await.expect(200);
    by_notification(&unknown_id()).await.expect(409);
}

/// As in `guesses.rs`, where a `device_token` in the body does it.
#[tokio::test]
async fn a_browser_is_known_by_its_cookie_while_somebody_guesses() {
    let server = Server::with(|settings| {
        settings.rate_limit = Switch::On;
        settings.trusted_proxy = vec!["127.0.0.0/8".parse().unwrap()];
    });
    let server = server.await;
    let browser = server.browser("ada").await.with("x-forwarded-for", "203.0.113.1");
    browser.post("/auth/logout", json!({})).await.expect(200);
    for guess in 0..101 {
        let from = format!("198.51.100.{}", guess / 10);
        let body = json!({ "email": email("ada"), "password": "wrong horse battery" });
        server.anonymous().with("x-forwarded-for", &from).post("/auth/login", body).await.expect(401);
    }
    // Eight at once: of those that have to wait, one a second is checked, four wait, and others are refused at once.
    let is_refused = async |client: &Client| {
        let body = json!({ "email": email("ada"), "password": PASSWORD, "cookie": true });
        let mut tries: FuturesUnordered<_> = (0..8).map(|_| client.post("/auth/login", body.clone())).collect();
        while let Some(reply) = tries.next().await {
            if reply.status == 429 {
                return true;
            }
        }
        false
    };
    let unknown = browser.without("cookie");
    assert!(is_refused(&unknown).await);
    assert!(!is_refused(&browser).await);
}
