//! Messages that are none of JSON-RPC, and requests that have no result.

use serde_json::{Value, json};
use tidings::error::Code;

use super::{fault, refusal, request, send};
use crate::harness::{Reply, Server, unknown_id};

#[tokio::test]
async fn malformed_messages_are_refused() {
    let server = Server::start().await;
    let ada = server.user("ada").await;
    let answered = async |body: String| {
        let reply =
            Reply::of(ada.request("POST", "/mcp").header("content-type", "application/json").body(body.clone()), "mcp", &body);
        let reply = reply.await;
        (reply.status, reply.body["error"]["code"].as_i64(), reply.body["id"].clone())
    };
    for body in ["", "{", "ping", "{\"jsonrpc\":\"2.0\"}}"] {
        assert_eq!(answered(body.into()).await, (400, Some(-32700), Value::Null), "{body}");
    }
    for (body, id) in [
        (json!("ping"), Value::Null),
        (json!({}), Value::Null),
        (json!({ "id": 1, "method": "ping" }), json!(1)),
        (json!({ "jsonrpc": "1.0", "id": "a", "method": "ping" }), json!("a")),
        (json!({ "jsonrpc": "2.0", "id": null, "method": "ping" }), Value::Null),
        (json!({ "jsonrpc": "2.0", "id": 1.5, "method": "ping" }), Value::Null),
        (json!({ "jsonrpc": "2.0", "id": [1], "method": "ping" }), Value::Null),
        (json!({ "jsonrpc": "2.0", "id": 1, "method": 7 }), json!(1)),
        (json!({ "jsonrpc": "2.0", "id": 1, "method": "ping", "params": [1] }), json!(1)),
        (json!({ "jsonrpc": "2.0", "id": 1 }), json!(1)),
    ] {
        assert_eq!(answered(body.to_string()).await, (400, Some(-32600), id), "{body}");
    }
    let deep = "[".repeat(65) + &"]".repeat(65);
    assert_eq!(answered(deep).await, (400, Some(-32600), Value::Null));
    let plain = ada.request("POST", "/mcp").header("content-type", "text/plain").body(request("ping", json!({})).to_string());
    Reply::of(plain, "mcp", "").await.refused(400, Code::NotJson);
}

#[tokio::test]
async fn requests_that_name_nothing_have_no_result() {
    let server = Server::start().await;
    let ada = server.user("ada").await;
    for method in ["tools/none", "resources/list", "server/discover", "notifications/initialized"] {
        assert_eq!(fault(&ada, method, json!({})).await, -32601, "{method}");
    }
    for params in [
        json!({}),
        json!({ "name": "none" }),
        json!({ "name": "List_channels" }),
        json!({ "name": 7 }),
        json!({ "name": "list_channels", "arguments": [] }),
    ] {
        assert_eq!(fault(&ada, "tools/call", params.clone()).await, -32602, "{params}");
    }
    let body = json!({ "jsonrpc": "2.0", "id": "a", "method": "ping" });
    assert_eq!(send(&ada, &body).await.expect(200), json!({ "jsonrpc": "2.0", "id": "a", "result": {} }));
}

/// What a model can mend is a result that it reads.
#[tokio::test]
async fn arguments_at_fault_are_named() {
    let server = Server::start().await;
    let (_, grace, _) = server.ada_and_grace().await;
    for (tool, arguments, says) in [
        ("read_messages", json!({}), "missing field `channel`"),
        ("read_messages", json!({ "channel": "general", "limit": 0 }), "limit: must be an integer from 1 to 50"),
        ("read_messages", json!({ "channel": "general", "limit": "5" }), "limit: must be an integer from 1 to 50"),
        ("read_messages", json!({ "channel": 7 }), "channel: invalid type"),
        ("read_messages", json!({ "channel": "general", "chanel": "x" }), "unknown field `chanel`"),
        ("read_messages", json!({ "channel": "general", "before": "x" }), "before: UUID parsing failed"),
        ("read_thread", json!({ "thread": "x", "limit": 5 }), "thread: UUID parsing failed"),
        ("search_messages", json!({ "query": "engine", "before": "yesterday" }), "before: "),
        ("search_messages", json!({ "query": "ab" }), "q must have at least three characters"),
        ("list_channels", json!({ "offset": 10_000 }), "offset: must be an integer from 0 to 9999"),
        ("react", json!({ "emoji": "x" }), "missing field `message`"),
    ] {
        let refusal = refusal(&grace, tool, arguments.clone()).await;
        assert!(refusal.contains(says) && refusal.contains("Correct the arguments"), "{tool} {arguments}: {refusal}");
    }
    let around = json!({ "channel": "general", "around": unknown_id(), "before": unknown_id() });
    assert!(refusal(&grace, "read_messages", around).await.starts_with("around goes without before and after"));
}
