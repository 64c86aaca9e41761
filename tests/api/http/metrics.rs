//! Metrics of a running server: they change as things happen, and need the token.

use std::collections::HashSet;

use serde_json::json;

use crate::{
    harness::{Client, Server},
    operations,
    receiver::Receiver,
    socket::Socket,
};

pub const TOKEN: &str = "a-token-for-the-tests";

pub async fn start() -> Server {
    Server::with(|settings| {
        settings.metrics_token = Some(TOKEN.into());
        settings.push_api_key = Some(TOKEN.into());
    })
    .await
}

/// The metrics at one moment.
pub struct Page(pub String);

impl Page {
    pub async fn of(server: &Server) -> Page {
        let reply = server.anonymous().request("GET", "/metrics").bearer_auth(TOKEN).send().await.unwrap();
        assert_eq!(reply.status(), 200);
        assert_eq!(reply.headers()["content-type"], "application/openmetrics-text; version=1.0.0; charset=utf-8");
        let page = reply.text().await.unwrap();
        assert!(page.ends_with("# EOF\n"), "{page}");
        Page(page)
    }

    /// The metrics after all committed events are pushed.
    async fn settled(server: &Server) -> Page {
        while Page::of(server).await.value("push_publisher_lag") > 0 {}
        Page::of(server).await
    }

    /// The value of a sample, named with its labels.
    #[track_caller]
    pub fn value(&self, sample: &str) -> i64 {
        Page::sample(&self.0, &format!("tidings_{sample} ")).parse().unwrap()
    }

    #[track_caller]
    fn number(&self, sample: &str) -> f64 {
        Page::sample(&self.0, &format!("tidings_{sample} ")).parse().unwrap()
    }

    #[track_caller]
    fn sample<'a>(page: &'a str, start: &str) -> &'a str {
        page.lines().find_map(|line| line.strip_prefix(start)).unwrap_or_else(|| panic!("no {start}in\n{page}"))
    }

    #[track_caller]
    fn values<const N: usize>(&self, samples: [&str; N]) -> [i64; N] {
        samples.map(|sample| self.value(sample))
    }
}

/// Subscribes, from an offset on where one is given; gives the offset to go on from.
async fn subscribe(socket: &mut Socket, client: &Client, channel: &str, offset: Option<i64>) -> i64 {
    let token = client.subscription_token(channel).await;
    let request = json!({ "channel": channel, "token": token, "recover": offset.is_some(), "offset": offset.unwrap_or(0) });
    let reply = socket.command("subscribe", request).await;
    assert_eq!(reply["subscribe"]["was_recovering"] == true, offset.is_some(), "{reply}");
    reply["subscribe"]["offset"].as_i64().unwrap()
}

#[tokio::test]
async fn metrics_need_their_token() {
    let plain = Server::start().await;
    let get = async |server: &Server, token: &str| {
        let request = server.anonymous().request("GET", "/metrics");
        if token.is_empty() { request } else { request.header("authorization", token) }.send().await.unwrap()
    };
    assert_eq!(get(&plain, &format!("Bearer {TOKEN}")).await.status(), 404);
    let server = start().await;
    for wrong in ["", "Bearer", "Bearer x", &format!("Basic {TOKEN}"), &format!("Bearer {TOKEN}x")] {
        let reply = get(&server, wrong).await;
        assert_eq!(reply.status(), 401, "{wrong:?}");
        assert!(!reply.text().await.unwrap().contains("tidings_"), "{wrong:?}");
    }
    assert_eq!(get(&server, &format!("bearer {TOKEN}")).await.status(), 200);
}

