//! Limits, each at the limit and one past it (SECURITY.md, *Bounds*).

use std::net::SocketAddr;

use serde_json::json;
use tidings::{
    clock::Clock,
    config::Settings,
    error::{Code, Error},
    id::{Share, UserId},
    wiring,
};

use crate::{
    harness::{Reply, Server, text, unknown_id},
    receiver::Receiver,
    socket::Socket,
    wire::{self, Wire},
};

const MEBIBYTE: usize = 1 << 20;

fn padded(value: &serde_json::Value, bytes: usize) -> String {
    let text = value.to_string();
    let spaces = " ".repeat(bytes - text.len());
    text + &spaces
}

#[tokio::test]
async fn a_frame_of_a_client_has_at_most_64_kibibytes() {
    let server = Server::start().await;
    let ada = server.user("ada").await;
    let command = |bytes: usize| padded(&json!({ "id": 9, "unsubscribe": { "channel": unknown_id() } }), bytes);
    let mut socket = Socket::connect(&ada).await;
    socket.send(&command(64 << 10)).await;
    assert_eq!(socket.reply(9).await["unsubscribe"], json!({}));
    socket.send(&command((64 << 10) + 1)).await;
    assert_eq!(socket.closed().await, 1009);
}

#[tokio::test]
async fn a_socket_has_at_most_128_subscriptions() {
    let server = Server::start().await;
    let ada = server.user("ada").await;
    let channel = ada.general(&ada.organisation("Engines").await).await;
    let threads = futures_util::future::join_all((0..129).map(|_| ada.say(&channel, "hello"))).await;
    let expiry = jiff::Timestamp::now().as_second() + 60;
    let mut socket = Socket::connect(&ada).await;
    for (number, thread) in threads.iter().enumerate() {
        let token = server.push_token(&json!({ "sub": ada.user_id, "channel": thread, "exp": expiry }));
        let reply = socket.command("subscribe", json!({ "channel": thread, "token": token })).await;
        if number < 128 {
            assert!(reply["subscribe"].is_object(), "{number}: {reply}");
        } else {
            assert_eq!(reply["error"], json!({ "code": 106, "message": "limit exceeded" }));
        }
    }
    let reply = socket.command("subscribe", json!({ "channel": "x", "token": "garbage" })).await;
    assert_eq!(reply["error"]["code"], 106, "whatever is asked for");
    assert_eq!(socket.command("unsubscribe", json!({ "channel": threads[0] })).await["unsubscribe"], json!({}));
    socket.subscribe(&threads[128]).await;
}

#[tokio::test]
async fn a_user_has_at_most_100_sockets() {
    let server = Server::start().await;
    let (ada, grace) = (server.user("ada").await, server.user("grace").await);
    let mut sockets = Vec::new();
    for _ in 0..100 {
        sockets.push(Socket::connect(&ada).await);
    }
    let mut one_more = Socket::open(&ada).await;
    one_more.order("connect", json!({ "token": ada.connection_token().await })).await;
    assert_eq!(one_more.closed().await, 3504);
    Socket::connect(&grace).await;
}

#[tokio::test]
async fn the_bots_of_a_user_have_at_most_100_sockets_together() {
    let server = Server::start().await;
    let ada = server.user("ada").await;
    let organisation = ada.organisation("Engines").await;
    let bots = [ada.bot(&organisation, "member").await, ada.bot(&organisation, "member").await];
    let mut sockets = Vec::new();
    for n in 0..100 {
        sockets.push(Socket::connect(&bots[n % 2]).await);
    }
    let mut one_more = Socket::open(&bots[0]).await;
    one_more.order("connect", json!({ "token": bots[0].connection_token().await })).await;
    assert_eq!(one_more.closed().await, 3504);
    Socket::connect(&ada).await;
}

/// A request that comes while a rate of requests is used up. All that the rate has regained is taken until the answer is there, and one
/// that had its turn nevertheless is sent again.
async fn refused_past_rate(server: &Server, share: Share, request: impl AsyncFn() -> Reply) -> Reply {
    for _ in 0..100 {
        let reply = tokio::select! {
            reply = request() => reply,
            () = async { loop {
                while server.app().limits.user(share).is_ok() {}
                tokio::task::yield_now().await;
            } } => unreachable!("it never ends"),
        };
        if reply.status == 429 {
            return reply;
        }
    }
    panic!("its rate is not {share:?}");
}

