//! Targets that misbehave, each in its own way: the history says how, and nobody else waits for them.

use std::{future::ready, time::Instant};

use poem::Response;
use serde_json::Value;

use super::{Scene, scene};
use crate::{
    harness::text,
    receiver::Receiver,
    target::{Untouched, gigabyte, listen},
};

/// Deliveries queued for each bad target.
const QUEUE: usize = 40;

#[track_caller]
fn assert_all(records: &[Value], status: &str, error: &str, is_tried_again: bool) {
    for record in records {
        assert_eq!(record["status_code"], status, "{record}");
        assert!(text(&record["error"]).starts_with(error), "{record}");
        assert_eq!(record["next_attempt"].is_string(), is_tried_again, "{record}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn bad_targets_have_truthful_histories_and_do_not_delay_ten_good_ones() {
    let Scene { server, ada, organisation, channel: good, .. } = scene().await;
    let bad = ada.channel(&organisation, "bad", &[]).await;
    let inside = Untouched::at("127.0.0.2:0").await;
    let location = format!("http://{}/", inside.address());
    let redirect = move |_| ready(Response::builder().status(307.try_into().unwrap()).header("location", &location).finish());
    let mut hanging = Receiver::hanging().await;
    let (redirecting, gone) = (Receiver::answering(redirect).await, Receiver::start(&[410]).await);
    let closing = listen("127.0.0.1:0", |stream| async move { drop(stream) }).await;
    let (talking, mut taken) = gigabyte().await;
    let (closing, talking) = (format!("http://127.0.0.1:{closing}/"), format!("http://127.0.0.1:{talking}/"));
    let mut hooks = Vec::new();
    for url in [&hanging.url, &closing, &redirecting.url, &gone.url, &talking] {
        hooks.push(ada.hook(&bad, url).await);
    }
    let [hangs, closes, redirects, goes, talks] = hooks.try_into().ok().unwrap();
    let mut healthy = Vec::new();
    for _ in 0..10 {
        let receiver = Receiver::start(&[200]).await;
        ada.hook(&good, &receiver.url).await;
        healthy.push(receiver);
    }

    for n in 0..QUEUE {
        ada.say(&bad, &n.to_string()).await;
    }
    hanging.contents(2).await;
    let began = Instant::now();
    for n in 0..5 {
        ada.say(&good, &n.to_string()).await;
    }
    for receiver in &mut healthy {
        assert_eq!(receiver.contents(5).await, ["0", "1", "2", "3", "4"]);
    }
    assert!(began.elapsed().as_secs() < 5, "{:?}", began.elapsed());
    assert!(hanging.is_empty(), "no more than two at once");

    assert_all(&closes.history(QUEUE).await, "0", "no answer: ", true);
    assert_all(&redirects.history(QUEUE).await, "307", "answered 307: redirects are not followed", true);
    inside.assert().await;
    let records = talks.history(QUEUE).await;
    assert_all(&records, "200", "", false);
    assert!(records.iter().all(|record| record["error"] == "" && text(&record["response"]) == "x".repeat(1024)));
    for _ in 0..QUEUE {
        let taken = taken.recv().await.unwrap();
        assert!(taken < 32 << 20, "{taken} bytes, more than sockets hold");
    }
    let records = goes.history(1).await;
    assert_all(&records, "410", "answered 410", false);
    assert!(records.len() <= 2, "what is queued behind is not sent: {}", records.len());
    assert_eq!(goes.status().await, "inactive");
    let records = hangs.history(1).await;
    assert_all(&records, "0", "no answer within 15 s", true);
    for record in &records {
        assert!((15_000..20_000).contains(&record["latency_ms"].as_i64().unwrap()), "{record}");
        assert_eq!(record["response"], "");
    }
    for hook in [&hangs, &closes, &redirects, &talks] {
        assert_eq!(hook.status().await, "active");
    }

    let channel = ada.channel(&organisation, "other", &[]).await;
    let failing = Receiver::start(&[500, 500, 200]).await;
    let hook = ada.hook(&channel, &failing.url).await;
    ada.say(&channel, "The engine has arrived").await;
    for attempts in 1..=2 {
        hook.history(attempts).await;
        server.hurry();
    }
    let records = hook.history(3).await;
    let shown: Vec<_> = records.iter().rev().map(|record| [&record["status_code"], &record["retries"]]).collect();
    assert_eq!(shown, [["500", "0"], ["500", "1"], ["200", "2"]]);
    assert!(records.iter().all(|record| record["callback_id"] == records[0]["callback_id"]));
}
