//! What proves that a page of this server sends a cookie (decisions, section 15): without it, the request is as one without a
//! cookie, and sets none.

use serde_json::json;
use tidings::config::Settings;

use crate::{
    harness::{Client, PASSWORD, Reply, Server, email},
    socket::Socket,
};

const BASE: &str = "http://chat.example.org:8080";

/// A server that is reached under a name, and a browser at it.
async fn named(change: impl FnOnce(&mut Settings)) -> (Server, Client) {
    let server = Server::with(|settings| {
        settings.links.base_url = Some(BASE.into());
        change(settings);
    });
    let server = server.await;
    server.register("ada").await;
    let page = server.anonymous().with("origin", BASE).with("tidings-client", "1");
    let reply = log_in(&page).await;
    let browser = page.with("cookie", &reply.kept_cookies());
    reply.expect(200);
    (server, browser)
}

async fn log_in(page: &Client) -> Reply {
    page.post("/auth/login", json!({ "email": email("ada"), "password": PASSWORD, "cookie": true })).await
}

/// The statuses of a read, a write and a log-in by cookie that send these headers beside the cookie.
async fn statuses(browser: &Client, headers: &[(&'static str, &str)]) -> [u16; 3] {
    let bare = browser.without("origin").without("sec-fetch-site").without("tidings-client").without("host");
    let client = headers.iter().fold(bare, |client, (name, value)| {
        let mut client = client;
        client.headers.push((name, (*value).to_owned()));
        client
    });
    let read = client.get("/profile").await.status;
    let write = client.patch("/profile", json!({ "first_name": "Ada" })).await.status;
    let logged_in = log_in(&client.without("cookie")).await;
    assert_eq!(logged_in.cookies().len(), if logged_in.status == 200 { 2 } else { 0 });
    [read, write, logged_in.status]
}

const COUNTS: [u16; 3] = [200, 200, 200];
const COUNTS_NOT: [u16; 3] = [401, 401, 403];

const SITE: &str = "sec-fetch-site";
const CLIENT: &str = "tidings-client";
const ORIGIN: &str = "origin";
const HOST: &str = "host";
const SOCKET: &str = "/connection/websocket";

#[tokio::test]
async fn a_cookie_counts_only_with_proof_that_a_page_of_this_server_sends_it() {
    let (server, browser) = named(|_| {}).await;
    let sessions = server.count("sessions");
    let mut begun = 0;
    for (headers, expected) in [
        (&[(SITE, "same-origin")][..], COUNTS),
        (&[(SITE, "same-origin"), (ORIGIN, BASE)], COUNTS),
        (&[(SITE, "same-origin"), (CLIENT, "1")], COUNTS),
        (&[(CLIENT, "1")], COUNTS),
        (&[(CLIENT, "")], COUNTS),
        (&[(CLIENT, "1"), (ORIGIN, BASE)], COUNTS),
        (&[(CLIENT, "1"), (ORIGIN, "HTTP://CHAT.EXAMPLE.ORG:8080")], COUNTS),
        // No proof.
        (&[], COUNTS_NOT),
        (&[(ORIGIN, BASE)], COUNTS_NOT),
        (&[(SITE, "same-site")], COUNTS_NOT),
        (&[(SITE, "cross-site")], COUNTS_NOT),
        (&[(SITE, "none")], COUNTS_NOT),
        (&[(SITE, "")], COUNTS_NOT),
        // A browser that says where a request comes from knows better.
        (&[(SITE, "same-site"), (CLIENT, "1")], COUNTS_NOT),
        (&[(SITE, "cross-site"), (CLIENT, "1"), (ORIGIN, BASE)], COUNTS_NOT),
        (&[(SITE, "same-origin"), (SITE, "cross-site")], COUNTS_NOT),
        // Another page says that it is one.
        (&[(SITE, "same-origin"), (ORIGIN, "null")], COUNTS_NOT),
        (&[(CLIENT, "1"), (ORIGIN, "null")], COUNTS_NOT),
        (&[(CLIENT, "1"), (ORIGIN, "")], COUNTS_NOT),
        (&[(CLIENT, "1"), (ORIGIN, "http://evil.example")], COUNTS_NOT),
        (&[(CLIENT, "1"), (ORIGIN, "http://chat.example.org:8081")], COUNTS_NOT),
        (&[(CLIENT, "1"), (ORIGIN, "http://chat.example.org")], COUNTS_NOT),
        (&[(CLIENT, "1"), (ORIGIN, "https://chat.example.org:8080")], COUNTS_NOT),
        (&[(CLIENT, "1"), (ORIGIN, "http://chat.example.org:8080.evil.example")], COUNTS_NOT),
        (&[(CLIENT, "1"), (ORIGIN, BASE), (ORIGIN, "http://evil.example")], COUNTS_NOT),
    ] {
        begun += usize::from(expected == COUNTS);
        assert_eq!(statuses(&browser, headers).await, expected, "{headers:?}");
    }
    assert_eq!(server.count("sessions") - sessions, begun as i64, "what was refused began no session");
}

#[tokio::test]
async fn an_origin_that_equals_the_host_is_own_only_for_an_ip_address() {
    let (_server, browser) = named(|_| {}).await;
    let own = |origin: &'static str, host: &'static str| [(CLIENT, "1"), (ORIGIN, origin), (HOST, host)];
    for (headers, expected) in [
        (own("http://192.0.2.7:8080", "192.0.2.7:8080"), COUNTS),
        (own("http://192.0.2.7", "192.0.2.7"), COUNTS),
        (own("http://[2001:db8::7]:8080", "[2001:db8::7]:8080"), COUNTS),
        (own("http://[2001:db8::7]:8080", "[2001:DB8::7]:8080"), COUNTS),
        (own("http://192.0.2.7:8081", "192.0.2.7:8080"), COUNTS_NOT),
        (own("http://192.0.2.7", "192.0.2.7:8080"), COUNTS_NOT),
        (own("http://192.0.2.8:8080", "192.0.2.7:8080"), COUNTS_NOT),
        // The same host over https is another server, as far as this one knows.
        (own("https://192.0.2.7:8080", "192.0.2.7:8080"), COUNTS_NOT),
        // A name that was made to lead here (DNS rebinding).
        (own("http://rebound.example:8080", "rebound.example:8080"), COUNTS_NOT),
        (own("http://192.0.2.7.rebound.example:8080", "192.0.2.7.rebound.example:8080"), COUNTS_NOT),
        (own("http://localhost:8080", "localhost:8080"), COUNTS_NOT),
        // The host adds nothing to the base URL's own origin, and takes nothing away.
        (own(BASE, "rebound.example:8080"), COUNTS),
    ] {
        assert_eq!(statuses(&browser, &headers).await, expected, "{headers:?}");
    }
}

#[tokio::test]
async fn a_server_of_this_machine_alone_is_own_under_all_names_of_it() {
    let server = Server::start().await;
    let port = server.origin.rsplit(':').next().unwrap().to_owned();
    let browser = server.browser("ada").await;
    for (host, expected) in [("localhost", 200), ("127.0.0.1", 200), ("[::1]", 200), ("rebound.example", 401)] {
        let origin = format!("http://{host}:{port}");
        let reply = browser.with(ORIGIN, &origin).with(HOST, &format!("{host}:{port}")).get("/profile").await;
        assert_eq!(reply.status, expected, "{origin}");
    }
    let other = browser.with(ORIGIN, "http://localhost:9").with(SITE, "same-site");
    other.get("/profile").await.expect(401);
}

/// Pages of allowed origins work with bearer tokens: their browsers send them no credentials' permission, and the server counts
/// no cookie from there.
#[tokio::test]
async fn no_other_origin_is_allowed_to_send_credentials_or_the_clients_header() {
    for allowed in ["https://other.example.org", "*"] {
        let (server, browser) = named(|settings| settings.allowed_origin = vec![allowed.into()]).await;
        let origin = "https://other.example.org";
        let elsewhere = browser.with(ORIGIN, origin);
        for path in ["/profile", "/auth/login"] {
            let preflight = elsewhere.without(CLIENT).with("access-control-request-method", "POST");
            let preflight = preflight.with("access-control-request-headers", "content-type,tidings-client");
            let reply = preflight.call("OPTIONS", path, None).await;
            assert_eq!(reply.status, 204);
            let header = |name: &str| reply.headers.get(name).map(|value| value.to_str().unwrap().to_owned());
            assert_eq!(header("access-control-allow-origin").as_deref(), Some(origin));
            let headers = header("access-control-allow-headers").unwrap();
            let tus = "tus-resumable, upload-length, upload-metadata, upload-offset, x-http-method-override";
            let all = format!("authorization, content-type, mcp-protocol-version, tidings-user, {tus}, x-notification-token");
            assert_eq!(headers, all);
            assert_eq!(header("access-control-allow-credentials"), None);
        }
        assert_eq!(statuses(&browser, &[(CLIENT, "1"), (ORIGIN, origin)]).await, COUNTS_NOT);
        assert_eq!(statuses(&browser, &[(SITE, "same-site"), (ORIGIN, origin)]).await, COUNTS_NOT);
        let answered = elsewhere.get("/profile").await;
        assert!(!answered.headers.contains_key("access-control-allow-credentials"));
        // A page of the server itself needs no permission, and a stranger gets none.
        let preflight = server.anonymous().with(ORIGIN, "https://evil.example").with("access-control-request-method", "POST");
        let reply = preflight.call("OPTIONS", "/profile", None).await;
        assert_eq!(reply.headers.contains_key("access-control-allow-origin"), allowed == "*");
    }
}

#[tokio::test]
async fn only_one_cookie_of_this_server_by_its_name_counts() {
    let (server, browser) = named(|_| {}).await;
    let (name, token) = {
        let cookies = &browser.headers.iter().find(|(name, _)| *name == "cookie").unwrap().1;
        let (name, value) = cookies.split(';').next().unwrap().split_once('=').unwrap();
        (name.to_owned(), value.to_owned())
    };
    for (cookies, expected) in [
        (format!("{name}={token}"), 200),
        (format!("other=1; {name}={token}; theme=dark"), 200),
        (format!("other;{name}={token}"), 200),
        // Two of the name: which of them another host has set can't be told.
        (format!("{name}={token}; {name}={token}"), 401),
        (format!("{name}=planted; {name}={token}"), 401),
        // Another instance's, another scheme's, another purpose's.
        (format!("tidings-00000000={token}"), 401),
        (format!("{name}-device={token}"), 401),
        (format!("__Host-{name}={token}"), 401),
        (format!("{}={token}", name.to_uppercase()), 401),
        (format!("{name}={token}x"), 401),
        (format!("{name}="), 401),
        (name.clone(), 401),
        (String::new(), 401),
    ] {
        browser.with("cookie", &cookies).get("/profile").await.expect(expected);
    }
    // The mark of the device logs nobody in, and neither does a token for push.
    let push = browser.connection_token().await;
    browser.with("cookie", &format!("{name}={push}")).get("/profile").await.expect(401);
    drop(server);
}

/// Each case: the base URL, whether the peer is a trusted proxy, its `X-Forwarded-Proto`, and whether that is https.
#[tokio::test]
async fn over_https_the_cookie_is_of_the_host_alone() {
    for (base, is_trusted, forwarded, is_https) in [
        ("http://chat.example.org", false, None, false),
        ("https://chat.example.org", false, None, true),
        ("https://chat.example.org", true, None, true),
        ("https://chat.example.org", true, Some("https"), true),
        ("https://chat.example.org", true, Some("http"), false),
        ("http://chat.example.org", true, Some("HTTPS"), true),
        ("http://chat.example.org", false, Some("https"), false),
        ("https://chat.example.org", false, Some("http"), true),
    ] {
        let case = format!("{base} {is_trusted} {forwarded:?}");
        let server = Server::with(|settings| {
            settings.links.base_url = Some(base.into());
            if is_trusted {
                settings.trusted_proxy = vec!["127.0.0.0/8".parse().unwrap()];
            }
        });
        let server = server.await;
        server.register("ada").await;
        let page = server.anonymous().with(SITE, "same-origin").with(ORIGIN, base);
        let page = forwarded.map_or(page.clone(), |scheme| page.with("x-forwarded-proto", scheme));
        let reply = log_in(&page).await;
        for cookie in reply.cookies() {
            assert_eq!(cookie.starts_with("__Host-tidings-"), is_https, "{case}: {cookie}");
            assert_eq!(cookie.ends_with("; Secure"), is_https, "{case}: {cookie}");
            assert!(!cookie.to_lowercase().contains("domain"), "{cookie}");
        }
        let cookies = reply.kept_cookies();
        page.with("cookie", &cookies).get("/profile").await.expect(200);
        // Another host of the domain, or a page over plain http, could have set the other.
        let other = if is_https { cookies.replace("__Host-", "") } else { cookies.replace("tidings-", "__Host-tidings-") };
        page.with("cookie", &other).get("/profile").await.expect(401);
        server.stop().await;
    }
}

/// A socket's caller is who the connection token says, and nobody without one. Its handshake carries the browser's cookies.
#[tokio::test]
async fn a_handshake_does_not_look_at_cookies() {
    let (server, browser) = named(|_| {}).await;
    let grace = server.user("grace").await;
    let request = browser.with(SITE, "same-origin").request("GET", SOCKET);
    let request = request.header("connection", "upgrade").header("upgrade", "websocket");
    let request = request.header("sec-websocket-version", "13").header("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ==");
    let reply = request.send().await.unwrap();
    assert_eq!((reply.status().as_u16(), reply.headers().contains_key("set-cookie")), (101, false));

    // With the cookie and without a token, the socket is nobody's.
    let mut socket = Socket::open_with(&browser, SOCKET, browser.headers.clone()).await.unwrap();
    socket.order("connect", json!({})).await;
    assert_eq!(socket.closed().await, 3501);
    // With another user's token, it is that user's.
    let mut socket = Socket::open_with(&browser, SOCKET, browser.headers.clone()).await.unwrap();
    let connected = socket.command("connect", json!({ "token": grace.connection_token().await })).await;
    assert!(connected["connect"]["client"].is_string(), "{connected}");
    let organisation = grace.organisation("Looms").await;
    let (channel, token) = (grace.personal(&organisation), grace.subscription_token(&grace.personal(&organisation)).await);
    let subscribed = socket.command("subscribe", json!({ "channel": channel, "token": token })).await;
    assert!(subscribed["subscribe"].is_object(), "{subscribed}");
    // The log-out of the cookie's session is nothing to it.
    browser.post("/auth/logout", json!({})).await.expect(200);
    let general = grace.general(&organisation).await;
    grace.call("POST", &format!("/channels/{general}/star"), None).await.expect(200);
    assert_eq!(socket.on(&channel).await["data"]["channels_id"], general);
}

#[tokio::test]
async fn a_page_at_an_ip_address_may_open_sockets_at_it() {
    let (server, browser) = named(|_| {}).await;
    let anybody = server.anonymous();
    for (origin, host, is_allowed) in [
        (BASE, "192.0.2.7:8080", true),
        ("http://192.0.2.7:8080", "192.0.2.7:8080", true),
        ("http://192.0.2.7:8081", "192.0.2.7:8080", false),
        ("https://192.0.2.7:8080", "192.0.2.7:8080", false),
        ("http://rebound.example:8080", "rebound.example:8080", false),
    ] {
        let headers = [(ORIGIN, origin.to_owned()), (HOST, host.to_owned())];
        assert_eq!(Socket::open_with(&anybody, SOCKET, headers).await.is_ok(), is_allowed, "{origin} at {host}");
    }
    drop(browser);
}
