//! Bounds of the endpoint, each at the bound and one past it.

use serde_json::{Value, json};
use tidings::config::Switch;

use super::{call, done, each, refusal, request, send};
use crate::harness::{Reply, Server};

const KIBIBYTE: usize = 1 << 10;
const MEBIBYTE: usize = 1 << 20;

#[tokio::test]
async fn a_result_has_at_most_50_messages() {
    let server = Server::start().await;
    let ada = server.user("ada").await;
    let general = ada.general(&ada.organisation("Engines").await).await;
    for number in 0..51 {
        ada.say(&general, &number.to_string()).await;
    }
    let read = done(&ada, "read_messages", json!({ "channel": general, "limit": 50 })).await;
    assert_eq!((each(&read, "text").len(), read["more"].is_array()), (50, true));
    assert_eq!(each(&done(&ada, "read_messages", json!({ "channel": general })).await, "text").len(), 20);
    let past = refusal(&ada, "read_messages", json!({ "channel": general, "limit": 51 })).await;
    assert!(past.starts_with("limit: must be an integer from 1 to 50"), "{past}");
}

#[tokio::test]
async fn a_result_of_long_texts_goes_on_in_the_next() {
    let server = Server::start().await;
    let ada = server.user("ada").await;
    let general = ada.general(&ada.organisation("Engines").await).await;
    let mut ids = Vec::new();
    for _ in 0..5 {
        ids.push(ada.say(&general, &"é\n".repeat(3_000)).await); // 12 kB of JSON
    }
    let (mut before, mut read) = (Value::Null, Vec::new());
    loop {
        let (text, _) = call(&ada, "read_messages", json!({ "channel": general, "before": before })).await;
        assert!(text.len() < 33 * KIBIBYTE, "{}", text.len());
        let result: Value = serde_json::from_str(&text).unwrap();
        let page = each(&result, "id");
        before = json!(page[0]);
        assert!(page.len() <= 2);
        read.splice(0..0, page);
        if result.get("more").is_none() {
            break;
        }
    }
    assert_eq!(read, ids);
}

#[tokio::test]
async fn a_text_is_cut_at_16_kibibytes_of_json() {
    let server = Server::start().await;
    let ada = server.user("ada").await;
    let general = ada.general(&ada.organisation("Engines").await).await;
    for (content, shown) in [
        ("x".repeat(16 * KIBIBYTE), 16 * KIBIBYTE),
        ("x".repeat(16 * KIBIBYTE + 1), 16 * KIBIBYTE),
        ("\u{1d11e}".repeat(40_000), 4 * KIBIBYTE),
        ("\"".repeat(40_000), 8 * KIBIBYTE),
    ] {
        let thread = ada.say(&general, &content).await;
        ada.reply(&general, &thread, &content).await;
        let (text, _) = call(&ada, "read_thread", json!({ "thread": thread })).await;
        assert!(text.len() < 34 * KIBIBYTE, "{}", text.len());
        let read: Value = serde_json::from_str(&text).unwrap();
        for message in [&read["thread"], &read["messages"][0]] {
            let is_cut = message["state"].as_str().is_some_and(|state| state.starts_with("cut"));
            assert_eq!((message["text"].as_str().unwrap().chars().count(), is_cut), (shown, shown < content.chars().count()));
        }
    }
}

#[tokio::test]
async fn many_channels_are_listed_in_parts() {
    let server = Server::start().await;
    let ada = server.user("ada").await;
    let organisation = ada.organisation("Engines").await;
    for number in 0..60 {
        ada.channel(&organisation, &format!("{number:02} {}", "é".repeat(70)), &[]).await;
    }
    let mut names = Vec::new();
    loop {
        let (text, _) = call(&ada, "list_channels", json!({ "offset": names.len() })).await;
        assert!(text.len() < 33 * KIBIBYTE, "{}", text.len());
        let listed: Value = serde_json::from_str(&text).unwrap();
        names.extend(listed["channels"].as_array().unwrap().iter().map(|row| row["name"].clone()));
        if listed.get("more").is_none() {
            break;
        }
        assert_eq!(listed["more"][0], format!("There are more: call again with offset {}", names.len()));
    }
    assert_eq!(names.len(), 61);
}

#[tokio::test]
async fn a_body_has_at_most_a_mebibyte_and_without_a_session_none_is_read() {
    let server = Server::start().await;
    let ada = server.user("ada").await;
    let sized = |bytes: usize| {
        let ping = request("ping", json!({})).to_string();
        let spaces = " ".repeat(bytes - ping.len());
        ping + &spaces
    };
    for (client, bytes, status) in
        [(&ada, MEBIBYTE, 200), (&ada, MEBIBYTE + 1, 413), (&server.anonymous(), 16 * KIBIBYTE + 1, 401)]
    {
        let sent = client.request("POST", "/mcp").header("content-type", "application/json").body(sized(bytes));
        Reply::of(sent, "POST /mcp", "").await.expect(status);
    }
}

#[tokio::test]
async fn calls_and_the_messages_of_batches_count_towards_the_rate_of_the_user() {
    let server = Server::with(|settings| settings.rate_limit = Switch::On).await;
    let ada = server.user("ada").await;
    let batch = Value::Array(vec![request("ping", json!({})); 20]);
    let mut answered = 0;
    let refused = loop {
        let reply = send(&ada, &batch).await;
        if reply.status != 200 {
            break reply;
        }
        answered += 20;
        assert!(answered <= 1000, "the rate counts each message");
    };
    assert!(refused.headers.contains_key("retry-after"));
    refused.expect(429);
}