#[tokio::test]
async fn the_bots_of_a_user_have_one_rate_together() {
    let server = Server::with(|settings| settings.rate_limit = tidings::config::Switch::On).await;
    let ada = server.user("ada").await;
    let organisation = ada.organisation("Engines").await;
    let bots = [ada.bot(&organisation, "member").await, ada.bot(&organisation, "member").await];
    let share = Share::BotsOf(UserId(ada.user_id.parse().unwrap()));
    for bot in &bots {
        refused_past_rate(&server, share, async || bot.get("/users/organisations").await).await.refused(429, Code::RateLimited);
        ada.get("/users/organisations").await.expect(200);
    }
    let own = Share::Person(UserId(ada.user_id.parse().unwrap()));
    refused_past_rate(&server, own, async || ada.get("/users/organisations").await).await.refused(429, Code::RateLimited);
}

/// Bytes that the kernel buffers for a sending socket at most.
fn send_buffer() -> usize {
    let sizes = std::fs::read_to_string("/proc/sys/net/ipv4/tcp_wmem").unwrap();
    sizes.split_whitespace().next_back().unwrap().parse().unwrap()
}

#[tokio::test]
async fn a_slow_reader_is_disconnected_and_delays_nobody() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let channel = ada.general(&organisation).await;
    let wire = Wire::to(&server.origin).await;
    let slow = Socket::listening(&wire.carrying(&grace), &[&channel]).await;
    wire.cut();
    let mut quick = Socket::listening(&ada, &[&channel]).await;
    let content = "x".repeat(40_000);
    let (mut posts, mut listeners) = (0, json!(2));
    while listeners == 2 {
        ada.say(&channel, &content).await;
        assert_eq!(quick.on(&channel).await["content"], content);
        posts += 1;
        // As content and as message. A mebibyte waits, another is being sent; and it takes a moment to be let go.
        let bound = send_buffer() + 2 * wire::BUFFER as usize + 3 * MEBIBYTE;
        assert!(posts * 2 * content.len() < bound, "{posts} posts are held for it");
        listeners = quick.command("presence_stats", json!({ "channel": channel })).await["presence_stats"]["num_clients"].take();
    }
    // The server still waits for it, 5 s long, to take the reason.
    wire.mend();
    let (received, code) = slow.drained().await;
    assert!(received < posts, "what waited is dropped");
    assert_eq!(code, Some(3008));
    ada.say(&channel, "afterwards").await;
    assert_eq!(quick.on(&channel).await["content"], "afterwards");
}

#[tokio::test]
async fn a_hundred_posts_at_once_all_arrive() {
    let server = Server::with(|settings| settings.rate_limit = tidings::config::Switch::On).await;
    let ada = server.user("ada").await;
    let channel = ada.general(&ada.organisation("Engines").await).await;
    let mut socket = Socket::connect(&ada).await;
    socket.subscribe(&channel).await;
    let mut posted = futures_util::future::join_all((0..100).map(|_| ada.say(&channel, "hello"))).await;
    let mut heard = Vec::new();
    while heard.len() < posted.len() {
        heard.push(text(&socket.on(&channel).await["id"]));
    }
    posted.sort();
    heard.sort();
    assert_eq!(heard, posted);
}

#[tokio::test]
async fn a_change_waits_while_four_of_its_author_are_not_pushed() {
    let folder = tempfile::tempdir().unwrap();
    let app =
        wiring::open(&Settings::for_folder(folder.path()), SocketAddr::from(([127, 0, 0, 1], 80)), Clock::default()).unwrap();
    let (ada, grace) = (Share::Person(UserId::new()), Share::Person(UserId::new()));
    let change = async |author: Share| app.write_throttled(author, 0, |_| Ok(())).await.unwrap();
    let mut unpushed = Vec::new();
    for _ in 0..4 {
        unpushed.push(app.limits.change(ada.into()).await.unwrap());
    }
    let mut fifth = Box::pin(change(ada));
    tokio::select! {
        biased;
        () = &mut fifth => panic!("it does not wait"),
        () = change(grace) => {}
    }
    unpushed.pop();
    fifth.await;
    for _ in 0..20 {
        change(ada).await; // the one before was pushed to nobody, and gave its permit back
    }
    app.write_throttled(ada, 0, |_| Err::<(), _>(Error::OtherUser)).await.unwrap_err();
    change(ada).await;
    wiring::finish_writes(&app);
}

