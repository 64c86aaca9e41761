//! Batches, which only the version 2025-03-26 has.

use serde_json::{Value, json};
use tidings::error::Code;

use super::{request, send};
use crate::harness::Server;

#[tokio::test]
async fn a_batch_is_answered_in_its_order() {
    let server = Server::start().await;
    let ada = server.user("ada").await;
    ada.organisation("Engines").await;
    let numbered =
        |id: i64, method: &str, params: Value| json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
    let batch = json!([
        numbered(1, "ping", json!({})),
        { "jsonrpc": "2.0", "method": "notifications/initialized" },
        numbered(2, "tools/call", json!({ "name": "post_message", "arguments": { "channel": "general", "text": "one" } })),
        numbered(3, "tools/call", json!({ "name": "read_messages", "arguments": { "channel": "general" } })),
        numbered(4, "none", json!({})),
        numbered(5, "initialize", json!({ "protocolVersion": "2025-03-26" })),
        7,
    ]);
    let body = send(&ada, &batch).await.expect(200);
    let replies = body.as_array().unwrap();
    let of = |field: &str| replies.iter().map(|reply| reply[field].clone()).collect::<Vec<_>>();
    assert_eq!(of("id"), [json!(1), json!(2), json!(3), json!(4), json!(5), Value::Null]);
    assert!(replies[2]["result"]["content"][0]["text"].as_str().unwrap().contains("\"one\""), "{body}");
    let codes: Vec<_> = replies[3..].iter().map(|reply| reply["error"]["code"].clone()).collect();
    assert_eq!(codes, [-32601, -32600, -32600]);

    let notices = json!([{ "jsonrpc": "2.0", "method": "notifications/initialized" }]);
    assert_eq!(send(&ada, &notices).await.status, 202);
    send(&ada.with("mcp-protocol-version", "2025-03-26"), &batch).await.expect(200);
    for version in ["2025-06-18", "2025-11-25", "2024-11-05"] {
        let reply = send(&ada.with("mcp-protocol-version", version), &batch).await;
        assert_eq!((reply.status, &reply.body["error"]["code"]), (400, &json!(-32600)), "{version}");
    }
}

#[tokio::test]
async fn a_batch_has_1_to_20_messages() {
    let server = Server::start().await;
    let ada = server.user("ada").await;
    let batch = |size: usize| Value::Array(vec![request("ping", json!({})); size]);
    assert_eq!(send(&ada, &batch(20)).await.expect(200).as_array().unwrap().len(), 20);
    for size in [0, 21] {
        let reply = send(&ada, &batch(size)).await;
        assert_eq!((reply.status, &reply.body["error"]["code"]), (400, &json!(-32600)), "{size}");
    }
}

/// Alone, it is a failed request, as in the API. In a batch, the answers of the others would be lost with it.
#[tokio::test]
async fn a_failure_of_the_server_fails_its_request_and_no_other_of_a_batch() {
    let server = Server::start().await;
    let ada = server.user("ada").await;
    let general = ada.general(&ada.organisation("Engines").await).await;
    ada.say(&general, "post").await;
    let database = rusqlite::Connection::open(server.folder().join("tidings.db")).unwrap();
    database.execute_batch("drop table reaction_counts").unwrap();
    let read = request("tools/call", json!({ "name": "read_messages", "arguments": { "channel": "general" } }));
    let failed = send(&ada, &read).await.refused(500, Code::InternalError);
    assert!(!failed.to_string().contains("reaction_counts"), "{failed}");
    let answers = send(&ada, &json!([request("ping", json!({})), read])).await.expect(200);
    assert_eq!((&answers[0]["result"], &answers[1]["error"]["code"]), (&json!({}), &json!(-32603)));
    assert!(!answers.to_string().contains("reaction_counts"), "{answers}");
}