#[tokio::test]
async fn connections_and_subscriptions_are_counted_while_they_last() {
    let server = start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let channel = ada.general(&organisation).await;
    const JSON: &str = r#"push_connections{transport="websocket",encoding="json"}"#;
    const LISTENER: &str = r#"push_connections{transport="uni_websocket",encoding="json"}"#;
    let gauges = ["push_users", "push_channels", "push_subscriptions"];
    assert_eq!(Page::of(&server).await.values(gauges), [0, 0, 0]);

    let mut one = Socket::listening(&grace, &[&channel, &organisation]).await;
    let two = Socket::listening(&ada, &[&channel]).await;
    let mut listener = Socket::open_at(&ada, "/connection/uni_websocket", None).await.unwrap();
    listener.send(&json!({ "token": ada.connection_token().await }).to_string()).await;
    assert!(listener.line().await["connect"].is_object());
    let mut raw = Socket::open(&grace).await;
    raw.send(&json!({ "connect": { "token": grace.connection_token().await } }).to_string()).await;
    raw.line().await;
    let page = Page::of(&server).await;
    assert_eq!(page.values([JSON, LISTENER]), [3, 1], "{}", page.0);
    assert_eq!(page.values(gauges), [2, 2, 3]);
    let connects = ["sdk", "raw", "listener"].map(|client| format!("push_connects_total{{client=\"{client}\"}}"));
    assert_eq!(connects.each_ref().map(|sample| page.value(sample)), [2, 1, 1]);

    one.command("unsubscribe", json!({ "channel": organisation })).await;
    assert_eq!(Page::of(&server).await.values(gauges), [2, 1, 2]);
    grace.call("POST", "/auth/logout", None).await.expect(200);
    assert_eq!([one.closed().await, raw.closed().await], [3503, 3503]);
    let page = Page::of(&server).await;
    assert_eq!(page.values(gauges), [1, 1, 1]);
    assert_eq!(page.value(r#"push_closes_total{code="3503"}"#), 2);
    drop((two, listener));
}

#[tokio::test]
async fn a_post_is_a_publication_with_its_deliveries() {
    let server = start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let channel = ada.channel(&organisation, "news", &[&grace]).await;
    let mut sockets = [Socket::listening(&grace, &[&channel]).await, Socket::listening(&ada, &[&channel]).await];
    let samples = ["push_publications_total", "push_deliveries_total"];
    let [publications, deliveries] = Page::settled(&server).await.values(samples);
    ada.say(&channel, "hello").await;
    for socket in &mut sockets {
        assert_eq!(socket.on(&channel).await["content"], "hello");
    }
    ada.say(&channel, "again").await;
    let page = Page::settled(&server).await;
    assert_eq!(page.values(samples), [publications + 2, deliveries + 4], "{}", page.0);
    let seq = page.value("log_last_seq");
    assert!(seq > 0 && page.value("push_publisher_lag") == 0, "{}", page.0);
    assert!(page.value("writer_job_seconds_count") > 0 && page.value("deferred_work") == 0, "{}", page.0);
    page.values(["wal_bytes", "search_behind", "mails_due", "push_queue_bytes", "push_longest_queue_bytes"]);
}

#[tokio::test]
async fn attempts_and_waiting_webhooks_are_counted() {
    let server = Server::with(|settings| {
        settings.metrics_token = Some(TOKEN.into());
        settings.allow_private_webhooks = vec!["127.0.0.0/8".parse().unwrap()];
    })
    .await;
    let ada = server.user("ada").await;
    let channel = ada.general(&ada.organisation("Engines").await).await;
    let attempts = [r#"webhook_attempts_total{delivered="true"}"#, r#"webhook_attempts_total{delivered="false"}"#];
    assert_eq!(Page::of(&server).await.values(attempts), [0, 0]);
    let receiver = Receiver::start(&[200, 500]).await;
    let hook = ada.hook(&channel, &receiver.url).await;
    for count in 1..=2 {
        ada.say(&channel, "hello").await;
        hook.history(count).await;
    }
    let page = Page::of(&server).await;
    assert_eq!((page.values(attempts), page.value("webhooks_due")), ([1, 1], 0));
}

#[tokio::test]
async fn commands_errors_and_recoveries_are_counted_by_their_kind() {
    let server = start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let channel = ada.channel(&organisation, "news", &[&grace]).await;
    let recoveries = [r#"push_recoveries_total{recovered="true"}"#, r#"push_recoveries_total{recovered="false"}"#];
    assert_eq!(Page::of(&server).await.values(recoveries), [0, 0]);
    let mut socket = Socket::connect(&grace).await;
    let offset = subscribe(&mut socket, &grace, &channel, None).await;
    socket.command("unsubscribe", json!({ "channel": channel })).await;
    subscribe(&mut socket, &grace, &channel, Some(offset)).await;
    subscribe(&mut socket, &grace, &organisation, Some(1 << 40)).await;
    assert_eq!(socket.command("subscribe", json!({ "channel": channel })).await["error"]["code"], 105);
    assert_eq!(socket.command("rpc", json!({})).await["error"]["code"], 108);
    assert_eq!(socket.command("rpc", json!({})).await["error"]["code"], 108);
    socket.send("not JSON").await;
    assert_eq!(socket.closed().await, 3501);

    let page = Page::of(&server).await;
    assert_eq!(page.values(recoveries), [1, 1]);
    let counted = [
        r#"push_commands_total{command="subscribe"}"#,
        r#"push_commands_total{command="unsubscribe"}"#,
        r#"push_commands_total{command="rpc"}"#,
        r#"push_errors_total{code="105"}"#,
        r#"push_errors_total{code="108"}"#,
        r#"push_closes_total{code="3501"}"#,
    ];
    assert_eq!(page.values(counted), [4, 1, 2, 1, 2, 1]);
}

#[tokio::test]
async fn a_slow_reader_shows_in_the_longest_queue_and_then_in_the_closes() {
    let server = start().await;
    let ada = server.user("ada").await;
    let organisation = ada.organisation("Engines").await;
    let slow = Socket::listening(&ada, &[&organisation]).await;
    const SLOW: &str = r#"push_closes_total{code="3008"}"#;
    assert_eq!(Page::of(&server).await.value(SLOW), 0);
    let (mut longest, large) = (0, json!({ "channel": organisation, "data": "x".repeat(500_000) }));
    // What the network takes differs from one machine to the next: on until the server has had enough.
    let page = loop {
        let publish = server.anonymous().request("POST", "/api/publish").header("x-api-key", TOKEN).json(&large);
        assert_eq!(publish.send().await.unwrap().status(), 200);
        let page = Page::settled(&server).await;
        longest = longest.max(page.value("push_longest_queue_bytes"));
        if page.value(SLOW) > 0 {
            break page;
        }
    };
    assert_eq!(page.values([SLOW, "push_subscriptions", "push_queue_bytes"]), [1, 0, 0]);
    assert!(longest >= 500_000, "{longest}");
    slow.drained().await;
}

#[tokio::test]
async fn a_log_out_leaves_no_lag_of_the_publisher() {
    let server = start().await;
    let ada = server.user("ada").await;
    ada.call("POST", "/auth/logout", None).await.expect(200);
    while Page::of(&server).await.value("push_publisher_lag") > 0 {}
}

#[tokio::test]
async fn requests_are_measured_by_their_operation_and_status() {
    let server = start().await;
    let ada = server.user("ada").await;
    let channel = ada.general(&ada.organisation("Engines").await).await;
    let posts = |status: &str| format!("request_seconds_count{{operation=\"createMessage\",status=\"{status}\"}}");
    for _ in 0..3 {
        ada.say(&channel, "hello").await;
    }
    let path = format!("/channels/{channel}/messages");
    server.anonymous().post(&path, json!({ "content": "hello" })).await.expect(401);
    ada.post("/channels/x/messages", json!({ "content": "hello" })).await.expect(400);
    ada.post(&path, json!({ "content": 1 })).await.expect(400);
    ada.get("/nowhere").await.expect(404);
    let page = Page::of(&server).await;
    assert_eq!([page.value(&posts("2xx")), page.value(&posts("4xx"))], [3, 3], "{}", page.0);
    assert_eq!(page.value("request_seconds_count{operation=\"other\",status=\"4xx\"}"), 1);
    assert_eq!(page.value("request_seconds_bucket{le=\"+Inf\",operation=\"createMessage\",status=\"2xx\"}"), 3);
    let operations: HashSet<_> = page.0.lines().filter_map(|line| line.split("operation=\"").nth(1)?.split('"').next()).collect();
    let known = operations::operations(&server).await;
    let is_known = |name: &str| known.iter().any(|operation| operation.document["operationId"] == name);
    assert!(operations.iter().all(|name| *name == "other" || is_known(name)), "{operations:?}");
}

#[tokio::test]
async fn writes_mails_and_the_process_are_measured() {
    let server = start().await;
    let samples = ["writer_job_seconds_count", "writer_commit_seconds_count", "writer_batch_jobs_sum"];
    server.register("ada").await; // with a mail
    let sent = r#"mails_total{sent="true"}"#;
    while Page::of(&server).await.number(sent) == 0.0 {}
    let page = Page::of(&server).await;
    let [jobs, commits, batched] = samples.map(|sample| page.number(sample));
    assert!(jobs >= commits && commits > 0.0 && batched <= jobs, "{}", page.0);
    assert_eq!((page.number(r#"mails_total{sent="false"}"#), page.number("writer_failed_batches_total")), (0.0, 0.0));
    assert!(page.number("readers_busy") <= page.number("readers_most"), "{}", page.0);
    page.values(["writer_queue_jobs", "writer_queue_bytes", "reader_waits_total", "reader_timeouts_total"]);
    assert!(page.number("disk_free_bytes") > 1e6, "{}", page.0);
    assert!(page.number("files_disk_free_bytes") > 1e6, "{}", page.0);
    assert!(page.number("disk_floor_bytes") >= (64 << 20).into(), "{}", page.0);
    page.values(["backup_time_seconds", "certificate_end_time_seconds"]);
    let process = |name: &str| Page::sample(&page.0, &format!("process_{name} ")).parse::<f64>().unwrap();
    let now = tidings::time::Time::now().unix_seconds() as f64;
    assert!((now - process("start_time_seconds")).abs() < 3600.0);
    assert!(process("resident_memory_bytes") > 1e6 && process("cpu_seconds_total") > 0.0);
    assert!(process("open_fds") > 3.0 && process("open_fds") < process("max_fds"));
}