#[tokio::test]
async fn requests_can_be_limited_in_rate() {
    let server = Server::with(|settings| settings.rate_limit = tidings::config::Switch::On).await;
    let ada = server.user("ada").await;
    let own = Share::Person(UserId(ada.user_id.parse().unwrap()));
    let refused = refused_past_rate(&server, own, async || ada.get("/users/organisations").await).await;
    let wait: u64 = refused.headers["retry-after"].to_str().unwrap().parse().unwrap();
    assert!((1..=60).contains(&wait), "{wait}");
    refused.refused(429, Code::RateLimited);
}

#[tokio::test]
async fn failed_log_ins_are_limited_and_lock_nobody_out() {
    let server = Server::with(|settings| settings.rate_limit = tidings::config::Switch::On).await;
    server.register("ada").await;
    let anonymous = server.anonymous();
    let guess = |email: &str, password: &str| anonymous.post("/auth/login", json!({ "email": email, "password": password }));
    for _ in 0..10 {
        guess("ada@example.org", "wrong horse battery").await.expect(401);
    }
    let refused = guess("ada@example.org", "wrong horse battery").await;
    assert!(refused.headers.contains_key("retry-after"));
    refused.expect(429);
    guess("other@example.org", "wrong horse battery").await.expect(401);
}

#[tokio::test]
async fn behind_a_proxy_failed_log_ins_count_by_the_clients_address() {
    let server = Server::with(|settings| {
        settings.rate_limit = tidings::config::Switch::On;
        settings.trusted_proxy = vec!["127.0.0.0/8".parse().unwrap()];
    })
    .await;
    server.register("ada").await;
    let guess = async |forwarded: String| {
        let body = json!({ "email": "ada@example.org", "password": "wrong horse battery" });
        let request = server.anonymous().request("POST", "/api/v1/auth/login").json(&body);
        Reply::of(request.header("x-forwarded-for", forwarded), "POST /auth/login", "").await
    };
    for n in 0..10 {
        guess(format!("198.51.100.{n}, 203.0.113.1")).await.expect(401); // whatever the client itself claims
    }
    guess("203.0.113.1".into()).await.expect(429);
    guess("203.0.113.2".into()).await.expect(401);
    guess("203.0.113.1, 203.0.113.2, 127.0.0.9".into()).await.expect(401);
}

#[tokio::test]
async fn without_a_trusted_proxy_forwarded_addresses_are_ignored() {
    let server = Server::with(|settings| settings.rate_limit = tidings::config::Switch::On).await;
    server.register("ada").await;
    let guess = async |n: u32| {
        let body = json!({ "email": "ada@example.org", "password": "wrong horse battery" });
        let request = server.anonymous().request("POST", "/api/v1/auth/login").json(&body);
        Reply::of(request.header("x-forwarded-for", format!("203.0.113.{n}")), "POST /auth/login", "").await
    };
    for n in 0..10 {
        guess(n).await.expect(401);
    }
    guess(10).await.expect(429);
}

/// Somebody who registers a foreign address could otherwise make the server mail it, in words of their choice, each
/// time they stop a webhook.
#[tokio::test]
async fn the_owner_of_webhooks_that_stop_gets_few_mails_within_an_hour() {
    let server = Server::with(|settings| {
        settings.rate_limit = tidings::config::Switch::On;
        settings.allow_private_webhooks = vec!["127.0.0.0/8".parse().unwrap()];
    })
    .await;
    let ada = server.user("ada").await;
    let organisation = ada.organisation("Engines").await;
    let channel = ada.channel(&organisation, "engines", &[]).await;
    let gone = Receiver::start(&[410]).await;
    let hook = ada.hook(&channel, &gone.url).await;
    let personal = ada.personal(&organisation);
    let mut socket = Socket::listening(&ada, &[&personal]).await;
    let mut hooks = vec![hook];
    for _ in 0..2 {
        hooks.push(ada.hook(&channel, &gone.url).await);
        hooks.last().unwrap().set("inactive").await;
    }
    // One that stops again and again leaves mails for the others.
    for (hook, stops, mails) in [(&hooks[0], 3, 2), (&hooks[1], 3, 4), (&hooks[2], 2, 5)] {
        for n in 0..stops {
            hook.set("active").await;
            ada.say(&channel, &n.to_string()).await;
            for kind in ["unread_thread_change", "webhook_update"] {
                assert_eq!(socket.on(&personal).await["notification_type"], kind, "push tells of each, after her own post");
            }
        }
        assert_eq!(server.count("mails where kind = 'webhook'"), mails);
    }
}
