//! The endpoint of the Model Context Protocol.

mod batches;
mod bounds;
mod handshake;
mod malformed;
mod permissions;
mod reading;
mod writing;

use serde_json::{Value, json};

use crate::harness::{Client, Reply, text};

/// Sends a body to the endpoint.
async fn send(client: &Client, body: &Value) -> Reply {
    let request = client.request("POST", "/mcp").header("accept", "application/json, text/event-stream");
    Reply::of(request.json(body), "POST /mcp", &body.to_string()).await
}

fn request(method: &str, params: Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params })
}

/// The result of a request.
async fn result(client: &Client, method: &str, params: Value) -> Value {
    let mut body = send(client, &request(method, params)).await.expect(200);
    assert_eq!((&body["jsonrpc"], &body["id"]), (&json!("2.0"), &json!(1)), "{body}");
    body["result"].take()
}

/// The JSON-RPC code of a request without a result.
async fn fault(client: &Client, method: &str, params: Value) -> i64 {
    let body = send(client, &request(method, params)).await.expect(200);
    assert!(body["result"].is_null(), "{body}");
    body["error"]["code"].as_i64().unwrap_or_else(|| panic!("{body}"))
}

/// The text of a tool's result, and whether it is an error.
async fn call(client: &Client, tool: &str, arguments: Value) -> (String, bool) {
    let result = result(client, "tools/call", json!({ "name": tool, "arguments": arguments })).await;
    assert_eq!((&result["content"][0]["type"], result["content"].as_array().unwrap().len()), (&json!("text"), 1), "{result}");
    (text(&result["content"][0]["text"]), result["isError"].as_bool().unwrap())
}

/// What a tool has answered.
async fn done(client: &Client, tool: &str, arguments: Value) -> Value {
    let (text, is_error) = call(client, tool, arguments).await;
    assert!(!is_error, "{tool}: {text}");
    serde_json::from_str(&text).unwrap()
}

/// The words in which a tool refuses.
async fn refusal(client: &Client, tool: &str, arguments: Value) -> String {
    let (text, is_error) = call(client, tool, arguments).await;
    assert!(is_error, "{tool}: {text}");
    text
}

/// A field of each row of a result.
fn each(result: &Value, field: &str) -> Vec<String> {
    result["messages"].as_array().unwrap_or_else(|| panic!("{result}")).iter().map(|row| text(&row[field])).collect()
}
